package kinds

import (
	"cmp"
	"math"
	"slices"
)

// A nearTree is cells of a field, halved along one dimension after the other: the middle cell is between those below
// and those above.
type nearTree struct {
	field *field
	cells []int32
}

func newNearTree(f *field, cells []int32) *nearTree {
	t := &nearTree{f, slices.Clone(cells)}
	t.halve(t.cells, 0)
	return t
}

func (t *nearTree) at(i int32, dim int) float64 { return t.field.places[int(i)*t.field.dims+dim] }

func (t *nearTree) halve(cells []int32, dim int) {
	if len(cells) < 2 {
		return
	}
	slices.SortFunc(cells, func(a, b int32) int { return cmp.Or(cmp.Compare(t.at(a, dim), t.at(b, dim)), cmp.Compare(a, b)) })
	mid, next := len(cells)/2, (dim+1)%t.field.dims
	t.halve(cells[:mid], next)
	t.halve(cells[mid+1:], next)
}

// nearest is the cell that is nearest to one, of several the first.
func (t *nearTree) nearest(i int32) int32 {
	best, least := int32(math.MaxInt32), math.Inf(1)
	var seek func(cells []int32, dim int)
	seek = func(cells []int32, dim int) {
		if len(cells) == 0 {
			return
		}
		mid, next := len(cells)/2, (dim+1)%t.field.dims
		j := cells[mid]
		if d := t.field.distance(i, j); d < least || d == least && j < best {
			best, least = j, d
		}
		sides := [2][]int32{cells[:mid], cells[mid+1:]}
		beyond := t.at(i, dim) - t.at(j, dim)
		if beyond > 0 {
			sides[0], sides[1] = sides[1], sides[0]
		}
		seek(sides[0], next)
		if math.Abs(beyond)*(1-1e-9) <= least {
			seek(sides[1], next)
		}
	}
	seek(t.cells, 0)
	return best
}
