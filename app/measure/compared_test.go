package measure

import (
	"math"
	"testing"

	"moriens/internal/stage"
	"moriens/trace/rundir"
)

// Nodes whose clocks are compared by the messages of some windows are as far off as the manifest says, at most, and so
// they are by all messages.
func TestClocksByComparedWindows(t *testing.T) {
	const ranks, iterations = 4, 1500
	by := make(map[string]*rundir.Manifest)
	by["all"] = plantStencil(t, ranks, iterations).all(t).Manifest
	s := plantStencil(t, ranks, iterations)
	r, err := s.end(t.Context(), 64<<20, stage.New(0), s.collector.Windows())
	if err != nil {
		t.Fatal(err)
	}
	by["some"] = r.Manifest
	if traffic := r.Run.Traffic; traffic == nil || traffic.Matched != ranks*iterations || len(r.Run.Messages) > ranks*iterations/2 {
		t.Fatalf("%d messages arrived, their sums are %+v", len(r.Run.Messages), traffic)
	}
	for name, m := range by {
		if len(m.Clocks) != 2 {
			t.Fatalf("%s: %d clocks", name, len(m.Clocks))
		}
		for _, c := range m.Clocks {
			// Both clocks are the same.
			if c.How != rundir.ClockReference && (c.How != rundir.ClockMessages || math.Abs(float64(c.OffsetNS)) > float64(c.UncertaintyNS)+1) {
				t.Errorf("%s: %+v", name, c)
			}
			t.Logf("%s: %s by %d bounds, %g ns", name, c.How, c.Bounds, float64(c.UncertaintyNS))
		}
	}
}
