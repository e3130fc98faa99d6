package dbscan

import (
	"math"
	"slices"
	"sync/atomic"

	"moriens/analysis/workers"
)

// gridDims is the largest number of dimensions for which grids are used: the cells that may hold a
// neighbour are 49 in 2-D and 841 in 4-D, but 52,147 in 5-D.
const gridDims = 4

// A lattice is the shape of a grid's cells.
type lattice struct {
	eps2  float64 // the square of Eps
	side  float64
	reach int // in cells along an axis, how far a neighbour may be
	// Two points whose cells are o apart along an axis differ by at least |o|-1 sides there, so that
	// cells can hold neighbours only where Σ max(|o|-1, 0)² ≤ budget.
	budget int
	// All points of cells that are at most sure apart along every axis are within Eps of each other.
	// Below 0 not even those of one cell are.
	sure int
}

// Sides are shrunk or stretched a little, so that what geometry says of cells also holds for
// coordinates that were rounded: numbers of cells stay below 2^24, where rounding moves them by less
// than 2^-27.
const shrink = 1 - 0x1p-20

// cliques have the side Eps/(fineness·√d). Distances that are equal to Eps reach the budget, but no more.
func cliques(dims, fineness int, eps float64) lattice {
	scale := float64(fineness) * math.Sqrt(float64(dims))
	return lattice{eps2: eps * eps, side: eps / scale * shrink, reach: int(scale) + 1, budget: fineness * fineness * dims, sure: fineness - 1}
}

// cubes have the side Eps: neighbours are in the same and in touching cells.
func cubes(eps float64) lattice {
	return lattice{eps2: eps * eps, side: eps / shrink, reach: 1, budget: 0, sure: -1}
}

// A frame numbers the cells of a grid along each axis, from reach on, so that the numbers of all cells
// around an occupied one are positive.
type frame struct {
	lattice
	dims   int
	inv    float64 // 1/side
	origin [gridDims]float64
	cells  [gridDims]float64 // along each axis, with a margin of reach on both sides
	bits   uint              // of each axis in a key, the last axis lowest
}

// newFrame returns the frame for points between two corners, with a part of their range more on each
// side. It is not ok where cells would be too many to number.
func newFrame(dims int, l lattice, lo, hi []float64, slack float64) (f frame, ok bool) {
	if !(l.side > 1e-100 && l.side < 1e100) { // squares of coordinates in cells have to stay normal numbers
		return f, false
	}
	f = frame{lattice: l, dims: dims, inv: 1 / l.side, bits: uint(64 / dims)}
	most := min(math.Ldexp(1, int(f.bits)), 1<<24)
	for j := range dims {
		cells := (hi[j] - lo[j]) * f.inv
		margin := float64(f.reach) + 1 + math.Ceil(slack*cells)
		f.origin[j] = lo[j] - margin*f.side
		f.cells[j] = math.Floor(cells) + 2*margin + 1
		if !(f.cells[j] < most) {
			return f, false
		}
	}
	return f, true
}

// A place is a point with its coordinates in cells' terms: relative to the frame's origin.
type place struct {
	at       []float64
	relative [gridDims]float64
}

func (f *frame) place(at []float64) place {
	p := place{at: at}
	for j, v := range at {
		p.relative[j] = v - f.origin[j]
	}
	return p
}

// A verdict reports whether points are within Eps of each other.
type verdict uint8

const (
	no verdict = iota
	yes
	perhaps
)

// tolerance is the part of Eps² that geometry of cells leaves to the coordinates themselves.
const tolerance = 0x1p-22

// reaches decides by geometry alone whether all, none or perhaps some points of a cell are within Eps.
func (f *frame) reaches(p *place, key uint64) verdict {
	var least, most float64
	for j := f.dims - 1; j >= 0; j-- {
		lo := float64(int64(key&(1<<f.bits-1))) * f.side
		key >>= f.bits
		before, behind := lo-p.relative[j], p.relative[j]-lo-f.side // one at most is positive
		gap, span := before, -behind
		if behind > before {
			gap, span = behind, -before
		}
		if gap > 0 {
			least += gap * gap
		}
		most += span * span
	}
	switch {
	case least > f.eps2*(1+tolerance):
		return no
	case most < f.eps2*(1-tolerance):
		return yes
	}
	return perhaps
}

