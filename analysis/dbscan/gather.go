package dbscan

import (
	"math"
	"sync"

	"moriens/analysis/workers"
)

// gathered are points of some cells, copied together by cell and, within a cell, in their order in
// the input.
type gathered struct {
	first  []int32 // per cell: of its points; and behind the last
	coords []float64
	rows   []int32
	trees  []lazyTree // per cell, of cells that are asked often
}

func (g *gathered) len(i int32) int { return int(g.first[i+1] - g.first[i]) }

// pointsOf returns the coordinates of a cell's points.
func (g *gathered) pointsOf(dims int, cell int32) []float64 {
	return g.coords[int(g.first[cell])*dims : int(g.first[cell+1])*dims]
}

// A pick is a point of a cell, by its number in gathered.
type pick struct{ cell, row int32 }

// fill copies the points that each thread picked, in ascending order of rows.
func (g *gathered) fill(p Points, picks [][]pick) {
	cells := len(g.first) - 1
	next := make([][]int32, len(picks)) // per thread and cell: where its next point goes
	workers.Chunks(len(picks), len(picks), func(_, begin, end int) {
		for t := begin; t < end; t++ {
			next[t] = make([]int32, cells)
			for _, k := range picks[t] {
				next[t][k.cell]++
			}
		}
	})
	var sum int32
	for c := range cells {
		g.first[c] = sum
		for t := range next {
			sum, next[t][c] = sum+next[t][c], sum
		}
	}
	g.first[cells] = sum
	d := p.Dims
	g.allocate(d)
	workers.Chunks(len(picks), len(picks), func(_, begin, end int) {
		for t := begin; t < end; t++ {
			next, rows, coords := next[t], g.rows, g.coords
			for _, k := range picks[t] {
				at := next[k.cell]
				next[k.cell]++
				rows[at] = k.row
				to, from := coords[int(at)*d:int(at)*d+d], p.Coords[int(k.row)*d:int(k.row)*d+d]
				for j := range to { // a few numbers: a call to copy them costs more
					to[j] = from[j]
				}
			}
		}
	})
}

// allocate makes room for the points that first lists.
func (g *gathered) allocate(dims int) {
	n := int(g.first[len(g.first)-1])
	g.coords, g.rows = make([]float64, n*dims), make([]int32, n)
}

// A lazyTree is a tree over a cell's points, grown when scanning them has cost as much.
type lazyTree struct {
	mu      sync.Mutex
	scanned int
	tree    *tree
}

// Cells with this many points get a tree when they have been scanned this many times.
const (
	treeFrom  = 256
	treeAfter = 32
)

// countNear counts, up to enough, the points of a cell within Eps of p.
func (g *gathered) countNear(p []float64, cell int32, eps2 float64, enough int) int {
	coords := g.pointsOf(len(p), cell)
	if g.len(cell) >= treeFrom {
		if t := g.trees[cell].get(len(p), coords); t != nil {
			return t.count(0, p, eps2, enough)
		}
	}
	return countNear(p, coords, eps2, enough)
}

func (l *lazyTree) get(dims int, coords []float64) *tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tree == nil {
		if l.scanned++; l.scanned > treeAfter {
			l.tree = newTree(Points{Dims: dims, Coords: coords}, smallLeaf, 1)
		}
	}
	return l.tree
}

// samplesPerCell is how many points of a full cell are asked first. Mostly they answer whether any point of
// it is within Eps of another, and a few more than MinPts suffice to make that one a core point.
func (g *grid) samplesPerCell() int { return samplesPerCell(g.points.Len(), len(g.fulls), g.minPts) }

func samplesPerCell(points, fulls, minPts int) int {
	const least, most = 8, 48
	budget := points / 64 / (fulls + 1) // where cells hold few points each, samples would be most of them
	return max(1, min(budget, max(least, min(minPts+2, most))))
}

// gatherOpen copies the points of open cells and takes samples of full ones.
func (g *grid) gatherOpen() {
	g.open.first = make([]int32, len(g.keys)-len(g.fulls)+1)
	g.samples.first = make([]int32, len(g.fulls)+1)
	g.supply.open(g)
	g.state = make([]pointState, len(g.open.rows))
}

// gatherShut copies what was asked for.
func (g *grid) gatherShut() {
	g.shut.first = make([]int32, len(g.fulls)+1)
	g.supply.shut(g)
	g.shut.trees = make([]lazyTree, len(g.fulls))
}

// A reachBox bounds what is asked for of a cell's points, relative to the frame's origin.
type reachBox struct{ lo, hi [gridDims]float64 }

// requests are what is asked for of the points of full cells.
type requests struct {
	asked []bool
	boxes []reachBox
	locks [64]sync.Mutex
}

func newRequests(cells int) requests {
	return requests{asked: make([]bool, cells), boxes: make([]reachBox, cells)}
}

// ask asks for the points of a full cell within Eps of a box.
func (g *grid) ask(cell int32, lo, hi *[gridDims]float64) {
	b := g.inReach(lo, hi, cell)
	k := g.fullIndex(cell)
	r := &g.requests
	lock := &r.locks[k%int32(len(r.locks))]
	lock.Lock()
	defer lock.Unlock()
	r.widen(k, &b, g.dims)
}

// widen asks for the points in a box.
func (r *requests) widen(k int32, b *reachBox, dims int) {
	if !r.asked[k] {
		r.asked[k], r.boxes[k] = true, *b
		return
	}
	for j := range dims {
		r.boxes[k].lo[j] = min(r.boxes[k].lo[j], b.lo[j])
		r.boxes[k].hi[j] = max(r.boxes[k].hi[j], b.hi[j])
	}
}

// requested reports whether a point lies where some is asked for in its cell, given by its number among the full ones.
func (g *grid) requested(at []float64, k int32) bool {
	return g.inside(&g.requests.boxes[k], at)
}

// inside reports whether a point lies in a box.
func (f *frame) inside(b *reachBox, at []float64) bool {
	for j, v := range at {
		if u := v - f.origin[j]; !(u >= b.lo[j] && u <= b.hi[j]) {
			return false
		}
	}
	return true
}

// cellBox returns the corners of a cell relative to the origin, a little widened.
func (g *grid) cellBox(cell int32) (lo, hi [gridDims]float64) {
	for j := range g.dims {
		n := g.number(g.keys[cell], j)
		lo[j], hi[j] = math.FMA(n, g.side, -g.side*tolerance), math.FMA(n+1, g.side, g.side*tolerance)
	}
	return lo, hi
}
