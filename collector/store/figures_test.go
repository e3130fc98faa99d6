package store

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
)

// Impossible figures are not stored: they are faults that name them, and the rest of the message counts.
func TestImpossibleFigures(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 3, 8))
	s.must(ring(11, 1))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 11, Dropped: math.MaxUint64, Abandoned: 5, Paused: 1 << 63}}})
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, CommsLost: math.MaxUint64 - 6, Late: 4}}})
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{
		Process: 1, How: moriensv1.ProcessEnd_HOW_FINALIZED, ThreadsFailed: math.MaxUint32, Fault: -7, Unrecorded: 1 << 60, PathsLost: 9,
	}}})
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{Resent: math.MaxUint64, SpoolFullDropped: math.MaxUint64, CpuNs: math.MaxUint64, PeakBytes: 7, Windows: &moriensv1.Windows{EvictedBytes: math.MaxUint64}}}})
	f := s.store.Freeze()
	if x := f.Totals; x.Dropped != 0 || x.Abandoned != 5 || x.Paused != 0 || x.Refused != 0 {
		t.Errorf("%+v", x)
	}
	p := f.Processes[0]
	if e := p.End; e.ThreadsFailed != 0 || e.Fault != 0 || e.Unrecorded != 0 || e.PathsLost != 9 {
		t.Errorf("%v", e)
	}
	if e := p.TransfersEnd; e.CommsLost != 0 || e.Late != 4 {
		t.Errorf("%v", e)
	}
	if d := f.Agents[0].Done; d.Resent != 0 || d.SpoolFullDropped != 0 || d.CpuNs != 0 || d.PeakBytes != 7 || d.Windows.EvictedBytes != 0 {
		t.Errorf("%v", d)
	}
	wrong := uint32(0)
	var said []string
	for _, fault := range f.Agents[0].Faults {
		wrong += fault.Figures
		said = append(said, fault.Corrupt)
		if of := strings.HasPrefix(fault.Corrupt, "the agent"); of != (fault.Rank == -1) || !of && fault.Rank != 3 {
			t.Errorf("%v", fault)
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"dropped is 18446744073709551615, paused is", "comms_lost is 18446744073709551609", "threads_failed is 4294967295", "fault is -7", "cpu_ns is"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if wrong != 10 {
		t.Errorf("%d figures:\n%s", wrong, all)
	}
}

// The figures of a run of years on a large machine are reported exactly.
func TestLargeFigures(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 0, 1))
	s.must(ring(11, 1))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 11, Dropped: maxCount}}})
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{CpuNs: 365 * 24 * 3600 * 1e9}}})
	f := s.store.Freeze()
	if f.Totals.Dropped != maxCount || f.Agents[0].Done.CpuNs == 0 || len(f.Agents[0].Faults) > 0 {
		t.Errorf("%+v, %v, %v", f.Totals, f.Agents[0].Done, f.Agents[0].Faults)
	}
}

// What an agent says of its spool goes past its messages, and is looked at all the same.
func TestImpossibleSpoolFigures(t *testing.T) {
	s := newStub(t)
	s.store.Spool(s.agent, &moriensv1.Spool{Full: true, FullNs: math.MaxUint64, Dropped: math.MaxUint64 - 4, Unkept: 1 << 63, UnkeptProcesses: 2})
	if x := s.store.Freeze().Agents[0].Spool; !x.Full || x.FullNs != 0 || x.Dropped != 0 || x.Unkept != 0 || x.UnkeptProcesses != 2 {
		t.Errorf("%v", x)
	}
}

// While the job runs, too, a rank is reported once, by whichever agents: of one that was started again, and of two
// witnesses of a node.
func TestUnrecordedOnce(t *testing.T) {
	s := newStub(t)
	file := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: 1, Errno: 28, Who: &moriensv1.Process{Rank: 1, Size: 2, Pid: 7}}}}
	s.must(file)
	s.must(proto.CloneOf(file))
	witness := &moriensv1.Fault{Rank: 0, Reason: "no spool", Who: &moriensv1.Process{Process: 9, Rank: 0, Size: 2, Pid: 6}}
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: witness}})
	agent, _, err := s.store.Greet(&moriensv1.Hello{Agent: 2, Host: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	other := &agentStub{t: t, store: s.store, agent: agent}
	other.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: witness}})
	ranks := 0
	for _, x := range s.store.Progress().Unrecorded {
		ranks += x.Ranks
	}
	if ranks != 2 {
		t.Errorf("%d ranks: %+v", ranks, s.store.Progress().Unrecorded)
	}
}
