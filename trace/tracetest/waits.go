package tracetest

import (
	"pgregory.net/rapid"

	"moriens/trace"
)

// Waiting is a run of two worlds in which calls wait in every way, for threads of both worlds and for none that is in
// the run: until their end, until before it, in the last call, which is unfinished, and in two calls that touch. Its
// critical path goes over all threads, and begins on one before that does. World 0 has a rank without records and one
// with a second thread.
func Waiting() *trace.Run {
	run := &trace.Run{
		DurationNS: 1_200,
		Nodes:      []trace.Node{{Name: "alpha", CPUs: 4}},
		Worlds:     []trace.World{{Executable: "/opt/app", Size: 3}, {Executable: "/opt/post", Size: 2}},
		CallPaths: []trace.CallPath{
			{}, {Function: "MPI_Init"}, {Function: "MPI_Recv"}, {Function: "MPI_Send"}, {Function: "MPI_Barrier"}, {Function: "MPI_Allreduce"},
			{Function: "MPI_Bcast"}, {Function: "MPI_Reduce"}, {Function: "MPI_Scan"}, {Function: "MPI_Win_fence"}, {Function: "MPI_Finalize"},
		},
	}
	run.Threads = []trace.Thread{
		{
			BeginNS: 10, EndNS: 1_000,
			Calls: trace.Calls{
				EnterNS: []int64{10, 200, 400, 450, 700, 900}, ExitNS: []int64{100, 300, 450, 600, 700, 1_000}, Path: []uint32{1, 2, 2, 3, 6, 10},
			},
			Bursts: trace.Bursts{
				StartNS: []int64{100, 300, 600, 700}, DurationNS: []int64{100, 100, 100, 200}, Before: []uint32{1, 2, 3, 6}, After: []uint32{2, 2, 6, 10}, Cluster: []int32{1, 1, 2, 1},
			},
			Waits: trace.Waits{
				Call: []uint32{0, 1, 2, 3, 5}, Kind: []trace.WaitKind{trace.AtStart, trace.LateSender, trace.WrongOrder, trace.LateReceiver, trace.AtEnd},
				UntilNS: []int64{60, 300, 450, 451, 1_000}, For: []int32{3, 1, 1, 2, 4},
			},
			Critical: []trace.Stretch{{BeginNS: 60, EndNS: 100}, {BeginNS: 300, EndNS: 440}},
		},
		{
			Rank: 1, BeginNS: 20, EndNS: 980,
			Calls: trace.Calls{EnterNS: []int64{20, 300, 500, 800}, ExitNS: []int64{110, 420, 620, 980}, Path: []uint32{4, 5, 6, 7}, Unfinished: true},
			Bursts: trace.Bursts{
				StartNS: []int64{110, 420, 620}, DurationNS: []int64{190, 80, 180}, Before: []uint32{4, 5, 6}, After: []uint32{5, 6, 7}, Cluster: []int32{1, 2, 1},
			},
			Waits: trace.Waits{
				Call: []uint32{0, 1, 2, 3}, Kind: []trace.WaitKind{trace.AtBarrier, trace.AtNToN, trace.LateBroadcast, trace.EarlyReduce},
				UntilNS: []int64{110, 360, 501, 980}, For: []int32{0, 3, 0, -1},
			},
			Critical: []trace.Stretch{{BeginNS: 100, EndNS: 300}},
		},
		{
			Rank: 1, Thread: 1, BeginNS: 440, EndNS: 460,
			Calls:    trace.Calls{EnterNS: []int64{440}, ExitNS: []int64{460}, Path: []uint32{3}},
			Critical: []trace.Stretch{{BeginNS: 440, EndNS: 451}},
		},
		{
			World: 1, BeginNS: 30, EndNS: 720,
			Calls: trace.Calls{EnterNS: []int64{30, 600}, ExitNS: []int64{90, 720}, Path: []uint32{1, 8}},
			Bursts: trace.Bursts{
				StartNS: []int64{90}, DurationNS: []int64{510}, Before: []uint32{1}, After: []uint32{8}, Cluster: []int32{2},
			},
			Waits:    trace.Waits{Call: []uint32{1}, Kind: []trace.WaitKind{trace.AtScan}, UntilNS: []int64{719}, For: []int32{4}},
			Critical: []trace.Stretch{{BeginNS: 0, EndNS: 60}},
		},
		{
			World: 1, Rank: 1, BeginNS: 400, EndNS: 1_200,
			Calls: trace.Calls{EnterNS: []int64{400, 1_100}, ExitNS: []int64{719, 1_200}, Path: []uint32{9, 10}},
			Bursts: trace.Bursts{
				StartNS: []int64{719}, DurationNS: []int64{381}, Before: []uint32{9}, After: []uint32{10}, Cluster: []int32{1},
			},
			Waits:    trace.Waits{Call: []uint32{0}, Kind: []trace.WaitKind{trace.AtWindow}, UntilNS: []int64{700}, For: []int32{3}},
			Critical: []trace.Stretch{{BeginNS: 451, EndNS: 1_200}},
		},
	}
	run.SummariseClusters()
	return run
}

