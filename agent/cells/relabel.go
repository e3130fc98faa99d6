package cells

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// absent is the label of bursts that are no part of the sequences.
const absent = -1

// blockSegments is how many segments are hashed before they are reported.
const blockSegments = 4096

// A labelling is the labels that the collector gave last, and the rings as they were then.
type labelling struct {
	step   uint32
	labels []int32 // by unit; later units have 0
	views  []view  // by ring
	whole  bool
}

// relabel takes labels, and answers with the content of segments.
func (k *Store) relabel(ask *moriensv1.CellsRelabel, to *reply) error {
	asked, err := k.asked(ask.Unit)
	if err != nil {
		return err
	}
	l := &k.labels
	if len(ask.Label) != len(asked) {
		return fmt.Errorf("cells: %d labels for %d units", len(ask.Label), len(asked))
	}
	if !ask.Begin && ask.Step < l.step {
		return fmt.Errorf("cells: labelling %d behind %d", ask.Step, l.step)
	}
	for i, label := range ask.Label {
		if label < absent {
			return fmt.Errorf("cells: unit %d: label %d: want one from %d on", asked[i], label, absent)
		}
	}
	k.mu.Lock()
	views := make([]view, len(k.rings))
	for i, r := range k.rings {
		views[i] = r.view()
	}
	units := k.units.len()
	k.mu.Unlock()
	if ask.Begin {
		clear(l.labels)
	}
	l.labels = append(l.labels, make([]int32, units-len(l.labels))...)
	for i, unit := range asked {
		l.labels[unit] = ask.Label[i]
	}
	l.step, l.whole, l.views = ask.Step, ask.Whole, views
	k.endWork()
	return l.send(to)
}

// sequences is how many rings have a burst that is part of the sequences.
func (l *labelling) sequences() uint32 {
	n := uint32(0)
	for _, v := range l.views {
		if slices.ContainsFunc(v.chunks, func(c *chunk) bool {
			return slices.ContainsFunc(c.units, func(unit uint32) bool { return unit != none && l.labels[unit-1] != absent })
		}) {
			n++
		}
	}
	return n
}

// send answers with the hashes of all rings' sequences, some segments at a time.
func (l *labelling) send(to *reply) error {
	readers := make([]*reader, len(l.views))
	hashers := make([]*hasher, workersFor(len(readers)))
	for i := range hashers {
		hashers[i] = new(hasher)
	}
	each(len(readers), len(hashers), func(_, i int) {
		readers[i] = &reader{walker: newWalker(l.labels, l.whole)}
		readers[i].begin(l.views[i])
		readers[i].advance()
	})
	message := &moriensv1.CellsHashes{Sequences: l.sequences()}
	last := uint64(0)
	for {
		begin := uint64(math.MaxUint64)
		for _, r := range readers {
			if r.ok {
				begin = min(begin, r.segment)
			}
		}
		if begin == math.MaxUint64 {
			return to.hashes(message)
		}
		l.block(hashers, readers, begin)
		var list []found
		for at := range hashers[0].first {
			list = hashers[0].of(at, list[:0])
			slices.SortFunc(list, func(a, b found) int { return slices.Compare(a.hash[:], b.hash[:]) })
			for _, f := range list {
				if len(message.Segment) >= partBytes/(10+8+8+5) {
					if err := to.hashes(message); err != nil {
						return err
					}
					message, last = new(moriensv1.CellsHashes), 0
				}
				segment := begin + uint64(at)
				message.Segment = append(message.Segment, segment-last)
				message.High, message.Low = append(message.High, f.hash[0]), append(message.Low, f.hash[1])
				message.Threads = append(message.Threads, f.threads)
				last = segment
			}
		}
		hashers[0].empty()
	}
}

func (r *reply) hashes(h *moriensv1.CellsHashes) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Hashes{Hashes: h}})
}

// A found sequence is one that some rings have in a segment.
type found struct {
	hash    sequence.Hash
	threads uint32 // 0: there is none
	next    int32  // of the same segment: its place in table.more, plus 1; 0 = none
}

// A table counts the sequences of a block of segments: nearly always there is one in each.
type table struct {
	first [blockSegments]found
	more  []found
}

func (t *table) add(at int, hash sequence.Hash, threads uint32) {
	x := &t.first[at]
	for {
		if x.threads == 0 || x.hash == hash {
			x.hash, x.threads = hash, x.threads+threads
			return
		}
		if x.next == 0 {
			break
		}
		x = &t.more[x.next-1]
	}
	x.next = int32(len(t.more) + 1) // before the list moves
	t.more = append(t.more, found{hash: hash, threads: threads})
}

// of appends the sequences of a segment.
func (t *table) of(at int, list []found) []found {
	x := &t.first[at]
	for x.threads > 0 {
		list = append(list, *x)
		if x.next == 0 {
			break
		}
		x = &t.more[x.next-1]
	}
	return list
}

func (t *table) empty() {
	clear(t.first[:])
	t.more = t.more[:0]
}

// A hasher is a goroutine's part of the work.
type hasher struct {
	table
	// Sequences that were hashed last: iterations and ranks are mostly as others were.
	known [4]struct {
		labels []int32
		hash   sequence.Hash
	}
	turn int
}

func (h *hasher) hash(labels []int32) sequence.Hash {
	for i := range h.known {
		if x := &h.known[i]; slices.Equal(x.labels, labels) {
			return x.hash
		}
	}
	x := &h.known[h.turn]
	h.turn = (h.turn + 1) % len(h.known)
	x.labels, x.hash = append(x.labels[:0], labels...), sequence.HashOf(labels)
	return x.hash
}

// block hashes the segments from begin on of all rings, and leaves the result with the first of the hashers.
func (l *labelling) block(hashers []*hasher, readers []*reader, begin uint64) {
	each(len(readers), len(hashers), func(worker, i int) {
		h := hashers[worker]
		for r := readers[i]; r.ok && r.segment-begin < blockSegments; r.advance() {
			h.add(int(r.segment-begin), h.hash(r.labels), 1)
		}
	})
	var list []found
	for _, h := range hashers[1:] {
		for at := range h.first {
			list = h.of(at, list[:0])
			for _, f := range list {
				hashers[0].add(at, f.hash, f.threads)
			}
		}
		h.empty()
	}
}

// A reader goes through a ring's segments.
type reader struct {
	*walker
	segment uint64
	labels  []int32
	ok      bool
}

func (r *reader) advance() {
	r.segment, r.labels, r.ok = r.next(r.labels[:0])
}

// workersFor is how many goroutines share so many pieces of work, if they begin now: the agent sets GOMAXPROCS as it
// has to do.
func workersFor(pieces int) int { return max(1, min(pieces, runtime.GOMAXPROCS(0))) }

// each has so many workers call do for each of so many pieces.
func each(pieces, workers int, do func(worker, piece int)) {
	next := make(chan int, pieces)
	for i := range pieces {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := range next {
				do(worker, i)
			}
		})
	}
	wg.Wait()
}
