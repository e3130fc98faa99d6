package sequence

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"moriens/internal/mix"
	"moriens/internal/team"
)

type aligner struct {
	Threads
	workers   int
	sequences int   // threads with a burst
	own       int   // those that are here
	members   []int // that have any, ascending
	count     int   // segments
	first     int   // of those that this member aligns
	idle      int   // segments in which no thread does anything, and of which nothing else is known
	labels    []LabelScore
	total     counts   // of the segments that this member aligns
	gain      []int64  // of a match, by label
	sign      []uint64 // what a label is known by, however it is numbered
	halted    atomic.Bool
}

// A segment is what lies between two anchors that all threads have.
type segment struct {
	number int     // in the run
	pieces []piece // distinct
}

// A piece is a part of a sequence that some threads have in common.
type piece struct {
	labels  []int32
	threads int64 // that have it
	sign    uint64
}

// measure sums up the labels of all members' bursts.
func (a *aligner) measure() error {
	a.labels = make([]LabelScore, a.Count)
	var mu sync.Mutex
	var bad error
	a.each(len(a.Ends), func(next func() (int, bool)) {
		local := make([]LabelScore, a.Count)
		for t, ok := next(); ok; t, ok = next() {
			begin, end := a.span(t)
			durations := a.DurationNS[begin:end]
			for i, label := range a.Labels[begin:end] {
				if uint(label) >= uint(len(local)) || durations[i] < 0 {
					mu.Lock()
					bad = fmt.Errorf("sequence: burst %d of thread %d has label %d and lasts %d ns: want a label from 0 to %d",
						i, t, label, durations[i], a.Count-1)
					mu.Unlock()
					return
				}
				local[label].Bursts++
				local[label].TimeNS += durations[i]
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, l := range local {
			a.labels[i].Bursts += l.Bursts
			a.labels[i].TimeNS += l.TimeNS
		}
	})
	if err := team.Explain(a.Team, bad); err != nil {
		return err
	}
	for t := range a.Ends {
		if begin, end := a.span(t); end > begin {
			a.own++
		}
	}
	return a.sumUp()
}

// sumUp adds up what the members have measured.
func (a *aligner) sumUp() error {
	sums := make([]int64, 0, 2*a.Count+1)
	for _, l := range a.labels {
		sums = append(sums, int64(l.Bursts), l.TimeNS)
	}
	anchored := int64(0)
	if a.Anchors != nil {
		anchored = 1
	}
	sums = append(sums, anchored)
	if err := a.Team.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	for i := range a.labels {
		a.labels[i].Bursts, a.labels[i].TimeNS = int(sums[2*i]), sums[2*i+1]
	}
	if n := int(sums[2*a.Count]); n > 0 && n < a.Team.Size() {
		return fmt.Errorf("sequence: %d of %d members know anchors", n, a.Team.Size())
	}
	all, err := team.Gather(a.Team, []int64{int64(a.own)})
	if err != nil {
		return err
	}
	for rank, own := range all {
		a.sequences += int(own[0])
		if own[0] > 0 {
			a.members = append(a.members, rank)
		}
	}
	return nil
}

func (a *aligner) span(thread int) (begin, end int) {
	if thread > 0 {
		begin = a.Ends[thread-1]
	}
	return begin, a.Ends[thread]
}

// each shares the numbers below n out to the workers.
func (a *aligner) each(n int, work func(next func() (int, bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	var wg sync.WaitGroup
	for range min(a.workers, n) {
		wg.Go(func() { work(next) })
	}
	wg.Wait()
}

// cut cuts the sequences into segments and finds what is equal in each. It returns those that this member aligns.
func (a *aligner) cut() ([]segment, error) {
	cuts, err := a.commonAnchors()
	if err != nil {
		return nil, err
	}
	segments := make([]segment, a.count)
	a.each(a.count, func(next func() (int, bool)) {
		var found pieceList
		for s, ok := next(); ok && !a.over(); s, ok = next() {
			segments[s].number = s
			segments[s].pieces = found.distinct(a, func(thread int) []int32 {
				begin, end := a.span(thread)
				from, to := begin, end
				if s > 0 {
					from = begin + int(cuts[thread][s-1])
				}
				if s < a.count-1 {
					to = begin + int(cuts[thread][s])
				}
				return a.Labels[from:to]
			})
		}
	})
	if err := a.agree(); err != nil {
		return nil, err
	}
	return a.meet(segments)
}

// A pieceList finds the pieces of segments, of which there are as many as anchors, and mostly of one piece or two: what
// it needs for that it needs once.
type pieceList struct {
	byHash map[uint64][]int // indices of pieces
	pieces []piece          // of a segment
	room   []piece          // for those of the next segments
}

// distinct finds the different pieces among those of all threads with bursts here.
func (l *pieceList) distinct(a *aligner, of func(thread int) []int32) []piece {
	l.pieces = l.pieces[:0]
	clear(l.byHash)
	for t := range a.Ends {
		if begin, end := a.span(t); begin == end {
			continue
		}
		l.add(of(t))
	}
	const together = 1 << 10
	n := len(l.pieces)
	if n > len(l.room) {
		l.room = make([]piece, max(n, together))
	}
	list := l.room[:n:n]
	l.room = l.room[n:]
	copy(list, l.pieces)
	return list
}

func (l *pieceList) add(labels []int32) {
	if len(l.pieces) > 0 && slices.Equal(l.pieces[0].labels, labels) { // the rule; spares the hash
		l.pieces[0].threads++
		return
	}
	h := uint64(len(labels))
	for _, label := range labels {
		h = mix.Bits(h ^ uint64(uint32(label)))
	}
	same := slices.IndexFunc(l.byHash[h], func(i int) bool { return slices.Equal(l.pieces[i].labels, labels) })
	if same >= 0 {
		l.pieces[l.byHash[h][same]].threads++
		return
	}
	if l.byHash == nil {
		l.byHash = make(map[uint64][]int)
	}
	l.byHash[h] = append(l.byHash[h], len(l.pieces))
	l.pieces = append(l.pieces, piece{labels: labels, threads: 1})
}
