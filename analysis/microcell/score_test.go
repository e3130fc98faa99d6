package microcell

import (
	"slices"
	"testing"
)

// Sequences show the pieces of a unit only where they differ, and then all of them.
func TestShown(t *testing.T) {
	c := &computation{set: &Set{Units: make([]Unit, 3)}, places: map[int32][]int32{1: {3, 4, 5}}}
	for _, x := range []struct{ labels, want []int32 }{
		{[]int32{7, -1, 8, 2, 2, 2}, []int32{7, 2, 8}},
		{[]int32{7, -1, 8, 2, 2, 3}, []int32{7, inPieces, 2, 2, 3, 8}},
		{[]int32{7, -1, 8, -1, -1, -1}, []int32{7, -1, 8}},
	} {
		if got := c.shown(x.labels); !slices.Equal(got, x.want) {
			t.Errorf("%v show %v, want %v", x.labels, got, x.want)
		}
	}
}
