package store

import (
	"testing"

	moriensv1 "moriens/proto/moriens/v1"
)

func scheduled(m *moriensv1.Scheduling) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: m}}
}

func ofProcess(process, run, wait, voluntary, involuntary uint64) *moriensv1.ReportRequest {
	return scheduled(&moriensv1.Scheduling{
		Process: []uint64{process}, RunNs: []uint64{run}, WaitNs: []uint64{wait}, Voluntary: []uint64{voluntary}, Involuntary: []uint64{involuntary},
	})
}

// Of a process the last report counts; of a node's cores what was measured between the first time and the last, over
// the restarts of the agent.
func TestScheduling(t *testing.T) {
	s := newStub(t)
	if _, known := s.agent.Scheduling(); known {
		t.Error("figures that were never reported")
	}
	s.must(process(1, 0, 2))
	s.must(ofProcess(1, 100, 10, 1, 2))
	s.must(scheduled(&moriensv1.Scheduling{Cores: 4, AtOnce: 2, BusyNs: 5000, StealNs: 70}))
	s.must(ofProcess(1, 300, 50, 3, 4))
	s.must(scheduled(&moriensv1.Scheduling{Cores: 2, AtOnce: 1, BusyNs: 9000, StealNs: 80})) // of the next life
	for name, m := range map[string]*moriensv1.ReportRequest{
		"unknown process":          ofProcess(2, 1, 1, 1, 1),
		"a time of centuries":      ofProcess(1, 1<<63, 1, 1, 1),
		"switches without end":     ofProcess(1, 1, 1, 1<<60, 1),
		"columns of two lengths":   scheduled(&moriensv1.Scheduling{Process: []uint64{1}, RunNs: []uint64{1}, WaitNs: []uint64{1}, Voluntary: []uint64{1}}),
		"cores busy for centuries": scheduled(&moriensv1.Scheduling{BusyNs: 1 << 63}),
	} {
		if s.apply(m) == nil {
			t.Errorf("%s passed", name)
		}
	}
	// Of several collectors each has the same.
	other := New()
	inStore(t, other, 9, "n2", process(5, 1, 2))
	all, err := shareAll(s.store, other)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, a := range f.Agents {
			n, known := a.Scheduling()
			if known != (a.Hello.Host == "n1") || known && n != (NodeScheduling{Cores: 4, AtOnce: 2, BusyNS: 4000, StealNS: 10}) {
				t.Errorf("%s: %+v, %v", a.Hello.Host, n, known)
			}
		}
		for _, p := range f.Processes {
			if x := p.Scheduling; p.Info.Process == 1 && *x != (Scheduling{300, 50, 3, 4}) || p.Info.Process == 5 && x != nil {
				t.Errorf("process %d: %+v", p.Info.Process, x)
			}
		}
	}
}
