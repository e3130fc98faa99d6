package grouping_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// Eps is a part of the range of what is clustered, with groups that of all of them, and bursts that are left out do not
// widen it.
func TestNormalisedByHand(t *testing.T) {
	b := grouping.Bursts{
		Columns: space.Columns{DurationNS: []int64{1000, 1010, 2000, 1500, 9999}, CounterNames: []string{"A"}, Counters: [][]int64{{3, 3, 3, 3, -1}}},
		Before:  []uint32{1, 1, 1, 2, 2}, After: []uint32{1, 1, 1, 2, 2},
	}
	o := grouping.Options{
		Dims: []space.Dim{{Num: space.Duration}, {Num: "A"}}, By: grouping.ByCalls, Normalise: true,
		Fixed: &grouping.Density{Eps: .01, MinPts: 1},
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
	constant := slices.IndexFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "A:lin separates no bursts: it is 3 in all") })
	if constant < 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

func TestAsGiven(t *testing.T) {
	o := grouping.Options{Dims: []space.Dim{{Num: "B"}}, AsGiven: true}
	chosen, notes := o.Choose([]string{"A"})
	if !slices.Equal(chosen.Dims, o.Dims) || len(notes) != 0 {
		t.Errorf("%v became %v, %q", o.Dims, chosen.Dims, notes)
	}
	_, err := grouping.Compute(grouping.Bursts{Columns: space.Columns{CounterNames: []string{"A"}, Counters: [][]int64{{}}}}, grouping.Options{Dims: o.Dims, By: grouping.ByNone})
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
		o    grouping.Options
		want float64
	}{
		{grouping.Options{Dims: dims}, .1},
		{grouping.Options{Dims: dims, Normalise: true}, .1},
		{grouping.Options{Dims: dims, Normalise: true, Strict: true}, 0},
		{grouping.Options{Dims: dims, Normalise: true, Resolution: .03}, .03},
		{grouping.Options{Dims: dims, Resolution: -1}, 0},
	} {
		if got := c.o.Floor(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}

func TestResolution(t *testing.T) {
	duration, counter := space.Dim{Num: space.Duration, Scale: space.Log}, space.Dim{Num: "A"}
	ratio := space.Dim{Num: "A", Den: "A"}
	wide := []int64{1000, 10_000, 1_000_000}
	for _, c := range []struct {
		name      string
		durations []int64
		o         grouping.Options
		want      float64
	}{
		{"fixed transform", wide, grouping.Options{Dims: []space.Dim{duration}}, .1},
		{"none", wide, grouping.Options{Dims: []space.Dim{duration}, Resolution: -1}, 0},
		{"as they are", wide, grouping.Options{Dims: []space.Dim{duration}, Normalise: true}, .1},
		{"constant", wide, grouping.Options{Dims: []space.Dim{ratio}, Normalise: true}, .02},
		{"no default", wide, grouping.Options{Dims: []space.Dim{counter}, Normalise: true}, 0},
		{"given", wide, grouping.Options{Dims: []space.Dim{duration}, Normalise: true, Resolution: .03}, .03},
		{"fixed density", wide, grouping.Options{Dims: []space.Dim{duration}, Normalise: true, Fixed: &grouping.Density{Eps: 1, MinPts: 2}}, 0},
		{"strict", wide, grouping.Options{Dims: []space.Dim{duration}, Normalise: true, Strict: true}, 0},
	} {
		b := grouping.Bursts{Columns: space.Columns{DurationNS: c.durations, CounterNames: []string{"A"}, Counters: [][]int64{{1, 2, 5}}}}
		c.o.By = grouping.ByNone
		if got := compute(t, b, c.o).Resolution; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Kinds that lie far apart are kept whole, with a score of 1, however little each of them varies and whatever the unit:
// the knee of their distances follows the noise within them.
func TestNormalisedNoiseSplitsNothing(t *testing.T) {
	for _, c := range []struct {
		name         string
		instructions []float64 // per kind
		ipc          []float64
		noise        float64
	}{
		{"three kinds", []float64{1e4, 4e5, 9e6}, []float64{1.25, 1.33, 2.25}, .01},
		{"of one IPC", []float64{1e4, 4e5, 9e6}, []float64{1, 1, 1}, .005},
		{"one kind", []float64{1e6}, []float64{1}, .001},
		{"one kind, nearly constant", []float64{1e4}, []float64{1.25}, .0001},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		vary := func(v float64) int64 { return int64(v * (1 + c.noise*(2*random.Float64()-1))) }
		b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}}
		for range 4 {
			for range 50 {
				for k, instructions := range c.instructions {
					b.DurationNS = append(b.DurationNS, vary(instructions))
					b.Counters[0] = append(b.Counters[0], vary(instructions))
					b.Counters[1] = append(b.Counters[1], vary(instructions/c.ipc[k]))
				}
			}
			b.ThreadEnds = append(b.ThreadEnds, len(b.DurationNS))
		}
		o, _ := grouping.Options{By: grouping.ByNone, Normalise: true}.Choose(b.CounterNames)
		if r := compute(t, b, o); len(r.Clusters) != len(c.instructions) || r.Score != 1 || r.Noise.Bursts != 0 {
			t.Errorf("%s: %d clusters, score %v, %d noise", c.name, len(r.Clusters), r.Score, r.Noise.Bursts)
		}
	}
}
