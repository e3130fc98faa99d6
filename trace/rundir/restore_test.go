package rundir

import (
	"testing"

	"moriens/trace"
)

// Phases of an earlier version that lie deeper than those of this one are part of the phase at the limit. Depths that
// do not follow one another are damage.
func TestRestoreDeepPhases(t *testing.T) {
	var r restorer
	r.take(&trace.Run{Threads: make([]trace.Thread, 1)})
	put := func(depth int32) error {
		return r.phase(0, 0, 0, "a", trace.Phase{Depth: depth, BeginNS: int64(depth), EndNS: 1000})
	}
	if err := put(trace.MostPhaseDepth); err == nil {
		t.Error("a deep phase that no others are round: no error")
	}
	for depth := range int32(trace.MostPhaseDepth + 100) {
		if err := put(depth); err != nil {
			t.Fatal(err)
		}
	}
	got := r.run.Threads[0].Phases
	if n := len(got); n != trace.MostPhaseDepth || got[n-1].Depth != trace.MostPhaseDepth-1 {
		t.Errorf("%d phases", n)
	}
	r.take(&trace.Run{Threads: []trace.Thread{{Phases: got[:trace.MostPhaseDepth-1]}}})
	if err := put(trace.MostPhaseDepth); err == nil {
		t.Error("a phase that is two deeper than the one ahead: no error")
	}
}