// apart reports whether two cells are too far from each other for any of their points to be within Eps.
func (f *frame) apart(a, b uint64) bool {
	gaps := 0
	for range f.dims {
		u, v := int(a&(1<<f.bits-1)), int(b&(1<<f.bits-1))
		if gap := max(u-v, v-u) - 1; gap > 0 {
			gaps += gap * gap
		}
		a, b = a>>f.bits, b>>f.bits
	}
	return gaps > f.budget
}

// total is the number of cells there are, occupied or not.
func (f *frame) total() float64 {
	total := 1.0
	for j := range f.dims {
		total *= f.cells[j]
	}
	return total
}

// limits are the cell numbers, as floats, between which a point may lie.
func (f *frame) limits() (least float64, below [gridDims]float64) {
	for j := range f.dims {
		below[j] = f.cells[j] - float64(f.reach)
	}
	return float64(f.reach), below
}

// number returns the number of a cell along an axis.
func (f *frame) number(key uint64, axis int) float64 {
	return float64(key >> (f.bits * uint(f.dims-1-axis)) & (1<<f.bits - 1))
}

// column is what cells share whose numbers along the first axis are equal.
func (f *frame) column(key uint64) uint64 { return key >> (f.bits * uint(f.dims-1)) }

// sampleRows is how many points show where the others may be.
const sampleRows = 1 << 16

// sampledCorners returns the corners of the box of up to sampleRows points, and whether they are all.
func sampledCorners(p Points) (lo, hi []float64, all bool) {
	n, d := p.Len(), p.Dims
	lo, hi = append(lo, p.Coords[:d]...), append(hi, p.Coords[:d]...)
	rows := min(n, sampleRows)
	for i := range rows {
		begin, _ := workers.Chunk(n, rows, i)
		widen(lo, hi, p.Coords[begin*d:begin*d+d])
	}
	return lo, hi, rows == n
}

func widen(lo, hi, q []float64) {
	for j, v := range q {
		if v < lo[j] {
			lo[j] = v
		} else if v > hi[j] {
			hi[j] = v
		}
	}
}

// corners returns the corners of the box of all points, of which there must be some.
func corners(p Points, threads int) (lo, hi []float64) {
	n, d := p.Len(), p.Dims
	threads = threadsFor(n, threads)
	los, his := make([][]float64, threads), make([][]float64, threads)
	workers.Chunks(n, threads, func(t, begin, end int) {
		l, h := slices.Clone(p.Coords[begin*d:begin*d+d]), slices.Clone(p.Coords[begin*d:begin*d+d])
		for at := begin * d; at < end*d; at += d {
			widen(l, h, p.Coords[at:at+d])
		}
		los[t], his[t] = l, h
	})
	lo, hi = los[0], his[0]
	for t := range los {
		widen(lo, hi, los[t])
		widen(lo, hi, his[t])
	}
	return lo, hi
}

// A census is the points counted by cell. A point's id is its place in the table of its thread,
// which holds the number of its cell among the occupied ones.
type census struct {
	keys   []uint64  // of the occupied cells, ascending
	before []int32   // points in the cells before each, and of all
	ids    []int32   // per point
	tables [][]int32 // per thread, or one for all of them
	// The points of each thread are those of workers.Chunks.
	threads int
}

// table is that of a thread.
func (c *census) table(t int) []int32 { return c.tables[t%len(c.tables)] }

// count takes the census of the points. It is not ok where a point is outside of the frame or is no
// finite number.
func (f *frame) count(p Points, threads int) (census, bool) {
	n := p.Len()
	threads = threadsFor(n, threads)
	c := census{ids: make([]int32, n), threads: threads}
	if f.dims == 2 && f.total() <= float64(8*n) {
		return c, f.countDense(p, &c, threads)
	}
	return c, f.countHashed(p, &c, threads)
}

// countDense counts 2-D points in an array of all cells.
func (f *frame) countDense(p Points, c *census, threads int) bool {
	least, below := f.limits()
	width := int(f.cells[1])
	counts := make([][]int32, threads)
	var outside atomic.Bool
	workers.Chunks(p.Len(), threads, func(t, begin, end int) {
		count := make([]int32, int(f.total()))
		counts[t] = count
		ids, q := c.ids[begin:end], p.Coords[2*begin:2*end]
		x0, y0, inv, belowX, belowY := f.origin[0], f.origin[1], f.inv, below[0], below[1]
		for i := range ids {
			x, y := (q[2*i]-x0)*inv, (q[2*i+1]-y0)*inv
			if !(x >= least && x < belowX && y >= least && y < belowY) {
				outside.Store(true)
				return
			}
			k := int(int32(x))*width + int(int32(y))
			ids[i] = int32(k)
			count[k]++
		}
	})
	if outside.Load() {
		return false
	}
	table := counts[0]
	c.before = append(c.before, 0)
	sum := int32(0)
	for k := range table {
		var here int32
		for t := range counts {
			here += counts[t][k]
		}
		if here == 0 {
			continue
		}
		table[k] = int32(len(c.keys))
		c.keys = append(c.keys, uint64(k/width)<<f.bits|uint64(k%width))
		sum += here
		c.before = append(c.before, sum)
	}
	c.tables = [][]int32{table}
	return true
}

