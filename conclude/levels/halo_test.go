package levels

import (
	"math/rand/v2"

	"moriens/analysis/period"
	"moriens/trace"
)

// halo is a run of ranks that exchange halos, compute twice and reduce, so many iterations, with an output at the end;
// rank slow takes a third more in cluster 1. Times vary by a hundredth; noise of a thousand bursts are in no cluster.
func halo(ranks, iterations, slow, noise int) *trace.Run {
	run := &trace.Run{
		Worlds:    []trace.World{{Executable: "/opt/halo", Size: ranks}},
		Nodes:     []trace.Node{{Name: "alpha", CPUs: ranks}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Init"}, {Function: "MPI_Sendrecv"}, {Function: "MPI_Allreduce"}, {Function: "MPI_File_write"}, {Function: "MPI_Finalize"}},
		Counters:  []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "PAPI_TOT_CYC", Unit: "cycles"}},
		MarkNames: []string{"?", "steps"},
		Communicators: []trace.Communicator{
			{ID: 1},
		},
	}
	for r := range ranks {
		run.Communicators[0].Ranks = append(run.Communicators[0].Ranks, r)
	}
	for r := range ranks {
		random := rand.New(rand.NewPCG(1, uint64(r)))
		t := trace.Thread{Rank: r}
		t.Bursts.Counters = make([][]int64, 2)
		now, last := int64(0), uint32(0)
		call := func(path uint32, ns int64) {
			t.Calls.EnterNS, t.Calls.ExitNS, t.Calls.Path = append(t.Calls.EnterNS, now), append(t.Calls.ExitNS, now+ns), append(t.Calls.Path, path)
			if path == 3 {
				c := &t.Collectives
				c.Ordinal = append(c.Ordinal, int64(len(c.Call)))
				c.Call, c.Comm, c.Root = append(c.Call, uint32(len(t.Calls.Path)-1)), append(c.Comm, 0), append(c.Root, -1)
				c.Sent, c.Received = append(c.Sent, 8), append(c.Received, 8)
			}
			if path == 2 {
				x := &t.Transfers
				x.Call, x.Kind = append(x.Call, uint32(len(t.Calls.Path)-1)), append(x.Kind, trace.Sent)
				x.Peer, x.Tag, x.Comm, x.Bytes, x.Done = append(x.Peer, 0), append(x.Tag, 0), append(x.Comm, 0), append(x.Bytes, 4096), append(x.Done, -1)
			}
			now += ns
			last = path
		}
		burst := func(cluster int32, after uint32, ns int64) {
			ns += ns * (random.Int64N(201) - 100) / 10_000
			if noise > 0 && random.IntN(1000) < noise {
				cluster = trace.LabelNoise
			}
			b := &t.Bursts
			b.StartNS, b.DurationNS = append(b.StartNS, now), append(b.DurationNS, ns)
			b.Before, b.After, b.Cluster = append(b.Before, last), append(b.After, after), append(b.Cluster, cluster)
			b.Counters[0], b.Counters[1] = append(b.Counters[0], 2*ns), append(b.Counters[1], 3*ns)
			now += ns
		}
		call(1, 1000)
		burst(3, 2, 5_000_000)
		begin := now
		for range iterations {
			call(2, 20_000)
			ns := int64(1_000_000)
			if r == slow {
				ns += ns / 3
			}
			burst(1, 3, ns)
			call(3, 30_000)
			burst(2, 2, 200_000)
		}
		t.Phases = []trace.Phase{{Name: 1, BeginNS: begin, EndNS: now}}
		call(4, 100_000)
		burst(4, 5, 1_000_000)
		call(5, 1000)
		t.EndNS = now
		t.LocatePhases()
		run.Threads = append(run.Threads, t)
		run.DurationNS = max(run.DurationNS, now)
	}
	run.SummariseClusters()
	return run
}

// periodsOf finds the iterations of a run.
func periodsOf(t fataler, run *trace.Run, table *Table) []period.Phase {
	threads := make([]period.Thread, len(run.Threads))
	for i := range run.Threads {
		th := &run.Threads[i]
		threads[i] = period.Thread{Symbols: table.Threads[i], BeginNS: th.Bursts.StartNS, DurationNS: th.Bursts.DurationNS}
		burst := 0
		for _, call := range th.Collectives.Call {
			for burst < th.Bursts.Len() && th.Bursts.StartNS[burst]+th.Bursts.DurationNS[burst] <= th.Calls.EnterNS[call] {
				burst++
			}
			threads[i].Anchors = append(threads[i].Anchors, int32(burst))
		}
	}
	r, err := period.Find(threads, period.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Phases
}
