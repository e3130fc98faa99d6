package agent

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	moriensv1 "moriens/proto/moriens/v1"
)

// Lines of an interpreter's program go with the call path, not to be looked up at the end; the next life of the agent
// knows those that were defined before.
func TestPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := ringwriter.New(dir, ringwriter.Identity{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Exit()
	step, main := w.Place("/home/jac.py", "Solver.step", 7), w.Place("/home/jac.py", "main", 20)
	w.Path(ringwriter.Frame{Place: step}, ringwriter.Frame{Place: main})
	path := filepath.Join(dir, w.FileName())
	process := func(c *moriensv1.ReportRequest) *moriensv1.CallPath { return c.GetCallPath() }
	line := func(function string, line uint32) *moriensv1.Frame {
		return &moriensv1.Frame{Function: function, File: "/home/jac.py", Line: line}
	}

	first, err := openAgent(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.process.Close()
	n := &Node{sources: make(sources)}
	defer n.sources.close()
	n.define(first)
	want := []*moriensv1.CallPath{{Process: w.ID(), Path: 1, Frames: []*moriensv1.Frame{line("Solver.step", 7), line("main", 20)}}}
	if d := cmp.Diff(want, all(first.out.messages, process), protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(n.sources) != 0 || len(n.out.node().Source) != 0 {
		t.Errorf("%v is to be looked up", n.sources)
	}

	next, err := openAgent(path)
	if err != nil {
		t.Fatal(err)
	}
	defer next.process.Close()
	next.relearn(first.process.LogRead())
	w.Path(ringwriter.Frame{Place: main})
	n.define(next)
	want = []*moriensv1.CallPath{{Process: w.ID(), Path: 2, Frames: []*moriensv1.Frame{line("main", 20)}}}
	if d := cmp.Diff(want, all(next.out.messages, process), protocmp.Transform()); d != "" {
		t.Errorf("the next life (-want +got):\n%s", d)
	}
}

func all[T any](messages []*moriensv1.ReportRequest, of func(*moriensv1.ReportRequest) T) (list []T) {
	for _, m := range messages {
		list = append(list, of(m))
	}
	return list
}

// Why it calls MPI directly is reported where it has not found MPI by dlopen.
func TestFaultOfDirect(t *testing.T) {
	got := faultOf(ring.Fault{Rank: 1, Size: 2, PID: 11, Past: "/lib/libmpi.so.40", Reason: "it calls PMPI_Init"}).GetFault()
	if got.Past != "/lib/libmpi.so.40" || got.Reason != "it calls PMPI_Init" || got.Errno != 0 {
		t.Errorf("%v", got)
	}
}

// A rank that has called MPI past us is reported as one that goes unrecorded, with the library.
func TestFaultOfPast(t *testing.T) {
	got := faultOf(ring.Fault{Name: "past-1-2-11", Rank: 1, Size: 2, PID: 11, Past: "/lib/libmpi.so.40"}).GetFault()
	want := &moriensv1.Fault{Rank: 1, Past: "/lib/libmpi.so.40", Who: &moriensv1.Process{Rank: 1, Size: 2, Pid: 11}}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}