// countHashed counts points in hash tables, one for each thread.
func (f *frame) countHashed(p Points, c *census, threads int) bool {
	tables := make([]*cellTable, threads)
	var outside atomic.Bool
	workers.Chunks(p.Len(), threads, func(t, begin, end int) {
		tables[t] = newCellTable()
		if !f.hash(p, begin, end, tables[t], c.ids) {
			outside.Store(true)
		}
	})
	if outside.Load() {
		return false
	}
	var keys []uint64
	for _, table := range tables {
		keys = append(keys, table.keys...)
	}
	order := make([]int32, len(keys))
	for i := range order {
		order[i] = int32(i)
	}
	sortKeys(keys, order, threads)
	cell := make([]int32, len(keys)) // in the order of the tables
	c.before = append(c.before, 0)
	for i, k := range keys {
		if i == 0 || k != keys[i-1] {
			c.keys = append(c.keys, k)
			c.before = append(c.before, c.before[len(c.before)-1])
		}
		cell[order[i]] = int32(len(c.keys) - 1)
	}
	occupants := c.before[1:]
	clear(occupants)
	at := 0
	for _, table := range tables {
		mine := cell[at : at+len(table.keys)]
		at += len(table.keys)
		for id, count := range table.counts() {
			occupants[mine[id]] += count
		}
		c.tables = append(c.tables, mine)
	}
	var sum int32
	for i := range occupants {
		sum += occupants[i]
		occupants[i] = sum
	}
	return true
}

func (f *frame) hash(p Points, begin, end int, table *cellTable, ids []int32) bool {
	d, bits, inv := f.dims, f.bits, f.inv
	least, below := f.limits()
	origin := f.origin
	for i := begin; i < end; i++ {
		var key uint64
		for j, v := range p.Coords[i*d : i*d+d] {
			x := (v - origin[j&3]) * inv // &3: j is below gridDims
			if !(x >= least && x < below[j&3]) {
				return false
			}
			key = key<<(bits&63) | uint64(uint32(int32(x)))
		}
		ids[i] = table.add(key)
	}
	return true
}

// A cellTable counts by key, with linear probing. No key is 0.
type cellTable struct {
	slots []cellSlot
	shift uint
	keys  []uint64 // by id, in the order of their first use
}

type cellSlot struct {
	key       uint64
	id, count int32
}

func newCellTable() *cellTable {
	const bits = 10
	return &cellTable{slots: make([]cellSlot, 1<<bits), shift: 64 - bits}
}

// hashKey is Knuth's multiplicative hashing: the highest bits are the hash.
func hashKey(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 }

// slot returns the slot of a key, or the empty one for it.
func (t *cellTable) slot(key uint64) *cellSlot {
	slots := t.slots
	mask := uint64(len(slots) - 1)
	for at := hashKey(key) >> t.shift; ; at++ {
		if s := &slots[at&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// add counts a point and returns the id of its cell.
func (t *cellTable) add(key uint64) int32 {
	s := t.slot(key)
	if s.key == 0 {
		s = t.enter(key)
	}
	s.count++
	return s.id
}

// enter gives a new key its id.
func (t *cellTable) enter(key uint64) *cellSlot {
	if 2*len(t.keys) >= len(t.slots) {
		t.grow()
	}
	s := t.slot(key)
	*s = cellSlot{key: key, id: int32(len(t.keys))}
	t.keys = append(t.keys, key)
	return s
}

// find returns the id of a cell, or -1.
func (t *cellTable) find(key uint64) int32 {
	if s := t.slot(key); s.key != 0 {
		return s.id
	}
	return -1
}

func (t *cellTable) grow() {
	old := t.slots
	t.slots = make([]cellSlot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.key != 0 {
			*t.slot(s.key) = s
		}
	}
}

// counts returns the points per id.
func (t *cellTable) counts() []int32 {
	counts := make([]int32, len(t.keys))
	for _, s := range t.slots {
		if s.key != 0 {
			counts[s.id] = s.count
		}
	}
	return counts
}
