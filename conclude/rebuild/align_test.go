package rebuild

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// TestMarksRemainBetweenTheirCalls puts marks of a thread whose calls were moved: the first lasts longer than by its
// clock, and the second is closer.
func TestMarksRemainBetweenTheirCalls(t *testing.T) {
	local := []int64{90, 100, 120, 149, 150, 200, 299, 300, 339, 340, 400}
	want := []int64{1090, 1100, 1120, 1149, 1180, 1230, 1320, 1320, 1359, 1360, 1420}
	thread := trace.Thread{
		BeginNS: 90, EndNS: 400,
		Calls:  trace.Calls{EnterNS: []int64{1100, 1320}, ExitNS: []int64{1180, 1360}, Path: []uint32{0, 0}},
		Phases: []trace.Phase{{BeginNS: 120, EndNS: 200}},
		Pauses: []trace.Pause{{BeginNS: 150, EndNS: 300}},
		Lost:   []trace.Span{{BeginNS: 150, EndNS: 300}},
	}
	for _, ns := range local {
		thread.Events = append(thread.Events, trace.Event{TimeNS: ns})
	}
	u := &unpacked{run: &trace.Run{Threads: []trace.Thread{thread}}, counters: []int{0}}
	u.placeMarks(0, localTimes{enter: []int64{100, 300}, exit: []int64{150, 340}}, nil)
	got := u.run.Threads[0]
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
	if d := cmp.Diff([]trace.Span{{BeginNS: 1180, EndNS: 1320}}, got.Lost); d != "" {
		t.Error(d)
	}
	if got.BeginNS != 1090 || got.EndNS != 1420 {
		t.Errorf("the thread is from %d to %d", got.BeginNS, got.EndNS)
	}
}

// Rows without a burst before them have lost calls, unless they are a thread's first, or follow a pause, or follow the
// row before at once: that is a run of polls.
func TestLostStretches(t *testing.T) {
	st := store.New()
	x := agenttest.New(t, st, 1, "n1")
	x.Process(&moriensv1.Process{Process: 1, Size: 1})
	x.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	x.Rows(&sectiontest.Rows{
		Ring: 11, Origin: 100, Function: []uint32{1, 1, 1, 1, 1, 1}, Burst: []uint64{5, 10, 0, 20, 30, 1}, Call: []uint64{1, 1, 1, 1, 1, 1},
		NoBurst: []uint32{0, 2, 3, 4}, Paused: []uint32{4},
	})
	f := st.Freeze()
	u := &unpacked{
		run: &trace.Run{Threads: make([]trace.Thread, 1)}, cuts: make([]cuts, 1),
		Threads: Threads{Own: []int{0}, Rings: []*store.Ring{f.Ring(11)}},
	}
	thread := &u.run.Threads[0]
	u.allotCalls()
	u.cuts[0] = chunked{f.Take(f.Ring(11)), new(store.Reader), nil, func(uint32) uint32 { return 0 }}.read(thread, func(ticks uint64) int64 { return int64(ticks) })
	if d := cmp.Diff([]trace.Span{{BeginNS: 118, EndNS: 138, Window: -1}}, thread.Lost); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Pause{{BeginNS: 139, EndNS: 169}}, thread.Pauses); d != "" {
		t.Error(d)
	}
}
