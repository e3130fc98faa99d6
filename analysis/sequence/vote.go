package sequence

const (
	// voteRun is how many bursts in a row that agree are a vote for their diagonal.
	voteRun = 8
	// voteReach is how far ahead a vote looks.
	voteReach = 4096
	// leastVotes are needed to leave the diagonal. Runs that overlap have one vote: chance gives many of these.
	leastVotes = 3
	// mostPlaces is how many places of one run in a block vote at most: a loop has it in each iteration.
	mostPlaces = 4
	voteBits   = 10
	seenBits   = 12
	voteBase   = 0x9e3779b97f4a7c15
)

// A voter finds by how much two sequences are shifted against each other: runs of bursts in a block of one that the
// other has within its reach vote. It costs a step per burst of the reach.
type voter struct {
	slots [1 << voteBits]voteSlot     // four times as many as a block has runs
	has   [1 << (seenBits - 6)]uint64 // a bit for each of sixteen times as many, of what keys begin with: most keys are in no slot
	votes []int32                     // by diagonal
	next  []int32                     // by diagonal: where a run can begin that overlaps with none before
}

type voteSlot struct {
	key    uint64
	places [mostPlaces]int32
	used   int32 // places; 0 = a free slot
}

// shift returns the diagonal, place in the first minus place in the second, that most runs are on, and whether that is
// sure: the nearest with half of the most votes, if these are more than twice those of the diagonals about here.
func (v *voter) shift(first, second []int32) (diagonal int, sure bool) {
	first, second = first[:min(voteReach, len(first))], second[:min(voteReach, len(second))]
	v.votes, v.next = sized(v.votes, 2*voteReach+1), sized(v.next, 2*voteReach+1)
	clear(v.votes)
	clear(v.next)
	v.put(second[:min(blockSize, len(second))])
	v.ask(first, 0, 1)
	v.put(first[:min(blockSize, len(first))])
	clear(v.next)
	v.ask(second, blockSize, -1)
	most := int32(0)
	for _, n := range v.votes {
		most = max(most, n)
	}
	here := int32(0)
	for d := -voteRun; d <= voteRun; d++ {
		here = max(here, v.votes[voteReach+d])
	}
	if most < leastVotes || most <= 2*here {
		return 0, false
	}
	for d := range voteReach {
		if 2*v.votes[voteReach+d] >= most {
			return d, true
		}
		if 2*v.votes[voteReach-d] >= most {
			return -d, true
		}
	}
	return 0, false
}

// put notes where the runs of a block are.
func (v *voter) put(labels []int32) {
	clear(v.slots[:])
	clear(v.has[:])
	eachRun(labels, func(at int, key uint64) {
		seen := key * voteBase >> (64 - seenBits)
		v.has[seen>>6] |= 1 << (seen & 63)
		s := v.slot(key)
		s.key = key
		if s.used < mostPlaces {
			s.places[s.used] = int32(at)
			s.used++
		}
	})
}

// ask has the runs that begin from a place on vote, where the block has them.
func (v *voter) ask(labels []int32, from, sign int) {
	eachRun(labels[min(from, len(labels)):], func(at int, key uint64) {
		if seen := key * voteBase >> (64 - seenBits); v.has[seen>>6]>>(seen&63)&1 == 0 {
			return
		}
		s := v.slot(key)
		for _, place := range s.places[:s.used] {
			d := voteReach + sign*(from+at-int(place))
			if int32(at) >= v.next[d] {
				v.votes[d]++
				v.next[d] = int32(at) + voteRun
			}
		}
	})
}

// slot is the slot of a run, or the free one that it would have.
func (v *voter) slot(key uint64) *voteSlot {
	for i := key * voteBase >> (64 - voteBits); ; i++ {
		if s := &v.slots[i%uint64(len(v.slots))]; s.used == 0 || s.key == key {
			return s
		}
	}
}

// eachRun calls each with a hash of 64 bits of every run of voteRun labels.
func eachRun(labels []int32, each func(at int, key uint64)) {
	last := uint64(1) // what the label that leaves was multiplied by
	for range voteRun {
		last *= voteBase
	}
	key := uint64(0)
	for i, label := range labels {
		key = key*voteBase + uint64(label) + 1
		if i >= voteRun {
			key -= last * (uint64(labels[i-voteRun]) + 1)
		}
		if i >= voteRun-1 {
			each(i-voteRun+1, key)
		}
	}
}
