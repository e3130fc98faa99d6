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
