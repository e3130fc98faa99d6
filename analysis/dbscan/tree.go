package dbscan

import (
	"math"
	"slices"

	"moriens/analysis/workers"
)

// A tree is a k-d tree with tight boxes over points of any number of dimensions (Bentley, CACM
// 18(9), 1975; splits at the middle of the box as in Maneewongvatana and Mount, 1999). It depends on
// the points alone, so that it serves every Eps, however small against their range.
type tree struct {
	dims   int
	leaf   int       // most points in a leaf, but where they are at one place
	scale  float64   // of distances
	coords []float64 // of the points in the tree's order, row-major
	rows   []int32   // of each of them in the input
	nodes  []node    // every node before what is below it, left before right
	boxes  []float64 // per node dims smallest coordinates, then dims largest
	before []int64   // points that those before each place stand for, and all; nil: each stands for itself
}

// A node is a run of points.
type node struct {
	begin, end int32
	right      int32 // the right child, the left one being the next node; 0 in a leaf
}

const (
	// Small leaves for clustering, where a leaf that is wider than Eps falls apart into points.
	smallLeaf = 16
	// Large ones where a few thousand points are asked about, which does not pay for more.
	largeLeaf = 128
	// Splits in the middle of the box leave trees of this depth only where points crowd at ever
	// smaller scales; from there on the median keeps the cost of a level from being paid per point.
	deepest = 64
)

// newTree plants a tree whose leaves hold up to leaf points.
func newTree(p Points, leaf, threads int) *tree {
	n := p.Len()
	t := &tree{dims: p.Dims, leaf: leaf, scale: 1, coords: make([]float64, len(p.Coords)), rows: make([]int32, n)}
	if n == 0 {
		return t
	}
	var grown subtree
	splitter, ok := splitter{}, false
	if n >= scatterFrom {
		lo, hi := corners(p, threads)
		splitter, ok = newSplitter(lo, hi, n/leaf)
	}
	if ok {
		grown = t.scatter(p.Coords, nil, splitter, 0, 0, threads)
	} else {
		copy(t.coords, p.Coords)
		for i := range t.rows {
			t.rows[i] = int32(i)
		}
		b := builder{tree: t}
		b.grow(0, n, 0)
		grown = subtree{b.nodes, b.boxes}
	}
	t.nodes, t.boxes = grown.nodes, grown.boxes
	return t
}

// A subtree's nodes are numbered from 0.
type subtree struct {
	nodes []node
	boxes []float64
}

type builder struct {
	*tree
	nodes []node
	boxes []float64
}

func (b *builder) grow(begin, end, depth int) {
	me := len(b.nodes)
	b.nodes = append(b.nodes, node{begin: int32(begin), end: int32(end)})
	at := len(b.boxes)
	for range 2 * b.dims {
		b.boxes = append(b.boxes, 0)
	}
	b.boxOf(begin, end, b.boxes[at:])
	middle := b.split(begin, end, depth, b.boxes[at:])
	if middle == begin {
		return
	}
	b.grow(begin, middle, depth+1)
	b.nodes[me].right = int32(len(b.nodes))
	b.grow(middle, end, depth+1)
}

func (t *tree) boxOf(begin, end int, box []float64) {
	d := t.dims
	lo, hi := box[:d], box[d:2*d]
	copy(lo, t.coords[begin*d:])
	copy(hi, lo)
	for at := (begin + 1) * d; at < end*d; at += d {
		for j, v := range t.coords[at : at+d] {
			if v < lo[j] {
				lo[j] = v
			} else if v > hi[j] {
				hi[j] = v
			}
		}
	}
}

// split puts the points below some value of the box's longest side first and returns where the
// others start: strictly between begin and end, or begin where the points stay together.
func (t *tree) split(begin, end, depth int, box []float64) int {
	d := t.dims
	if end-begin <= t.leaf {
		return begin
	}
	axis := 0
	longest := -1.0
	for j := range d {
		if side := box[d+j] - box[j]; side > longest {
			axis, longest = j, side
		}
	}
	lo, hi := box[axis], box[d+axis]
	if lo == hi {
		return begin
	}
	pivot := lo/2 + hi/2
	if depth >= deepest {
		pivot = t.sampledMedian(begin, end, axis)
	}
	if pivot <= lo || pivot > hi {
		pivot = hi
	}
	i, j := begin, end-1
	for {
		for t.coords[i*d+axis] < pivot {
			i++
		}
		for t.coords[j*d+axis] >= pivot {
			j--
		}
		if i > j {
			return i
		}
		a, b := t.coords[i*d:i*d+d], t.coords[j*d:j*d+d]
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
		t.rows[i], t.rows[j] = t.rows[j], t.rows[i]
	}
}

func (t *tree) sampledMedian(begin, end, axis int) float64 {
	var sample [31]float64
	for i := range sample {
		at, _ := workers.Chunk(end-begin, len(sample), i)
		sample[i] = t.coords[(begin+at)*t.dims+axis]
	}
	slices.Sort(sample[:])
	return sample[len(sample)/2]
}

