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

// A run has what machine code says of the calls on its call paths, though the node has reported others.
func TestCodeOfRun(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(2000, 1000)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Executable: "/opt/app", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
		Process: 1, Path: 1, Frames: []*moriensv1.Frame{{Module: "/opt/app", BuildId: []byte{1}, Offset: 20}},
	}}})
	f.Rows(&sectiontest.Rows{
		Ring: 11, Origin: 4000, Burst: []uint64{0, 100}, Call: []uint64{50, 20},
		Function: []uint32{agenttest.Call(t, "MPI_Init"), agenttest.Call(t, "MPI_Send")}, Path: []uint32{0, 1}, NoBurst: []uint32{0},
	})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Code{Code: &moriensv1.Code{Module: "/opt/app", BuildId: []byte{1}, Functions: []*moriensv1.CodeFunction{
		{
			Entry: 8, Loops: []*moriensv1.CodeLoop{{}, {Line: 3}}, Sites: []*moriensv1.CodeSite{{Offset: 16, Loop: 1}, {Offset: 20, Loop: 2}},
			Follows: [][]byte{{0b1011}, {0}, {0}},
		},
		{Entry: 64, Sites: []*moriensv1.CodeSite{{Offset: 80}}, Follows: [][]byte{{0}}},
	}}}})
	f.Clock(20_000_002_000, 10_000_001_000)
	f.End(1, moriensv1.ProcessEnd_HOW_FINALIZED)
	r, _ := rebuiltAll(t, s.Freeze())
	want := []trace.CodeFunction{{
		Module: "app", BuildID: "01", Entry: 8, Loops: []trace.CodeLoop{{Parent: -1, Line: 3}},
		Sites: []trace.CodeSite{{Offset: 20}}, Follows: [][]byte{{1}, {0}},
	}}
	if d := cmp.Diff(want, r.Run.Code); d != "" {
		t.Error(d)
	}
}
