package dbscan

import (
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/workers"
)

const (
	// Fewer points are split in two again and again: they are in the cache.
	scatterFrom = 1 << 13
	// More boxes in one pass are more than the cache can write to at a time.
	scatterBits = 12
)

// plant orders the points begin … end-1 of the tree, as split does, and returns their subtree. Where they are
// many it splits them into boxes of about a leaf, or 2^scatterBits boxes, in one pass, halving the longest side of the
// boxes each time, which gives the tree that splitting in two gives, but for the boxes being tight only afterwards.
func (t *tree) plant(begin, end, depth, threads int) subtree {
	d := t.dims
	if end-begin >= scatterFrom && depth < deepest {
		coords := t.coords[begin*d : end*d]
		lo, hi := corners(Points{Dims: d, Coords: coords}, threads)
		if s, ok := newSplitter(lo, hi, (end-begin)/t.leaf); ok {
			return t.scatter(slices.Clone(coords), slices.Clone(t.rows[begin:end]), s, begin, depth, threads)
		}
	}
	b := builder{tree: t}
	b.grow(begin, end, depth)
	return subtree{b.nodes, b.boxes}
}

// A splitter finds the box of a point: its number, whose highest bit says on which side of the first
// split the point is, and so on.
type splitter struct {
	bits      int // of a number
	lo, scale []float64
	parts     [][]int32 // per axis and part of it: the bits of the number
}

// newSplitter splits the box between two corners into about so many. It is not ok where its sides have no
// inverse.
func newSplitter(lo, hi []float64, boxes int) (s splitter, ok bool) {
	d := len(lo)
	s = splitter{bits: min(scatterBits, bits.Len(uint(boxes))), lo: lo, scale: make([]float64, d), parts: make([][]int32, d)}
	side := make([]float64, d)
	for j := range d {
		side[j] = hi[j] - lo[j]
		s.parts[j] = []int32{0}
	}
	for bit := int32(1 << s.bits >> 1); bit > 0; bit >>= 1 {
		axis := 0
		for j := range d {
			if side[j] > side[axis] {
				axis = j
			}
		}
		side[axis] /= 2
		var halves []int32
		for _, part := range s.parts[axis] {
			halves = append(halves, part, part|bit)
		}
		s.parts[axis] = halves
	}
	for j := range d {
		if len(s.parts[j]) == 1 {
			continue
		}
		s.scale[j] = float64(len(s.parts[j])) / (hi[j] - lo[j])
		if !(s.scale[j] > 0x1p-1000 && s.scale[j] < 0x1p1000) {
			return s, false
		}
	}
	return s, true
}

func (s *splitter) number(at []float64) int32 {
	var number int32
	for j, v := range at {
		parts := s.parts[j]
		number |= parts[min(int((v-s.lo[j])*s.scale[j]), len(parts)-1)]
	}
	return number
}

// scatter puts points into the tree's order, those of each box together, and returns their subtree. Without
// rows they are the input.
func (t *tree) scatter(from []float64, fromRows []int32, s splitter, begin, depth, threads int) subtree {
	boxes := 1 << s.bits
	d := t.dims
	n := len(from) / d
	working := threadsFor(n, threads)
	numbers := make([]uint16, n)
	next := make([][1 << scatterBits]int32, working)
	workers.Chunks(n, working, func(t, begin, end int) {
		count := &next[t]
		for i := begin; i < end; i++ {
			k := s.number(from[i*d : i*d+d])
			numbers[i] = uint16(k)
			count[k]++
		}
	})
	first := make([]int32, boxes+1) // points before each box
	sum := int32(begin)
	for k := range boxes {
		first[k] = sum
		for t := range next {
			sum, next[t][k] = sum+next[t][k], sum
		}
	}
	first[boxes] = sum
	coords, rows := t.coords, t.rows
	workers.Chunks(n, working, func(t, begin, end int) {
		next := &next[t]
		for i, k := range numbers[begin:end] {
			i += begin
			at := int(next[k])
			next[k]++
			to, from := coords[at*d:at*d+d], from[i*d:i*d+d]
			for j := range to { // a few numbers: a call to copy them costs more
				to[j] = from[j]
			}
			rows[at] = int32(i)
			if fromRows != nil {
				rows[at] = fromRows[i]
			}
		}
	})
	a := assembly{builder: builder{tree: t}, below: make([]subtree, boxes), first: first}
	var small []int
	for k := range boxes {
		switch points := int(first[k+1] - first[k]); {
		case points > n/(2*working):
			a.below[k] = t.plant(int(first[k]), int(first[k+1]), depth+s.bits, threads)
		case points > 0:
			small = append(small, k)
		}
	}
	inBatches(len(small), fewAtATime, working, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for _, k := range small[begin:end] {
				a.below[k] = t.plant(int(first[k]), int(first[k+1]), depth+s.bits, 1)
			}
		}
	})
	a.join(0, boxes)
	return subtree{a.nodes, a.boxes}
}

// An assembly puts the subtrees of boxes together.
type assembly struct {
	builder
	below []subtree
	first []int32 // of the boxes' points, and behind the last
}

// join makes the subtree of the boxes from … to-1, which hold points.
func (a *assembly) join(from, to int) {
	if to-from == 1 {
		a.adopt(&a.below[from])
		return
	}
	middle := (from + to) / 2
	switch begin, split, end := a.first[from], a.first[middle], a.first[to]; {
	case begin == split:
		a.join(middle, to)
		return
	case split == end:
		a.join(from, middle)
		return
	case int(end-begin) <= a.leaf:
		a.grow(int(begin), int(end), 0)
		return
	}
	d := a.dims
	me := len(a.nodes)
	a.nodes = append(a.nodes, node{begin: a.first[from], end: a.first[to]})
	at := len(a.boxes)
	for range 2 * d {
		a.boxes = append(a.boxes, 0)
	}
	a.join(from, middle)
	right := len(a.nodes)
	a.nodes[me].right = int32(right)
	a.join(middle, to)
	left := a.boxes[(me+1)*2*d : (me+2)*2*d]
	for j, v := range a.boxes[right*2*d : (right+1)*2*d] {
		if j < d {
			a.boxes[at+j] = math.Min(left[j], v)
		} else {
			a.boxes[at+j] = math.Max(left[j], v)
		}
	}
}

func (a *assembly) adopt(s *subtree) {
	shift := int32(len(a.nodes))
	for _, nd := range s.nodes {
		if nd.right != 0 {
			nd.right += shift
		}
		a.nodes = append(a.nodes, nd)
	}
	a.boxes = append(a.boxes, s.boxes...)
}
