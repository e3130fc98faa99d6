package cell_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
)

func mustAdd(t rapid.TB, s *cell.Set, coords []float64) {
	t.Helper()
	if err := s.Add(coords); err != nil {
		t.Fatal(err)
	}
}

func newSet(t rapid.TB, dims int, side float64) *cell.Set {
	t.Helper()
	s, err := cell.NewSet(dims, side)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCellsByHand(t *testing.T) {
	s := newSet(t, 2, .5)
	mustAdd(t, s, []float64{-.25, 0, -.5, .25, .5, .25, 0, 0})
	want := []cell.Cell{
		{Key: cell.Key{-1, 0}, Count: 2, Lo: [8]float64{-.5, 0}, Hi: [8]float64{-.25, .25}, Sum: [8]float64{-.75, .25}},
		{Key: cell.Key{0, 0}, Count: 1},
		{Key: cell.Key{1, 0}, Count: 1, Lo: [8]float64{.5, .25}, Hi: [8]float64{.5, .25}, Sum: [8]float64{.5, .25}},
	}
	if got := s.Cells(); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	coarse := s.Coarser()
	if got := coarse.Cells(); coarse.Side() != 1 || len(got) != 2 || got[0].Key != (cell.Key{-1, 0}) || got[1].Key != (cell.Key{}) ||
		got[1].Count != 2 || got[1].Lo != ([8]float64{}) || got[1].Hi != ([8]float64{.5, .25}) {
		t.Errorf("coarser: %+v", got)
	}
	if c := cell.Of([]float64{2, 3}, 4); c.Count != 4 || c.Lo != c.Hi || c.Lo != ([8]float64{2, 3}) || c.Sum != ([8]float64{8, 12}) {
		t.Errorf("%+v", c)
	}
}

// Parts merge, in any order, into what one set of all points is; and coarsening is the same before and
// after. Coordinates are small multiples of 1/8, so that sums are exact.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, cell.MaxDims).Draw(t, "dims")
		side := rapid.SampledFrom([]float64{.25, .3, 1}).Draw(t, "side")
		whole := newSet(t, dims, side)
		var parts []*cell.Set
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			coords := make([]float64, dims*rapid.IntRange(0, 20).Draw(t, "points"))
			for i := range coords {
				coords[i] = float64(rapid.IntRange(-20, 20).Draw(t, "x")) / 8
			}
			part := newSet(t, dims, side)
			mustAdd(t, part, coords)
			mustAdd(t, whole, coords)
			parts = append(parts, part)
		}
		merged, coarse := newSet(t, dims, side), newSet(t, dims, 2*side)
		for _, i := range rapid.Permutation(indices(len(parts))).Draw(t, "order") {
			if err := merged.Merge(parts[i]); err != nil {
				t.Fatal(err)
			}
			if err := coarse.Merge(parts[i].Coarser()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(merged.Cells(), whole.Cells()) {
			t.Fatalf("%+v\nwant %+v", merged.Cells(), whole.Cells())
		}
		if !slices.Equal(coarse.Cells(), whole.Coarser().Cells()) {
			t.Fatalf("coarser: %+v\nwant %+v", coarse.Cells(), whole.Coarser().Cells())
		}
		if merged.Len() != len(merged.Cells()) {
			t.Fatal(merged.Len())
		}
	})
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		dims int
		side float64
	}{{0, 1}, {9, 1}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := cell.NewSet(c.dims, c.side); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	s := newSet(t, 2, 1)
	for _, c := range []struct {
		coords []float64
		want   string
	}{
		{[]float64{1, 2, 3}, "whole number of rows"},
		{[]float64{1, 2, 3, math.NaN()}, "row 1: cell: dimension 1: NaN"},
		{[]float64{math.Inf(-1), 2}, "row 0: cell: dimension 0: -Inf"},
		{[]float64{1, 2, 1e10, 1}, "row 1: cell: dimension 0: 1e+10"},
	} {
		if err := s.Add(c.coords); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.coords, err)
		}
	}
	if s.Len() != 0 {
		t.Errorf("%d cells after errors alone", s.Len())
	}
	if err := s.Merge(newSet(t, 2, 2)); err == nil {
		t.Error("another side: no error")
	}
	if err := s.Merge(newSet(t, 3, 1)); err == nil {
		t.Error("another number of dimensions: no error")
	}
}
