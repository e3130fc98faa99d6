package dbscan

import (
	"cmp"
	"math"
	"slices"
)

// A piece is a run of cells along the last axis, by what their keys have more than that of the cell
// which they surround, modulo 2^64.
type piece struct{ from, to uint64 }

// A stencil is the cells around a cell. All points of the sure ones are within Eps of each other's;
// only in the near ones there may be others. The cell itself is sure, if any is.
//
// Two points whose cells are o apart along an axis differ by at least |o|-1 sides there, so that
// cells can hold neighbours only where Σ max(|o|-1, 0)² ≤ fineness²·d. Equality counts: the shrink of
// the side leaves room below it, not above.
type stencil struct {
	sure, near []piece
	loose      uint64 // bits of a key that pieces do not depend on: those of the key that they are added to are 0
}

func (s *stencil) base(key uint64) uint64 { return key &^ s.loose }

func newStencil(f *frame) stencil {
	var s stencil
	type ranked struct {
		piece
		far, spread int
	}
	var near []ranked
	offset := make([]int, f.dims-1)
	for i := range offset {
		offset[i] = -f.reach
	}
	for {
		var base uint64
		far, spread, sure := 0, 0, true
		for _, o := range offset {
			base = (base + uint64(int64(o))) << f.bits
			size := max(o, -o)
			far += max(size-1, 0) * max(size-1, 0)
			spread += size * size
			sure = sure && size <= f.sure
		}
		add := func(from, to, least int) {
			p := piece{base + uint64(int64(from)), base + uint64(int64(to))}
			gap := max(least-1, 0)
			near = append(near, ranked{p, far + gap*gap, spread + least*least})
		}
		if far <= f.budget {
			width := int(math.Sqrt(float64(f.budget-far))) + 1
			if sure {
				s.sure = append(s.sure, piece{base - uint64(f.sure), base + uint64(f.sure)})
				add(-width, -f.sure-1, f.sure+1)
				add(f.sure+1, width, f.sure+1)
			} else {
				add(-width, width, 0)
			}
		}
		i := len(offset) - 1
		for ; i >= 0 && offset[i] == f.reach; i-- {
			offset[i] = -f.reach
		}
		if i < 0 {
			break
		}
		offset[i]++
	}
	// Nearest first, so that enough neighbours are found soon.
	slices.SortStableFunc(near, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.spread, b.spread)) })
	for _, p := range near {
		s.near = append(s.near, p.piece)
	}
	return s
}

// newBands is one stencil for all cells that differ along the last axis alone: in 4-D 37 pieces for all of them instead
// of 180 for each. Its near cells are those of newStencil, the cell itself, and as many again that are apart from it.
func newBands(f *frame) stencil {
	flat := *f
	flat.dims--
	flat.sure = -1
	s := newStencil(&flat)
	s.loose = 1<<f.bits - 1
	for i, p := range s.near {
		s.near[i] = piece{p.from << f.bits, p.to<<f.bits | s.loose}
	}
	return s
}

// A span is a run of occupied cells.
type span struct{ begin, end int32 }

// A walk finds the cells around one cell after the other, in ascending order: then the first cell of
// every piece only ever moves on, and nothing is looked up.
type walk struct {
	keys   []uint64
	pieces []piece
	first  []int32
}

// newWalk starts at a key.
func newWalk(keys []uint64, pieces []piece, key uint64) *walk {
	w := &walk{keys: keys, pieces: pieces, first: make([]int32, len(pieces))}
	for i, p := range pieces {
		first, _ := slices.BinarySearch(keys, key+p.from)
		w.first[i] = int32(first)
	}
	return w
}

// around appends the spans of occupied cells around a key.
func (w *walk) around(dst []span, key uint64) []span {
	keys, first := w.keys, w.first
	for i, p := range w.pieces {
		from, to := key+p.from, key+p.to
		at := int(first[i])
		for at < len(keys) && keys[at] < from {
			at++
		}
		first[i] = int32(at)
		end := at
		for end < len(keys) && keys[end] <= to {
			end++
		}
		if end > at {
			dst = append(dst, span{int32(at), int32(end)})
		}
	}
	return dst
}

// walkCells is how many cells a thread walks at a time: many, since a walk starts with a search.
const walkCells = 1 << 11

// neighbourhoods are the spans round each cell.
type neighbourhoods struct {
	spans  [][]span // per walkCells cells
	bounds []bounds // per cell
}

// bounds say which spans are round a cell: the sure ones first.
type bounds struct{ first, near, end int32 }

// of returns the spans round a cell, the sure ones and the others.
func (h *neighbourhoods) of(cell int32) (sure, near []span) {
	all, b := h.spans[cell/walkCells], h.bounds[cell]
	return all[b.first:b.near], all[b.near:b.end]
}

func newNeighbourhoods(keys []uint64, s stencil, threads int) *neighbourhoods {
	h := &neighbourhoods{
		spans:  make([][]span, (len(keys)+walkCells-1)/walkCells),
		bounds: make([]bounds, len(keys)),
	}
	inBatches(len(keys), walkCells, threads, func(next func() (int, int, bool)) {
		var spans []span
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			sure, near := newWalk(keys, s.sure, keys[begin]), newWalk(keys, s.near, s.base(keys[begin]))
			spans = spans[:0]
			for c := begin; c < end; c++ {
				if c > begin && s.base(keys[c]) == s.base(keys[c-1]) {
					h.bounds[c] = h.bounds[c-1]
					continue
				}
				b := bounds{first: int32(len(spans))}
				spans = sure.around(spans, keys[c])
				b.near = int32(len(spans))
				spans = near.around(spans, s.base(keys[c]))
				b.end = int32(len(spans))
				h.bounds[c] = b
			}
			h.spans[begin/walkCells] = slices.Clone(spans)
		}
	})
	return h
}

// walkAll calls f for every cell, with the spans of all pieces, from several threads at once.
func walkAll(keys []uint64, pieces []piece, threads int, f func(c int32, around []span)) {
	inBatches(len(keys), walkCells, threads, func(next func() (int, int, bool)) {
		var spans []span
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			w := newWalk(keys, pieces, keys[begin])
			for c := begin; c < end; c++ {
				spans = w.around(spans[:0], keys[c])
				f(int32(c), spans)
			}
		}
	})
}
