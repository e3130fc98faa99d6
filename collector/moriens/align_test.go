package moriens

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
)

// TestMarksStayBetweenTheirCalls puts marks of a thread whose calls were moved: the first lasts longer than its clock had it, and
// the second came closer.
func TestMarksStayBetweenTheirCalls(t *testing.T) {
	local := []int64{90, 100, 120, 149, 150, 200, 299, 300, 339, 340, 400}
	want := []int64{1090, 1100, 1120, 1149, 1180, 1230, 1320, 1320, 1359, 1360, 1420}
	thread := trace.Thread{
		BeginNS: 90, EndNS: 400,
		Calls:  trace.Calls{EnterNS: []int64{1100, 1320}, ExitNS: []int64{1180, 1360}, Path: []uint32{0, 0}},
		Phases: []trace.Phase{{BeginNS: 120, EndNS: 200}},
		Pauses: []trace.Pause{{BeginNS: 150, EndNS: 300}},
	}
	for _, ns := range local {
		thread.Events = append(thread.Events, trace.Event{TimeNS: ns})
	}
	h := &history{run: &trace.Run{Threads: []trace.Thread{thread}}, counters: []int{0}}
	h.placeMarks(0, rail{enter: []int64{100, 300}, exit: []int64{150, 340}})
	got := h.run.Threads[0]
	for i, e := range got.Events {
		if e.TimeNS != want[i] {
			t.Errorf("an event at %d of its clock is at %d, not %d", local[i], e.TimeNS, want[i])
		}
	}
	if d := cmp.Diff([]trace.Phase{{BeginNS: 1120, EndNS: 1230}}, got.Phases); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Pause{{BeginNS: 1180, EndNS: 1320}}, got.Pauses); d != "" {
		t.Error(d)
	}
	if got.BeginNS != 1090 || got.EndNS != 1420 {
		t.Errorf("the thread is from %d to %d", got.BeginNS, got.EndNS)
	}
}
