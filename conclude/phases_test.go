package conclude

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/grouping"
	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
	"moriens/trace/rundir"
)

const (
	begin = section.BeginPhase
	end   = section.EndPhase
	event = section.Event
)

// One rank with phases that cross, end twice and never end, an event and a pause; and a thread of it that says
// something and never calls MPI.
func TestRecountMarks(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.Ring(&moriensv1.Ring{Ring: 12, Process: 1, Thread: 1})
	for i, text := range []string{"a", "b", "open"} {
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: 1, Name: uint32(i + 1), Text: text}}})
	}
	send, recv := agenttest.Call(t, "MPI_Send"), agenttest.Call(t, "MPI_Recv")
	// Calls at 1000–1010, 1100–1110, 1500–1510 (after a pause), 1600–1610.
	f.Rows(&sectiontest.Rows{
		Ring: 11, Origin: 1000, Burst: []uint64{0, 90, 390, 90}, Call: []uint64{10, 10, 10, 10},
		Function: []uint32{send, recv, send, recv}, Path: []uint32{0, 0, 0, 0}, NoBurst: []uint32{0, 2}, Paused: []uint32{2},
		Marks: []section.Mark{
			{Ticks: 1020, What: begin, Name: 1}, {Ticks: 1050, What: begin, Name: 2}, {Ticks: 1200, What: end, Name: 1}, {Ticks: 1210, What: end, Name: 2},
			{Ticks: 1310, What: event, Name: 2, Value: -5},
			{Ticks: 1510, What: begin, Name: 3}, {Ticks: 1540, What: begin, Name: 1}, {Ticks: 1560, What: end, Name: 1},
		},
	})
	f.Rows(&sectiontest.Rows{Ring: 12, Marks: []section.Mark{{Ticks: 1300, What: begin, Name: 2}, {Ticks: 2000, What: end, Name: 2}}})
	for ring, e := range map[uint64]*moriensv1.RingEnd{11: {Calls: 4, Marks: 8, Paused: 33, MarksInside: 2}, 12: {Marks: 2}} {
		e.Ring = ring
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: e}})
	}
	f.Clock(1_001_000, 1_001_000)
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{
		Process: 1, How: moriensv1.ProcessEnd_HOW_FINALIZED, NamesLost: 4,
	}}})

	r, err := concludeAll(t, s.Freeze(), Job{}, grouping.Options{By: grouping.ByAuto})
	if err != nil {
		t.Fatal(err)
	}
	main, other := &r.Run.Threads[0], &r.Run.Threads[1]
	const a, b, open = 1, 2, 3
	if d := cmp.Diff([]trace.Phase{
		{Name: a, BeginNS: 20, EndNS: 200},
		{Name: b, Depth: 1, BeginNS: 50, EndNS: 200, Unfinished: true},
		{Name: open, BeginNS: 510, EndNS: 610, Unfinished: true},
		{Name: a, Depth: 1, BeginNS: 540, EndNS: 560},
	}, main.Phases); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Phase{{Name: b, BeginNS: 300, EndNS: 1000}}, other.Phases); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Event{{Name: b, TimeNS: 310, Value: -5}}, main.Events); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Pause{{BeginNS: 110, EndNS: 500}}, main.Pauses); d != "" {
		t.Error(d)
	}
	// 10 to 100: 10 outside, 30 in a, 50 in b; 510 to 600: 70 in open, 20 in a.
	if d := cmp.Diff([]int32{1, 2}, main.Bursts.Phase); d != "" {
		t.Error(d)
	}
	if other.BeginNS != 300 || other.EndNS != 1000 || r.Run.DurationNS != 1000 || other.Calls.Len() != 0 {
		t.Errorf("the other thread: %+v; duration %d", other, r.Run.DurationNS)
	}
	m := r.Manifest
	m.Describe(r.Run)
	if d := cmp.Diff([]rundir.Phase{
		{Name: "b", Count: 2, Threads: 2, Seconds: 850e-9, Own: 850e-9, Computing: 50e-9, Unfinished: 1},
		{Name: "a", Count: 2, Threads: 1, Seconds: 200e-9, Own: 50e-9, Computing: 100e-9},
		{Name: "open", Count: 1, Threads: 1, Seconds: 100e-9, Own: 80e-9, Computing: 90e-9, Unfinished: 1},
	}, m.Phases); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]rundir.Event{{Name: "b", Count: 1, Min: -5, Max: -5, Mean: -5}}, m.Events); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(rundir.Paused{Calls: 33, Pauses: 1, Seconds: 390e-9}, m.Paused); d != "" {
		t.Error(d)
	}
	l := m.Losses
	if l.MarksNameless != 4 || l.MarksInsideCalls != 2 || l.PhaseEndsUnmatched != 1 || l.PhasesUnfinished != 2 {
		t.Errorf("losses %+v", l)
	}
}
