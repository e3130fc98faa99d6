package partition_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/partition"
	"moriens/analysis/space"
)

// Eps is a part of the range of what is clustered, with groups that of all of them, and bursts that are left out do not widen it.
func TestNormalisedByHand(t *testing.T) {
	b := partition.Bursts{
		Columns: space.Columns{DurationNS: []int64{1000, 1010, 2000, 1500, 9999}, CounterNames: []string{"A"}, Counters: [][]int64{{3, 3, 3, 3, -1}}},
		Before:  []uint32{1, 1, 1, 2, 2}, After: []uint32{1, 1, 1, 2, 2},
	}
	o := partition.Options{
		Dims: []space.Dim{{Num: space.Duration}, {Num: "A"}}, By: partition.ByCalls, Normalise: true,
		Fixed: &partition.Density{Eps: .01, MinPts: 1},
	}
	r := compute(t, b, o)
	// 10 ns of 1000 ns are exactly Eps.
	if want := []int32{1, 1, 2, 3, -3}; !slices.Equal(r.Labels, want) {
		t.Errorf("labels %v, want %v", r.Labels, want)
	}
	o.Fixed.Eps = .00999
	if r := compute(t, b, o); len(r.Clusters) != 4 {
		t.Errorf("%d clusters, want 4", len(r.Clusters))
	}
	constant := slices.IndexFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "A:lin tells no bursts apart: it is 3 in all") })
	if constant < 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

func TestAsGiven(t *testing.T) {
	o := partition.Options{Dims: []space.Dim{{Num: "B"}}, AsGiven: true}
	chosen, notes := o.Choose([]string{"A"})
	if !slices.Equal(chosen.Dims, o.Dims) || len(notes) != 0 {
		t.Errorf("%v became %v, %q", o.Dims, chosen.Dims, notes)
	}
	_, err := partition.Compute(partition.Bursts{Columns: space.Columns{CounterNames: []string{"A"}, Counters: [][]int64{{}}}}, partition.Options{Dims: o.Dims, By: partition.ByNone})
	var unknown *space.UnknownCounterError
	if !errors.As(err, &unknown) || unknown.Name != "B" {
		t.Errorf("error %v", err)
	}
	o.Dims = nil
	if chosen, _ := o.Choose(nil); len(chosen.Dims) != 1 || chosen.Dims[0].Num != space.Duration {
		t.Errorf("none became %v", chosen.Dims)
	}
}

func TestFloor(t *testing.T) {
	dims := []space.Dim{{Num: space.Duration, Scale: space.Log}}
	for _, c := range []struct {
		o    partition.Options
		want float64
	}{
		{partition.Options{Dims: dims}, .1},
		{partition.Options{Dims: dims, Normalise: true}, 0},
		{partition.Options{Dims: dims, Normalise: true, Resolution: .03}, .03},
		{partition.Options{Dims: dims, Resolution: -1}, 0},
	} {
		if got := c.o.Floor(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}
