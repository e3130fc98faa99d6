package rebuild

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section/sectiontest"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

type feeder = agenttest.Feeder

// rebuiltAll makes one process's trace of what arrived, however long it takes.
func rebuiltAll(t interface {
	fatal
	Context() context.Context
}, f store.Frozen) (*Rebuilt, matched) {
	r, m, err := rebuild(t.Context(), unpack(f, team.Solo{}, 2))
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

// Two ticks a nanosecond; the rank makes Init, Send, (calls lost), Recv, and dies in Barrier.
func TestRebuild(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(2000, 1000)
	f.Process(&moriensv1.Process{Process: 1, Rank: 1, Size: 2, World: "w", Executable: "/opt/app", MpiLibrary: "Open MPI v4.1.4, package", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	init, send, recv, barrier := agenttest.Call(t, "MPI_Init"), agenttest.Call(t, "MPI_Send"), agenttest.Call(t, "MPI_Recv"), agenttest.Call(t, "MPI_Barrier")
	f.Rows(&sectiontest.Rows{
		Ring: 11, Origin: 4000, Burst: []uint64{0, 100}, Call: []uint64{50, 20},
		Function: []uint32{init, send}, Path: []uint32{0, 0}, NoBurst: []uint32{0},
	})
	f.Rows(&sectiontest.Rows{
		Ring: 11, First: 2, Origin: 4170, Burst: []uint64{1000, 30}, Call: []uint64{10, 0},
		Function: []uint32{recv, barrier}, Path: []uint32{0, 0}, NoBurst: []uint32{0}, Unfinished: true,
	})
	f.Clock(20_000_002_000, 10_000_001_000)
	f.End(1, moriensv1.ProcessEnd_HOW_DIED)

	r, _ := rebuiltAll(t, s.Freeze())
	want := []trace.Thread{{
		World: 0, Rank: 1, BeginNS: 0, EndNS: 605,
		Calls: trace.Calls{
			EnterNS: []int64{0, 75, 585, 605}, ExitNS: []int64{25, 85, 590, 605}, Path: []uint32{2, 4, 3, 1}, Unfinished: true,
		},
		Bursts: trace.Bursts{
			StartNS: []int64{25, 590}, DurationNS: []int64{50, 15}, Before: []uint32{2, 3}, After: []uint32{4, 1},
		},
		Lost: []trace.Span{{BeginNS: 85, EndNS: 585, Window: -1}},
	}}
	if d := cmp.Diff(want, r.Run.Threads); d != "" {
		t.Errorf("threads differ (-want +got):\n%s", d)
	}
	if r.Run.Start.UnixNano() != 1_002_000 || r.Run.DurationNS != 605 {
		t.Errorf("start %d, duration %d", r.Run.Start.UnixNano(), r.Run.DurationNS)
	}
	if d := cmp.Diff([]trace.World{{Executable: "/opt/app", MPILibrary: "Open MPI v4.1.4, package", Size: 2}}, r.Run.Worlds); d != "" {
		t.Errorf("worlds differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]trace.Node{{Name: "n1", CPUs: 4}}, r.Run.Nodes); d != "" {
		t.Errorf("nodes differ (-want +got):\n%s", d)
	}
}
