// Package cell sums points by small cells: their number, a tight box round them, and their sum.
//
// In come finite coordinates, 1 to MaxDims per point, in the caller's unit; out come cells of one side length, in that
// unit. Sets of cells merge by addition, in any order, and turn into sets of twice the side without the points. So many
// ranks can sum up their points and one place can cluster all of them: dbscan.Weighted reports for which cells that
// needs the points themselves. The cells are those of Song and Lee, "RP-DBSCAN", SIGMOD'18; the boxes make the result
// exact.
package cell

import (
	"fmt"
	"math"
	"slices"
)

// MaxDims is the largest number of dimensions of a point.
const MaxDims = 8

// A Key numbers a cell along each axis: floor(coordinate/side).
type Key [MaxDims]int32

// A Cell sums up one point or more.
type Cell struct {
	Key    Key
	Count  int64
	Lo, Hi [MaxDims]float64 // smallest and largest coordinates
	// Sum of the coordinates; the last bits of it depend on the order in which points and sets were added.
	Sum [MaxDims]float64
}

// Of returns a cell of count points at one place, which is as good as the points themselves.
func Of(at []float64, count int64) Cell {
	c := Cell{Count: count}
	for j, v := range at {
		c.Lo[j], c.Hi[j], c.Sum[j] = v, v, v*float64(count)
	}
	return c
}

func (c *Cell) add(o *Cell, dims int) {
	for j := range dims {
		c.Lo[j], c.Hi[j] = min(c.Lo[j], o.Lo[j]), max(c.Hi[j], o.Hi[j])
		c.Sum[j] += o.Sum[j]
	}
	c.Count += o.Count
}

// A Set is cells of one side.
type Set struct {
	dims  int
	side  float64
	cells map[Key]*Cell
}

// NewSet returns a set without cells. dims must be 1 to MaxDims, side > 0 and finite.
func NewSet(dims int, side float64) (*Set, error) {
	if dims < 1 || dims > MaxDims {
		return nil, fmt.Errorf("cell: %d dimensions: want 1 to %d", dims, MaxDims)
	}
	if !(side > 0) || math.IsInf(side, 0) {
		return nil, fmt.Errorf("cell: side %v: want a number above 0", side)
	}
	return &Set{dims: dims, side: side, cells: make(map[Key]*Cell)}, nil
}

// Dims returns the number of dimensions.
func (s *Set) Dims() int { return s.dims }

// Side returns the side of a cell.
func (s *Set) Side() float64 { return s.side }

// Len returns the number of cells.
func (s *Set) Len() int { return len(s.cells) }

// KeyOf returns the key of the cell in which a point lies. Coordinates that are not finite or more than
// 2^31 cells from 0 are an error.
func (s *Set) KeyOf(at []float64) (Key, error) { return KeyOf(at[:s.dims], s.side) }

// KeyOf returns the key of the cell of a side in which a point lies, as Set.KeyOf does.
func KeyOf(at []float64, side float64) (k Key, err error) {
	for j, v := range at {
		n := math.Floor(v / side)
		if !(n >= math.MinInt32 && n <= math.MaxInt32) {
			return k, fmt.Errorf("cell: dimension %d: %v is in no cell of side %v", j, v, side)
		}
		k[j] = int32(n)
	}
	return k, nil
}

// Add adds points, row by row; coords must be a whole number of rows. If there is an error none of them
// is added.
func (s *Set) Add(coords []float64) error {
	if len(coords)%s.dims != 0 {
		return fmt.Errorf("cell: %d coordinates are no whole number of rows of %d", len(coords), s.dims)
	}
	keys := make([]Key, len(coords)/s.dims)
	for i := range keys {
		var err error
		if keys[i], err = s.KeyOf(coords[i*s.dims:]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	for i, k := range keys {
		c := Of(coords[i*s.dims:(i+1)*s.dims], 1)
		c.Key = k
		s.put(&c)
	}
	return nil
}

func (s *Set) put(c *Cell) {
	if old := s.cells[c.Key]; old != nil {
		old.add(c, s.dims)
		return
	}
	own := *c
	s.cells[c.Key] = &own
}

// Merge adds the cells of another set, which must have the same dimensions and side.
func (s *Set) Merge(o *Set) error {
	if s.dims != o.dims || s.side != o.side {
		return fmt.Errorf("cell: cells of side %v in %d dimensions do not merge with those of side %v in %d", o.side, o.dims, s.side, s.dims)
	}
	for _, c := range o.Cells() { // in order, for the sake of the sums
		s.put(&c)
	}
	return nil
}

// Coarser returns the same points in cells of twice the side.
func (s *Set) Coarser() *Set {
	coarse := &Set{dims: s.dims, side: 2 * s.side, cells: make(map[Key]*Cell, len(s.cells)/2)}
	for _, c := range s.Cells() {
		for j := range s.dims {
			c.Key[j] >>= 1 // rounds down, as numbers of cells do
		}
		coarse.put(&c)
	}
	return coarse
}

// Cells returns the cells by ascending key.
func (s *Set) Cells() []Cell {
	list := make([]Cell, 0, len(s.cells))
	for _, c := range s.cells {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Cell) int { return slices.Compare(a.Key[:s.dims], b.Key[:s.dims]) })
	return list
}