// WaitingWindows is Waiting with parts of two threads kept, which cut the critical path and drop some of the waits.
func WaitingWindows() *trace.Run {
	run := Waiting()
	run.Windows = []trace.Window{
		{BeginNS: 200, EndNS: 600, Threads: []int{0, 1}, Phase: 0, Why: trace.Representative, Reason: "iteration 2"},
		{BeginNS: 450, EndNS: 1_000, Threads: []int{0}, Phase: -1, Why: trace.Anomaly, Reason: "rank 0"},
	}
	run.Threads[0].Kept = []trace.Span{{BeginNS: 200, EndNS: 400}, {BeginNS: 450, EndNS: 1_000, Window: 1}}
	run.Threads[1].Kept = []trace.Span{{BeginNS: 110, EndNS: 420}}
	for i := range run.Threads {
		keepCalls(&run.Threads[i])
		keepBursts(&run.Threads[i])
		keepCritical(&run.Threads[i])
	}
	run.SummariseClusters()
	return run
}

// waits draws what calls waited for, and a critical path: on threads that call MPI, from before they do on.
func waits(t *rapid.T, run *trace.Run) {
	for i := range run.Threads {
		th := &run.Threads[i]
		w := &th.Waits
		for call, enter := range th.Calls.EnterNS {
			exit := th.Calls.ExitNS[call]
			if exit == enter || rapid.Bool().Draw(t, "waits") {
				continue
			}
			w.Call = append(w.Call, uint32(call))
			w.Kind = append(w.Kind, trace.WaitKind(rapid.IntRange(1, trace.WaitKinds-1).Draw(t, "wait")))
			w.UntilNS = append(w.UntilNS, rapid.OneOf(rapid.Just(exit), rapid.Int64Range(enter+1, exit)).Draw(t, "until"))
			w.For = append(w.For, int32(rapid.IntRange(-1, len(run.Threads)-1).Draw(t, "for")))
		}
		if th.Calls.Len() == 0 {
			continue
		}
		for at := int64(0); at < th.EndNS && rapid.Bool().Draw(t, "critical"); {
			begin := rapid.Int64Range(at, th.EndNS-1).Draw(t, "path comes")
			end := rapid.Int64Range(begin+1, th.EndNS).Draw(t, "path leaves")
			th.Critical = append(th.Critical, trace.Stretch{BeginNS: begin, EndNS: end})
			at = end + 1
		}
	}
}

// keepCritical leaves of the critical path what lies in spans of the thread.
func keepCritical(th *trace.Thread) {
	var list []trace.Stretch
	for _, c := range th.Critical {
		var parts []trace.Stretch
		for _, s := range th.Kept {
			x := trace.Stretch{BeginNS: max(c.BeginNS, s.BeginNS), EndNS: min(c.EndNS, s.EndNS)}
			if n := len(parts); n > 0 && parts[n-1].EndNS == x.BeginNS && x.BeginNS < x.EndNS {
				parts[n-1].EndNS = x.EndNS
			} else if x.BeginNS < x.EndNS {
				parts = append(parts, x)
			}
		}
		list = append(list, parts...)
	}
	th.Critical = list
}
