package period

import (
	"slices"
	"sync"

	"moriens/analysis/workers"
)

// A sequence is what one thread did or several did alike: the same symbols with the same anchors between them.
type sequence struct {
	threads  []int // ascending; the first stands for all
	timeNS   int64 // of all bursts of these threads, and one
	folder   *folder
	sections []section
}

// distinct gives the sequences of the run, in the order of their first threads, and for each thread which one it does.
func distinct(threads []Thread, count int) ([]*sequence, []int32) {
	hashes := make([]uint64, len(threads))
	inBatches(threads, count, func(t int) { hashes[t] = threads[t].hash() })
	known := make(map[uint64][]int32)
	var list []*sequence
	of := make([]int32, len(threads))
	for t := range threads {
		found := int32(-1)
		for _, s := range known[hashes[t]] {
			if same(&threads[list[s].threads[0]], &threads[t]) {
				found = s
				break
			}
		}
		if found < 0 {
			found = int32(len(list))
			list = append(list, &sequence{})
			known[hashes[t]] = append(known[hashes[t]], found)
		}
		list[found].threads = append(list[found].threads, t)
		of[t] = found
	}
	return list, of
}

func (t *Thread) hash() uint64 {
	const prime = 0x100000001b3 // FNV-1a, a word at a time
	h := uint64(0xcbf29ce484222325)
	for _, s := range t.Symbols {
		h = (h ^ uint64(s)) * prime
	}
	for _, a := range t.Anchors {
		h = (h ^ uint64(uint32(a))) * prime
	}
	return h
}

func same(a, b *Thread) bool {
	return slices.Equal(a.Symbols, b.Symbols) && slices.Equal(a.Anchors, b.Anchors)
}

// inBatches calls work once for each thread.
func inBatches(threads []Thread, count int, work func(t int)) {
	sizes := make([]int, len(threads))
	for t := range threads {
		sizes[t] = len(threads[t].Symbols) + 1
	}
	workers.Every(sizes, count, work)
}

// numbering gives symbols numbers in the order in which a thread has them, so that nothing depends on how they were
// numbered. A burst behind an anchor counts as another symbol than one that is not.
type numbering struct {
	number []int32 // by twice the symbol, and one more behind an anchor: from 1
	used   []uint32
}

// newNumberings gives numberings of symbols from 0 to below count.
func newNumberings(count int) *sync.Pool {
	return &sync.Pool{New: func() any { return &numbering{number: make([]int32, 2*count)} }}
}

// tokens gives the sequence of the thread's bursts, and how many symbols there are.
func (n *numbering) tokens(t *Thread) (tokens, int) {
	seq := tokens{kind: make([]int32, len(t.Symbols)), at: make([]int32, len(t.Symbols)+1)}
	anchor := 0
	for i, s := range t.Symbols {
		key := 2 * s
		for anchor < len(t.Anchors) && int(t.Anchors[anchor]) <= i {
			key = 2*s + 1
			anchor++
		}
		if n.number[key] == 0 {
			n.used = append(n.used, key)
			n.number[key] = int32(len(n.used))
		}
		seq.kind[i] = n.number[key] - 1
		seq.at[i] = int32(i)
	}
	seq.at[len(t.Symbols)] = int32(len(t.Symbols))
	symbols := len(n.used)
	for _, key := range n.used {
		n.number[key] = 0
	}
	n.used = n.used[:0]
	return seq, symbols
}

// enough is the share of a thread's bursts in sections from which there is no need to take symbols for each other.
const enough = 1. / 2

// solve finds the sections of the sequence of so many symbols. What iterations have in common is compared by other
// numbers of the bursts, if these are not the same.
func (s *sequence) solve(t *Thread, seq tokens, symbols int, compared []int32) {
	s.folder, s.sections = search(t, seq, symbols, compared)
	if covered(s.sections) >= enough*float64(len(t.Symbols)) {
		return
	}
	if kinds := either(seq, symbols); kinds != nil {
		if &compared[0] == &seq.kind[0] {
			compared = kinds
		}
		seq.kind = kinds
		if f, sections := search(t, seq, symbols, compared); covered(sections) > covered(s.sections) {
			s.folder, s.sections = f, sections
		}
	}
}

func search(t *Thread, seq tokens, symbols int, compared []int32) (*folder, []section) {
	usual := usualNeighbours(seq.kind, symbols)
	f := newFolder(seq.kind, usual.heal(seq), usual.rare, t.DurationNS)
	f.fold()
	return f, f.sections(t, compared)
}

func covered(list []section) float64 {
	bursts := 0
	for i := range list {
		bursts += int(list[i].to - list[i].from)
	}
	return float64(bursts)
}
