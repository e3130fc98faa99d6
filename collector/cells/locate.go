package cells

import (
	"math"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
)

// Locate is the unit in which a burst between two call paths is, by its coordinates: index into the units of the last
// Survey, with the places that Split has appended since. The coordinates may be a little off, as when a clock's rate is
// known better by now: where there is no such place it is the nearest in the micro-cell, and where there is nothing,
// the nearest unit in the cells round it.
func (c *Coordinator) Locate(before, after uint32, at []float64) (unit int32, ok bool) {
	group, ok := c.numbers[microcell.Group{Before: before, After: after}]
	if !ok || len(at) != len(c.dims) {
		return 0, false
	}
	place := placeKey{group: group}
	copy(place.at[:], at)
	if unit, ok = c.places[place]; ok {
		return unit, true
	}
	key, err := cell.KeyOf(at, c.side)
	if err != nil {
		return 0, false
	}
	near := nearest{at: at, distance: math.Inf(1)}
	if c.look(cellKey{group, key}, &near); !near.found {
		c.lookRound(cellKey{group, key}, len(at), &near)
	}
	return near.unit, near.found
}

type nearest struct {
	at       []float64
	unit     int32
	distance float64 // squared
	found    bool
}

// look looks at the units of a cell.
func (c *Coordinator) look(key cellKey, near *nearest) {
	s := c.cells[key]
	for unit := s.first; unit < s.first+s.count; unit++ {
		if d := squaredDistance(near.at, &c.units[unit].Cell); d < near.distance {
			near.unit, near.distance, near.found = unit, d, true
		}
	}
}

// lookRound looks at a cell and those that touch it, along the first so many axes.
func (c *Coordinator) lookRound(key cellKey, axes int, near *nearest) {
	if axes == 0 {
		c.look(key, near)
		return
	}
	for step := int32(-1); step <= 1; step++ {
		beside := key
		beside.key[axes-1] += step
		c.lookRound(beside, axes-1, near)
	}
}

// squaredDistance is that of a point from a box.
func squaredDistance(at []float64, box *cell.Cell) float64 {
	var sum float64
	for j, v := range at {
		d := max(box.Lo[j]-v, v-box.Hi[j], 0)
		sum += d * d
	}
	return sum
}
