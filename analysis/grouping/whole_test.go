package grouping_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// The automatic filter leaves out what is short, but cuts through no kind of bursts.
func TestAutoFilterKeepsKindsWhole(t *testing.T) {
	const long = 1_000_000
	around := func(n int, at int64) []int64 { // n durations from at to 1.25 at
		var d []int64
		for i := range n {
			d = append(d, at+int64(i)*at/int64(4*n))
		}
		return d
	}
	tail := func(from, to int64) []int64 { // one duration in every step
		var d []int64
		for at := float64(from); at < float64(to); at *= 1.09 {
			d = append(d, int64(at))
		}
		return d
	}
	type group struct {
		durations []int64
		kept      int // of them, the longest
	}
	tests := []struct {
		name   string
		groups []group
	}{
		{"one kind, all of it above the limit", []group{{around(100, long), 100}}},
		// 1 % of 112 ms is 1.12 ms: 9 of the 100 short bursts by themselves.
		{"a kind across the limit", []group{{around(100, long), 100}, {around(100, long/10), 100}}},
		{"a kind below the limit", []group{{around(100, long), 100}, {around(50, long/100), 0}}},
		// The limit cuts through the second group; the third has the same durations as its shorter half,
		// and stragglers above that no durations connect with them.
		{"connected and not", []group{
			{around(100, long), 100},
			{around(100, long/10), 100},
			{append(around(4, long/50), around(3, long)...), 3},
		}},
		// A burst in each step connects the quick kind with a slow one above the limit.
		{"a quick kind with a tail", []group{{around(100, long), 100}, {append(around(100, long/400), tail(long/400, 2*long)...), 40}}},
		{"a burst of no length", []group{{append([]int64{0}, around(100, long)...), 100}}},
		{"connected down to the shortest", []group{{append([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, around(40, 13)...), 52}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b grouping.Bursts
			for path, g := range tt.groups {
				for _, d := range g.durations {
					b.DurationNS = append(b.DurationNS, d)
					b.Before = append(b.Before, uint32(path))
					b.After = append(b.After, 7)
				}
			}
			r := compute(t, b, grouping.Options{
				Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, Filter: space.Filter{Auto: true},
			})
			at, filtered := 0, 0
			for path, g := range tt.groups {
				var kept []int64
				for i, d := range g.durations {
					if r.Labels[at+i] != grouping.LabelFiltered {
						kept = append(kept, d)
					} else {
						filtered++
					}
				}
				at += len(g.durations)
				want := slices.Sorted(slices.Values(g.durations))
				want = want[len(want)-g.kept:]
				if slices.Sort(kept); !slices.Equal(kept, want) {
					t.Errorf("group %d keeps %v, want %v", path, kept, want)
				}
			}
			if n := r.Selection.Bursts[space.Short]; n != filtered {
				t.Errorf("%d bursts counted as short, %d filtered", n, filtered)
			}
		})
	}
}

// The share that is left out does not depend on how long the program runs.
func TestAutoFilterDoesNotDependOnLength(t *testing.T) {
	share := func(n int) float64 {
		random := rand.New(rand.NewPCG(3, 4))
		var b grouping.Bursts
		for range n {
			for path, kind := range []float64{1e6, 1e4} { // the quick kind has tails as of a lognormal of sigma 0.6
				b.DurationNS = append(b.DurationNS, int64(kind*math.Exp(.6*random.NormFloat64())))
				b.Before = append(b.Before, uint32(path))
				b.After = append(b.After, 7)
			}
		}
		r := compute(t, b, grouping.Options{
			Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, Filter: space.Filter{Auto: true},
		})
		return float64(r.Selection.Bursts[space.Short]) / float64(n)
	}
	want := share(100_000)
	for _, n := range []int{1_000, 10_000, 1_000_000} {
		if got := share(n); math.Abs(got-want) > .05 {
			t.Errorf("of %d bursts %.3f are left out, of 100,000 %.3f", n, got, want)
		}
	}
	if want < .5 {
		t.Errorf("%.3f are left out: the case shows nothing", want)
	}
}
