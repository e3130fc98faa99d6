package tracetest

import (
	"math"

	"moriens/trace"
)

// Planted is Small with what formats stumble over: names in other scripts, with commas, quotes and tabs; times beyond
// 2^53, counts at the ends of int64; messages between threads, ranks and worlds, the largest and the emptiest;
// one-sided and file transfers; a long run of polls; a communicator of each kind.
func Planted() *trace.Run {
	run := Small()
	run.Nodes[0].Name, run.Nodes[1].Name = "höst-α,1", `be"ta`
	run.Worlds[0].Executable, run.Worlds[1].Executable = "/opt/анализ, v2/app"+trace.ProgramSeparator+"/opt/計算", "/opt/\"post\""
	run.MarkNames[1], run.MarkNames[3] = "løse\t大", "résidu, π"
	run.CallPaths[4].Frames[0].Function = "Σ<λ>::norm, twice"
	run.CallPaths[2].Frames[0].File = "/src/größe, 1.cc"
	const far = 1<<53 + 1
	t := &run.Threads[3]
	t.BeginNS, t.EndNS = t.BeginNS+far, t.EndNS+far
	for i := range t.Calls.EnterNS {
		t.Calls.EnterNS[i] += far
		t.Calls.ExitNS[i] += far
	}
	t.Bursts.StartNS[0] += far
	run.DurationNS = t.EndNS + 1
	t.Bursts.Counters[0][0], t.Bursts.Counters[1][0] = math.MaxInt64, math.MinInt64+1
	run.Messages = append(run.Messages,
		trace.Message{From: 2, To: 1, SendNS: 3_000_000, PhysicalSendNS: 3_500_000, RecvNS: 9_000_000, PhysicalRecvNS: 9_100_000, Bytes: math.MaxInt64, Tag: math.MaxInt32},
		trace.Message{From: 0, To: 3, SendNS: 5_000_000, PhysicalSendNS: 5_000_000, RecvNS: far + 12_000_000, PhysicalRecvNS: far + 13_000_000},
		trace.Message{From: 3, To: 3, SendNS: far + 14_000_000, PhysicalSendNS: far + 14_000_000, RecvNS: far + 14_500_000, PhysicalRecvNS: far + 14_500_001, Bytes: 1},
	)
	run.Communicators = append(run.Communicators,
		trace.Communicator{World: 0, ID: 3, Window: true, Ranks: []int{0, 1}}, trace.Communicator{World: 0, ID: 4, File: true, Ranks: []int{1}},
		trace.Communicator{World: 1, ID: 5, Ranks: []int{2, 0, 1}},
	)
	run.Threads[0].Collectives = trace.Collectives{
		Call: []uint32{2}, Comm: []int32{0}, Ordinal: []int64{0}, Sent: []int64{1 << 60}, Received: []int64{8}, Root: []int32{0},
	}
	run.Threads[2].Collectives = trace.Collectives{
		Call: []uint32{0}, Comm: []int32{2}, Ordinal: []int64{0}, Sent: []int64{8}, Received: []int64{8}, Root: []int32{-1},
	}
	run.Threads[0].Transfers = trace.Transfers{
		Call: []uint32{1, 3, 3, 4}, Kind: []trace.TransferKind{trace.Sent, trace.Received, trace.Put, trace.Written}, Peer: []int32{1, 1, 2, -1},
		PeerWorld: []int32{0, 0, 1, 0}, Tag: []int32{math.MaxInt32, 8, -1, -1}, Comm: []int32{0, 0, 2, 3}, Bytes: []int64{4096, 10, math.MaxInt64, 0}, Done: []int32{1, 3, -1, 4},
	}
	run.Threads[2].Calls.Count = []int64{1 << 40}
	run.SummariseClusters()
	return run
}

// PlantedWindows is Planted with the middle of two threads kept, in two windows, and the rest dropped.
func PlantedWindows() *trace.Run {
	run := Planted()
	run.Windows = []trace.Window{
		{BeginNS: 2_000_000, EndNS: 5_300_000, Threads: []int{0}, Phase: 1, Why: trace.Representative, Reason: "iterations 412-413 of phase 1: nearest its median (1.003 of the median time)"},
		{BeginNS: 1_900_000, EndNS: 9_100_000, Threads: []int{0, 1}, Phase: -1, Why: trace.Outlier, Reason: "rank 1, «slow»: 2,3 × its class"},
	}
	t := &run.Threads[0]
	t.Kept = []trace.Span{{BeginNS: 2_000_000, EndNS: 5_300_000}, {BeginNS: 8_000_000, EndNS: 9_000_000, Window: 1}}
	keepCalls(t)
	keepBursts(t)
	t = &run.Threads[1]
	t.Kept = []trace.Span{{BeginNS: 1_900_000, EndNS: 9_100_000, Window: 1}}
	keepCalls(t)
	keepBursts(t)
	for i := 2; i < len(run.Threads); i++ {
		keepCalls(&run.Threads[i])
		keepBursts(&run.Threads[i])
	}
	run.Messages = run.Messages[:1]
	for i := range run.Threads {
		run.Threads[i].LocatePhases()
	}
	return run
}
