package partition_test

import (
	"slices"
	"testing"

	"moriens/analysis/partition"
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
		{"a burst of no length", []group{{append([]int64{0}, around(100, long)...), 100}}},
		{"connected down to the shortest", []group{{append([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, around(40, 13)...), 52}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b partition.Bursts
			for path, g := range tt.groups {
				for _, d := range g.durations {
					b.DurationNS = append(b.DurationNS, d)
					b.Before = append(b.Before, uint32(path))
					b.After = append(b.After, 7)
				}
			}
			r := compute(t, b, partition.Options{
				Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, Filter: space.Filter{Auto: true},
			})
			at, filtered := 0, 0
			for path, g := range tt.groups {
				var kept []int64
				for i, d := range g.durations {
					if r.Labels[at+i] != partition.LabelFiltered {
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
