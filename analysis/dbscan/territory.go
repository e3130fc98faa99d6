package dbscan

import (
	"cmp"
	"math/bits"
	"slices"

	"moriens/internal/team"
)

// A territory says which member of a team owns which cells of a frame: those between two places on the curve that
// Morton (IBM, 1966) laid through them, so that what a member owns lies together.
type territory struct {
	frame
	axisBits uint     // of an axis in a code
	from     []uint64 // per member but the first: where on the curve its cells begin
}

// code is the place of a cell on the curve: the bits of its numbers in turn, the highest first.
func (t *territory) code(cell *[gridDims]uint64) uint64 {
	var code uint64
	for b := int(t.axisBits) - 1; b >= 0; b-- {
		for j := range t.dims {
			code = code<<1 | cell[j]>>uint(b)&1
		}
	}
	return code
}

// cell splits a key into the numbers along the axes.
func (f *frame) cell(key uint64) (cell [gridDims]uint64) {
	for j := f.dims - 1; j >= 0; j-- {
		cell[j] = key & (1<<f.bits - 1)
		key >>= f.bits
	}
	return cell
}

func (t *territory) owner(code uint64) int {
	at, found := slices.BinarySearch(t.from, code)
	if found { // several members may begin there: all but the last own nothing
		for at < len(t.from) && t.from[at] == code {
			at++
		}
	}
	return at
}

const (
	// A cell costs about as much as these many of its points, of which no more than MinPts cost anything.
	cellCost = 8
	// samplesPerMember is how many of its cells a member shows, each for the same part of its costs.
	samplesPerMember = 512
)

// newTerritory gives every member cells that cost about as much, given the cells of each one's points.
func newTerritory(m *meter, f *frame, c *census, minPts int) (*territory, error) {
	t := &territory{frame: *f}
	for j := range f.dims {
		t.axisBits = max(t.axisBits, uint(bits.Len64(uint64(f.cells[j]))))
	}
	cost := func(i int) int64 { return cellCost + min(int64(c.before[i+1]-c.before[i]), int64(minPts)) }
	var sum int64
	for i := range c.keys {
		sum += cost(i)
	}
	sample := []uint64{uint64(sum)} // behind all costs
	var passed int64
	for i, key := range c.keys {
		passed += cost(i)
		for int64(len(sample)-1) < passed*samplesPerMember/sum {
			cell := f.cell(key)
			sample = append(sample, t.code(&cell))
		}
	}
	samples, err := team.Gather(m, sample)
	if err != nil {
		return nil, err
	}
	type shown struct {
		code uint64
		cost int64
	}
	var all []shown
	var total int64
	for _, list := range samples {
		cost := int64(list[0])
		for _, code := range list[1:] {
			all = append(all, shown{code, cost})
		}
		total += int64(len(list)-1) * cost
	}
	slices.SortFunc(all, func(a, b shown) int { return cmp.Compare(a.code, b.code) })
	size := int64(m.Size())
	passed = 0
	for _, s := range all {
		for next := int64(len(t.from)) + 1; next < size && passed >= total/size*next; next++ {
			t.from = append(t.from, s.code)
		}
		passed += s.cost
	}
	for int64(len(t.from)) < size-1 {
		t.from = append(t.from, ^uint64(0))
	}
	return t, nil
}

// around appends the members, but for one, that own cells within reach of a cell, occupied or not.
func (t *territory) around(dst []int, key uint64, but int) []int {
	lo := t.cell(key)
	hi := lo
	for j := range t.dims {
		lo[j] -= uint64(t.reach)
		hi[j] += uint64(t.reach)
	}
	// The codes of all these cells lie between those of the first and the last.
	first, last := t.code(&lo), t.code(&hi)
	if a, b := t.owner(first), t.owner(last); a == b {
		if a != but {
			dst = append(dst, a)
		}
		return dst
	}
	v := visit{territory: t, lo: lo, hi: hi, but: but, found: dst}
	level := (uint(bits.Len64(first^last)) + uint(t.dims) - 1) / uint(t.dims)
	var corner [gridDims]uint64
	for j := range t.dims {
		corner[j] = lo[j] >> level << level
	}
	v.block(&corner, level)
	return v.found
}

// A visit looks for the owners of the cells of a box.
type visit struct {
	*territory
	lo, hi [gridDims]uint64
	but    int
	found  []int
}

// block visits the cells of the box in a block of 2^level cells each way, which lie together on the curve.
func (v *visit) block(corner *[gridDims]uint64, level uint) {
	for j := range v.dims {
		if corner[j] > v.hi[j] || corner[j]+1<<level-1 < v.lo[j] {
			return
		}
	}
	first := v.code(corner)
	last := first + (1<<(level*uint(v.dims)) - 1)
	if a := v.owner(first); a == v.owner(last) {
		if a != v.but && !slices.Contains(v.found, a) {
			v.found = append(v.found, a)
		}
		return
	}
	half := uint64(1) << (level - 1)
	for k := range 1 << v.dims {
		part := *corner
		for j := range v.dims {
			if k>>j&1 != 0 {
				part[j] += half
			}
		}
		v.block(&part, level-1)
	}
}
