package retention

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/period"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Loops are reported in the order of their place, each followed by those within it.
func TestDescribeInner(t *testing.T) {
	p := period.Phase{Iterations: 5, Correlation: math.NaN(), Inner: []period.Inner{
		{Offset: 1, Period: 9, Trips: 4, MinTrips: 3, MaxTrips: 5, Share: 1, Inner: []period.Inner{{Offset: 2, Period: 1, Trips: 3, MinTrips: 3, MaxTrips: 3, Share: .5}}},
		{Offset: 40, Period: 2, Trips: 6, MinTrips: 6, MaxTrips: 6, Share: .8},
	}}
	want := []rundir.Inner{
		{Depth: 1, OffsetBursts: 1, PeriodBursts: 9, Trips: 4, MinTrips: 3, MaxTrips: 5, Share: 1},
		{Depth: 2, OffsetBursts: 2, PeriodBursts: 1, Trips: 3, MinTrips: 3, MaxTrips: 3, Share: .5},
		{Depth: 1, OffsetBursts: 40, PeriodBursts: 2, Trips: 6, MinTrips: 6, MaxTrips: 6, Share: .8},
	}
	if d := cmp.Diff(want, describePhase(&p, trace.Span{}).Inner); d != "" {
		t.Error(d)
	}
	if list := describePhase(&period.Phase{}, trace.Span{}).Inner; list == nil || len(list) > 0 {
		t.Errorf("of a stretch without: %v, want an empty list", list)
	}
}

// Where threads ran is said where it distinguishes them.
func TestWhere(t *testing.T) {
	run := &trace.Run{Nodes: []trace.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}}}
	for i := range 24 {
		run.Threads = append(run.Threads, trace.Thread{Rank: i, Node: i / 4})
	}
	for _, tt := range []struct {
		threads []int32
		want    string
	}{
		{[]int32{9}, "on c"},
		{[]int32{4, 5, 6, 7}, "all ranks of b"},
		{[]int32{4, 5, 6, 7, 8, 9, 10, 11}, "all ranks of b and c"},
		{[]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "all ranks of 3 of 6 nodes"},
		{[]int32{4, 6}, "on b alone"},
		{[]int32{4, 5, 8, 9}, "on b and c alone"},
		{[]int32{4, 8}, ""},
		{[]int32{0, 4, 8, 12}, ""},
	} {
		if got := where(run, tt.threads); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.threads, got, tt.want)
		}
	}
	if got := nodeOf(run, 9); got != "c" {
		t.Errorf("rank 9 on %q", got)
	}
	run.Nodes = run.Nodes[:1]
	if got := where(run, []int32{1}) + nodeOf(run, 1); got != "" {
		t.Errorf("of one node: %q", got)
	}
}

func TestMedianBursts(t *testing.T) {
	r := &Reduction{}
	if n := r.medianBursts([]int32{0}); n != nil {
		t.Errorf("%d bursts where none are known", *n)
	}
	r.bursts = []int{7, 9, 1, 100}
	if n := r.medianBursts([]int32{0, 1, 3}); n == nil || *n != 9 {
		t.Errorf("%v", n)
	}
}
