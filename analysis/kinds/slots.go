package kinds

import "moriens/internal/mix"

// slots are how often each kind of a group comes in each context. A context is of one group, and most have few of its
// kinds. What is noise has no kind yet and does not count.
type slots struct {
	contexts hashes
	at       []slotAt // by slot
	entries  hashes   // of a slot and a kind that comes in it, but for its first
	counts   []slotCount
}

// A slotAt counts a context's bursts: all, and those of the kind seen first. What is read most is together in memory.
type slotAt struct {
	sum   int32
	first slotCount
}

// A slotCount is how often a kind comes in a context.
type slotCount struct{ kind, n, next int32 } // next is another entry of the context, -1 after the last

func newSlots() *slots { return &slots{contexts: newHashes(), entries: newHashes()} }

// find is the slot of a context, or -1.
func (s *slots) find(context uint64) int32 { return s.contexts.find(context) }

func (s *slots) add(context uint64, kind, n int32) {
	slot, fresh := s.contexts.at(context)
	if fresh {
		s.at = append(s.at, slotAt{first: slotCount{kind: kind, next: -1}})
	}
	x := &s.at[slot]
	x.sum += n
	if x.first.kind == kind {
		x.first.n += n
		return
	}
	at, fresh := s.entries.at(entryOf(slot, kind))
	if fresh {
		s.counts = append(s.counts, slotCount{kind, 0, x.first.next})
		x.first.next = at
	}
	s.counts[at].n += n
}

func entryOf(slot, kind int32) uint64 { return mix.Bits(uint64(slot)<<32 | uint64(kind)) }

// each gives the kinds of a slot and how often they come.
func (s *slots) each(slot int32, do func(kind, n int32)) {
	for x := &s.at[slot].first; ; x = &s.counts[x.next] {
		do(x.kind, x.n)
		if x.next < 0 {
			return
		}
	}
}

// count is how often a kind comes in a slot.
func (s *slots) count(slot, kind int32) int32 {
	if x := &s.at[slot].first; x.kind == kind {
		return x.n
	}
	if at := s.entries.find(entryOf(slot, kind)); at >= 0 {
		return s.counts[at].n
	}
	return 0
}

// top is the kind that comes most often in a slot, of several the first.
func (s *slots) top(slot int32) (top slotTop) {
	s.each(slot, func(kind, n int32) {
		if n > top.n || n == top.n && kind < top.kind {
			top = slotTop{kind, n}
		}
	})
	return top
}

// A slotTop is the kind that comes most often in a context.
type slotTop struct{ kind, n int32 }

func (s *slots) merge(o *slots) {
	for slot, context := range o.contexts.keys {
		o.each(int32(slot), func(kind, n int32) { s.add(context, kind, n) })
	}
}

// hashes numbers different hashes as they come.
type hashes struct {
	index []int32 // number plus 1
	mask  uint64
	keys  []uint64
}

func newHashes() hashes { return hashes{index: make([]int32, 64), mask: 63} }

// find is the number of a hash, or -1.
func (h *hashes) find(key uint64) int32 {
	for at := key & h.mask; h.index[at] != 0; at = (at + 1) & h.mask {
		if i := h.index[at] - 1; h.keys[i] == key {
			return i
		}
	}
	return -1
}

// at is find, and gives a hash the next number that has none.
func (h *hashes) at(key uint64) (i int32, fresh bool) {
	if i := h.find(key); i >= 0 {
		return i, false
	}
	i = int32(len(h.keys))
	h.keys = append(h.keys, key)
	h.put(i)
	if 2*len(h.keys) > len(h.index) {
		h.index = make([]int32, 4*len(h.index))
		h.mask = uint64(len(h.index) - 1)
		for i := range h.keys {
			h.put(int32(i))
		}
	}
	return i, true
}

func (h *hashes) put(i int32) {
	at := h.keys[i] & h.mask
	for h.index[at] != 0 {
		at = (at + 1) & h.mask
	}
	h.index[at] = i + 1
}
