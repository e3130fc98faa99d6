package cells

import (
	"math/bits"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/moment"
)

// units are the bursts of one group in one micro-cell each, or of one group at one place, by number. Columns hold as
// many entries per unit as said.
type units struct {
	dims   int
	stride int // of moments
	group  []uint32
	key    []int32  // dims
	parent []uint32 // the unit from which a place was split, plus 1; 0: it is a cell
	// Box round all bursts and sum of their coordinates: dims each. Of a place that is where it is, and no sum.
	lo, hi, sum []float64
	// Durations, and each counter: of all bursts, and of those that were reported to the collector.
	moments, reported []moment.Exact
	number            map[unitKey]uint32
	places            map[uint32]map[place]uint32 // of units that were split
	recent            [1024]uint32                // cells that were looked up last, plus 1
}

type unitKey struct {
	group uint32
	key   cell.Key
}

// A place is coordinates, 0 beyond the dimensions.
type place [cell.MaxDims]float64

func newUnits(dims int) units {
	return units{dims: dims, stride: 1, number: make(map[unitKey]uint32), places: make(map[uint32]map[place]uint32)}
}

func (u *units) len() int { return len(u.group) }

// bytes is about what the units take of memory, with the heads of their logs of points: a place in a map is some 24
// bytes more than its key and value.
func (u *units) bytes() int64 {
	per := 4 + 4 + 4*u.dims + 24*u.dims + 2*48*u.stride + 40 + 24 + 72
	return int64(per) * int64(u.len())
}

// widen makes room for so many moments per unit.
func (u *units) widen(stride int) {
	wider := func(list []moment.Exact) []moment.Exact {
		wide := make([]moment.Exact, u.len()*stride)
		for i := range u.len() {
			copy(wide[i*stride:], list[i*u.stride:][:u.stride])
		}
		return wide
	}
	u.moments, u.reported = wider(u.moments), wider(u.reported)
	u.stride = stride
}

// of is the unit of a burst of a group at a point of a cell.
func (u *units) of(group uint32, key cell.Key, at []float64) uint32 {
	hash := group
	for _, n := range key[:u.dims] {
		hash = slot(hash, uint32(n))
	}
	recent := &u.recent[hash%uint32(len(u.recent))]
	number := *recent - 1
	if *recent == 0 || u.group[number] != group || !slices.Equal(u.keyOf(number), key[:u.dims]) {
		number = u.cell(group, key, at)
		*recent = number + 1
	}
	if len(u.places) > 0 {
		if places, split := u.places[number]; split {
			return u.placeOf(number, places, at)
		}
	}
	return number
}

// cell is the number of a unit that is a cell, from now on at least.
func (u *units) cell(group uint32, key cell.Key, at []float64) uint32 {
	number, known := u.number[unitKey{group, key}]
	if !known {
		number = u.open(group, key[:u.dims], 0, at)
		u.number[unitKey{group, key}] = number
	}
	return number
}

// placeOf is the unit at a point of a unit that was split.
func (u *units) placeOf(unit uint32, places map[place]uint32, at []float64) uint32 {
	var p place
	copy(p[:], at)
	number, known := places[p]
	if !known {
		number = u.open(u.group[unit], slices.Clone(u.keyOf(unit)), unit+1, at)
		places[p] = number
	}
	return number
}

// open begins a unit without bursts.
func (u *units) open(group uint32, key []int32, parent uint32, at []float64) uint32 {
	number := uint32(u.len())
	u.group, u.key, u.parent = append(u.group, group), append(u.key, key...), append(u.parent, parent)
	u.lo, u.hi = append(u.lo, at...), append(u.hi, at...)
	u.sum = append(u.sum, make([]float64, u.dims)...)
	u.moments = append(u.moments, make([]moment.Exact, u.stride)...)
	u.reported = append(u.reported, make([]moment.Exact, u.stride)...)
	return number
}

func (u *units) keyOf(unit uint32) []int32 { return u.key[int(unit)*u.dims:][:u.dims] }

// durations are those of a unit's bursts.
func (u *units) durations(unit uint32) *moment.Exact { return &u.moments[int(unit)*u.stride] }

// add counts a burst. events are the numbers of its counters.
func (u *units) add(unit uint32, at []float64, x *burst, events []int) {
	first := int(unit) * u.dims
	for j, v := range at {
		u.lo[first+j], u.hi[first+j] = min(u.lo[first+j], v), max(u.hi[first+j], v)
		u.sum[first+j] += v
	}
	u.count(unit, x, events)
}

// count adds what a burst took and counted.
func (u *units) count(unit uint32, x *burst, events []int) {
	moments := u.moments[int(unit)*u.stride:][:u.stride]
	moments[0].Add(uint64(x.ns))
	for i, v := range x.counts {
		if v >= 0 { // as in a clustering of the bursts themselves
			moments[1+events[i]].Add(uint64(v))
		}
	}
}

// empty leaves a unit without bursts.
func (u *units) empty(unit uint32) {
	for _, list := range [][]float64{u.lo, u.hi, u.sum} {
		clear(list[int(unit)*u.dims:][:u.dims])
	}
	clear(u.moments[int(unit)*u.stride:][:u.stride])
	clear(u.reported[int(unit)*u.stride:][:u.stride])
}

// since is what was added to a sum after an earlier one.
func since(now, then moment.Exact) moment.Exact {
	d := moment.Exact{N: now.N - then.N}
	var borrow uint64
	for i := range d.Total {
		d.Total[i], borrow = bits.Sub64(now.Total[i], then.Total[i], borrow)
	}
	borrow = 0
	for i := range d.Squares {
		d.Squares[i], borrow = bits.Sub64(now.Squares[i], then.Squares[i], borrow)
	}
	return d
}
