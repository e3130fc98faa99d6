package tracetest

import (
	"time"

	"moriens/trace"
)

// Small is a run of two worlds on two nodes that holds one of everything: all labels, a missing counter, a burst and a
// call of zero length, an unfinished call, a rank without records, a second thread, a message, communicators, phases,
// events, a pause.
func Small() *trace.Run {
	frame := func(offset uint64) []trace.Frame {
		inner := trace.Frame{Module: "app", BuildID: "8f3c", Offset: offset}
		switch offset {
		case 0x1f3c, 0x1f80:
			inner.Function, inner.File, inner.Line = "Halo::exchange", "/src/halo.cc", 42
			inner.FirstFile, inner.FirstLine = "/src/halo.cc", 40
			if offset == 0x1f80 {
				inner.Inlined = []trace.Scope{
					{Function: "main", File: "/src/main.cc", Line: 7, FirstFile: "/src/main.cc", FirstLine: 3},
					{Function: "Solver<int>::step", File: "/src/solver.h", Line: 90, FirstFile: "/src/solver.h", FirstLine: 81},
				}
			}
		case 0x2000:
			inner.Function = "norm"
		}
		return []trace.Frame{inner, {Module: "libc.so.6", BuildID: "01ab", Offset: 0x2724a}}
	}
	run := &trace.Run{
		Start:      time.Date(2026, 3, 4, 15, 6, 0, 0, time.UTC),
		DurationNS: 20_000_000,
		Nodes:      []trace.Node{{Name: "alpha", CPUs: 2}, {Name: "beta", CPUs: 4}},
		Worlds: []trace.World{
			{Executable: "/opt/app", MPILibrary: "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Size: 2},
			{Executable: "/opt/post", MPILibrary: "MPICH Version:\t4.0.2\nMPICH Release date:\t2022", Size: 3},
		},
		CallPaths: []trace.CallPath{
			{}, {Function: "MPI_Init"}, {Function: "MPI_Send", Frames: frame(0x1f3c)}, {Function: "MPI_Recv", Frames: frame(0x1f80)},
			{Function: "MPI_Allreduce", Frames: frame(0x2000)}, {Function: "MPI_Finalize"}, {Function: "MPIX_Comm_revoke", Frames: frame(0x2100)},
		},
		Counters: []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "hw::L3:MISS", Unit: ""}},
		Clusters: []trace.Cluster{{ID: 1, Eps: .1, MinPts: 4}, {ID: 2, Rare: true}},
	}
	const n = trace.NoCount
	run.Threads = []trace.Thread{
		{
			World: 0, Rank: 0, BeginNS: 1_000, EndNS: 9_000_000,
			Calls: trace.Calls{
				EnterNS: []int64{1_000, 2_000_000, 5_000_000, 5_000_000, 8_000_000},
				ExitNS:  []int64{500_000, 2_100_000, 5_000_000, 5_300_000, 9_000_000},
				Path:    []uint32{1, 2, 4, 3, 5},
			},
			Bursts: trace.Bursts{
				StartNS:    []int64{500_000, 2_100_000, 5_000_000, 5_300_000},
				DurationNS: []int64{1_500_000, 2_900_000, 0, 2_700_000},
				Before:     []uint32{1, 2, 4, 3}, After: []uint32{2, 4, 3, 5},
				Cluster:  []int32{trace.LabelNoise, 1, trace.LabelFiltered, 1},
				Counters: [][]int64{{1_000_000, 9_000_000, 0, 8_500_000}, {10, 20, 0, 30}},
			},
		},
		{
			World: 0, Rank: 1, Node: 1, BeginNS: 2_000, EndNS: 9_100_000,
			Calls: trace.Calls{
				EnterNS: []int64{2_000, 1_900_000, 9_000_000},
				ExitNS:  []int64{510_000, 2_150_000, 9_100_000},
				Path:    []uint32{1, 3, 6}, Unfinished: true,
			},
			Bursts: trace.Bursts{
				StartNS:    []int64{510_000, 2_150_000},
				DurationNS: []int64{1_390_000, 6_850_000},
				Before:     []uint32{1, 3}, After: []uint32{3, 6},
				Cluster:  []int32{trace.LabelMissing, 2},
				Counters: [][]int64{{n, 20_000_000}, {n, 7}},
			},
		},
		{
			World: 0, Rank: 1, Thread: 1, Node: 1, BeginNS: 3_000_000, EndNS: 4_000_000,
			Calls:  trace.Calls{EnterNS: []int64{3_000_000}, ExitNS: []int64{4_000_000}, Path: []uint32{4}},
			Bursts: trace.Bursts{Counters: make([][]int64, 2)},
		},
		{
			World: 1, Rank: 2, Node: 0, BeginNS: 12_000_000, EndNS: 19_000_000,
			Calls: trace.Calls{
				EnterNS: []int64{12_000_000, 16_000_000}, ExitNS: []int64{13_000_000, 19_000_000}, Path: []uint32{1, 5},
			},
			Bursts: trace.Bursts{
				StartNS: []int64{13_000_000}, DurationNS: []int64{3_000_000}, Before: []uint32{1}, After: []uint32{5},
				Cluster: []int32{1}, Counters: [][]int64{{9_100_000}, {25}},
			},
		},
	}
	run.Messages = []trace.Message{{
		From: 0, To: 1, SendNS: 2_000_000, PhysicalSendNS: 2_000_000, RecvNS: 1_900_000, PhysicalRecvNS: 2_150_000, Bytes: 4096, Tag: -7,
	}}
	run.Communicators = []trace.Communicator{{World: 0, ID: 1, Ranks: []int{0, 1}}, {World: 1, ID: 2, Inter: true}}
	run.MarkNames = []string{"?", "solve", "halo \"x\"\n→", "residual"}
	run.Threads[0].Phases = []trace.Phase{
		{Name: 1, BeginNS: 600_000, EndNS: 8_500_000},
		{Name: 2, Depth: 1, BeginNS: 1_900_000, EndNS: 5_000_000},
		{Name: 2, Depth: 1, BeginNS: 5_000_000, EndNS: 5_000_000},
	}
	run.Threads[0].Events = []trace.Event{{Name: 3, TimeNS: 4_000_000, Value: -12}, {Name: 3, TimeNS: 8_200_000, Value: 1 << 40}}
	run.Threads[1].Phases = []trace.Phase{{Name: 1, BeginNS: 700_000, EndNS: 9_100_000, Unfinished: true}}
	run.Threads[2].Pauses = []trace.Pause{{BeginNS: 4_000_000, EndNS: 4_900_000}}
	run.Threads[2].Events = []trace.Event{{TimeNS: 4_900_000, Value: 7}} // its name was lost
	run.Threads[2].EndNS = 4_900_000
	for i := range run.Threads {
		run.Threads[i].LocatePhases()
	}
	run.SummariseClusters()
	return run
}