// A box is tight round some points; one point is a box whose corners are both that point.
type box struct{ lo, hi []float64 }

func (t *tree) box(nd int32) box {
	d := t.dims
	b := t.boxes[int(nd)*2*d:][:2*d]
	return box{b[:d], b[d:]}
}

func (t *tree) point(i int32) []float64 {
	d := t.dims
	return t.coords[int(i)*d:][:d]
}

func pointBox(p []float64) box { return box{p, p} }

// scaleFor returns a power of two which takes a length to about 2^to, so that squares of what is compared with
// it neither overflow nor vanish.
func scaleFor(length float64, to int) float64 {
	if length == 0 {
		return 0x1p1023
	}
	_, exponent := math.Frexp(length)
	return math.Ldexp(1, min(to-exponent, 1023))
}

// extent is the longest side of the box of all points, of which there must be some.
func (t *tree) extent() float64 {
	longest := 0.
	for b, j := t.box(0), 0; j < t.dims; j++ {
		longest = max(longest, b.hi[j]-b.lo[j])
	}
	return min(longest, math.MaxFloat64)
}

// scaled returns the tree with distances in other units. It shares everything else.
func (t *tree) scaled(scale float64) *tree {
	other := *t
	other.scale = scale
	return &other
}

// weighed returns the tree with points that stand for several, given for how many those of the input do. It shares
// everything else.
func (t *tree) weighed(weights []int64) *tree {
	other := *t
	other.before = make([]int64, len(t.rows)+1)
	for i, row := range t.rows {
		other.before[i+1] = other.before[i] + weights[row]
	}
	return &other
}

// weight is how many points some stand for.
func (t *tree) weight(begin, end int32) int {
	if t.before == nil {
		return int(end - begin)
	}
	return int(t.before[end] - t.before[begin])
}

// distances2 returns bounds of the squared distances between the points of two boxes. They hold to
// the last bit for distance2 of any two of their points, since differences, squares and sums of
// float64 keep their order under rounding.
func (t *tree) distances2(a, b box) (least, most float64) {
	for j := range a.lo {
		gap := a.lo[j] - b.hi[j]
		if g := b.lo[j] - a.hi[j]; g > gap {
			gap = g
		}
		span := a.hi[j] - b.lo[j]
		if s := b.hi[j] - a.lo[j]; s > span {
			span = s
		}
		if gap *= t.scale; gap > 0 {
			least += float64(gap * gap)
		}
		span *= t.scale
		most += float64(span * span)
	}
	return least, most
}

// least2 is the first result of distances2.
func (t *tree) least2(a, b box) float64 {
	var least float64
	for j := range a.lo {
		gap := a.lo[j] - b.hi[j]
		if g := b.lo[j] - a.hi[j]; g > gap {
			gap = g
		}
		if gap *= t.scale; gap > 0 {
			least += float64(gap * gap)
		}
	}
	return least
}

// nodeDistances2 is distances2 of a point and a node's box.
func (t *tree) nodeDistances2(p []float64, nd int32) (least, most float64) {
	b := t.boxes[int(nd)*2*len(p):][:2*len(p)]
	for j, v := range p {
		outside, inside := b[j]-v, v-b[len(p)+j] // beyond either corner; one is the gap, the other the span
		if outside < inside {
			outside, inside = inside, outside
		}
		if outside *= t.scale; outside > 0 {
			least += float64(outside * outside)
		}
		inside *= t.scale
		most += float64(inside * inside)
	}
	return least, most
}

// distance2 is the function distance2 in the tree's scale.
func (t *tree) distance2(p, q []float64) float64 {
	var sum float64
	for j := range p {
		d := (p[j] - q[j]) * t.scale
		sum += float64(d * d)
	}
	return sum
}

// distance2 sums in the order of the dimensions; the conversion keeps compilers from fusing the
// product into the sum, which would round otherwise on some machines.
func distance2(p, q []float64) float64 {
	var sum float64
	for j := range p {
		d := p[j] - q[j]
		sum += float64(d * d)
	}
	return sum
}

// count returns how many points lie within √reach2 of p, or some number ≥ enough if that many do.
func (t *tree) count(nd int32, p []float64, reach2 float64, enough int) int {
	x := &t.nodes[nd]
	least, most := t.nodeDistances2(p, nd)
	if least > reach2 {
		return 0
	}
	if most <= reach2 {
		return t.weight(x.begin, x.end)
	}
	if x.right != 0 {
		found := t.count(nd+1, p, reach2, enough)
		if found < enough {
			found += t.count(x.right, p, reach2, enough-found)
		}
		return found
	}
	found := 0
	for i := x.begin; i < x.end; i++ {
		if t.distance2(p, t.point(i)) <= reach2 {
			found += t.weight(i, i+1)
		}
	}
	return found
}
