package cells

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// absent is the label of bursts that are no part of the sequences.
const absent = -1

// blockSegments is how many segments are hashed before they are told.
const blockSegments = 4096

// A labelling is the labels that the collector gave last, and the rings as they were then.
type labelling struct {
	step   uint32
	labels []int32 // by unit; units that came later have 0
	views  []view  // by ring
	whole  bool
}

// relabel takes labels, and answers with what there is in segments.
func (k *Keeper) relabel(ask *moriensv1.CellsRelabel, to *reply) error {
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
	return l.tell(to)
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

// tell answers with the hashes of all rings' sequences, some segments at a time.
func (l *labelling) tell(to *reply) error {
	readers := make([]*reader, len(l.views))
	each(len(readers), func(_, i int) {
		readers[i] = &reader{walker: newWalker(l.labels, l.whole)}
		readers[i].begin(l.views[i])
		readers[i].advance()
	})
	message := &moriensv1.CellsHashes{Sequences: l.sequences()}
	last := uint64(0)
	for first := true; ; first = false {
		begin := uint64(math.MaxUint64)
		for _, r := range readers {
			if r.ok {
				begin = min(begin, r.segment)
			}
		}
		if begin == math.MaxUint64 {
			if first || len(message.Segment) > 0 {
				return to.hashes(message)
			}
			return nil
		}
		for _, f := range l.block(readers, begin) {
			if len(message.Segment) >= partBytes/(10+8+8+5) {
				if err := to.hashes(message); err != nil {
					return err
				}
				message, last = new(moriensv1.CellsHashes), 0
			}
			message.Segment = append(message.Segment, f.segment-last)
			message.High, message.Low = append(message.High, f.hash[0]), append(message.Low, f.hash[1])
			message.Threads = append(message.Threads, f.threads)
			last = f.segment
		}
	}
}

func (r *reply) hashes(h *moriensv1.CellsHashes) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Hashes{Hashes: h}})
}

// A found sequence is one that some rings have in a segment.
type found struct {
	segment uint64
	hash    sequence.Hash
	threads uint32
}

// A table counts the sequences of a block of segments: nearly always there is one in each.
type table struct {
	first [blockSegments]found
	more  map[found]uint32 // with 0 threads
}

func (t *table) add(at int, f found, threads uint32) {
	if x := &t.first[at]; x.threads == 0 || x.hash == f.hash {
		*x = found{f.segment, f.hash, x.threads + threads}
		return
	}
	if t.more == nil {
		t.more = make(map[found]uint32)
	}
	t.more[f] += threads
}

// block hashes the segments from begin on of all rings, and returns what it finds by segment and hash.
func (l *labelling) block(readers []*reader, begin uint64) []found {
	tables := make([]*table, workersFor(len(readers)))
	each(len(readers), func(worker, i int) {
		if tables[worker] == nil {
			tables[worker] = new(table)
		}
		r := readers[i]
		for ; r.ok && r.segment-begin < blockSegments; r.advance() {
			tables[worker].add(int(r.segment-begin), found{segment: r.segment, hash: r.hash()}, 1)
		}
	})
	all := new(table)
	for _, t := range tables {
		if t == nil {
			continue
		}
		for at, f := range t.first {
			if f.threads > 0 {
				all.add(at, found{segment: f.segment, hash: f.hash}, f.threads)
			}
		}
		for f, threads := range t.more {
			all.add(int(f.segment-begin), f, threads)
		}
	}
	var list []found
	for _, f := range all.first {
		if f.threads > 0 {
			list = append(list, f)
		}
	}
	for f := range maps.Keys(all.more) {
		list = append(list, found{f.segment, f.hash, all.more[f]})
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.hash[0], b.hash[0]), cmp.Compare(a.hash[1], b.hash[1]))
	})
	return list
}

// A reader goes through a ring's segments, with the hash of each.
type reader struct {
	*walker
	segment uint64
	labels  []int32
	ok      bool
	// Sequences that were hashed last: an iteration is mostly as others were.
	known [4]struct {
		labels []int32
		hash   sequence.Hash
	}
	turn int
}

func (r *reader) advance() {
	r.segment, r.labels, r.ok = r.next(r.labels[:0])
}

// hash is that of the labels.
func (r *reader) hash() sequence.Hash {
	for i := range r.known {
		if x := &r.known[i]; len(x.labels) > 0 && slices.Equal(x.labels, r.labels) {
			return x.hash
		}
	}
	x := &r.known[r.turn]
	r.turn = (r.turn + 1) % len(r.known)
	x.labels, x.hash = append(x.labels[:0], r.labels...), sequence.HashOf(r.labels)
	return x.hash
}

// workersFor is how many goroutines share so many pieces of work.
func workersFor(pieces int) int { return max(1, min(pieces, runtime.GOMAXPROCS(0))) }

// each does what is to be done for each of so many pieces, several at a time: by that many workers.
func each(pieces int, do func(worker, piece int)) {
	next := make(chan int, pieces)
	for i := range pieces {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for worker := range workersFor(pieces) {
		wg.Go(func() {
			for i := range next {
				do(worker, i)
			}
		})
	}
	wg.Wait()
}
