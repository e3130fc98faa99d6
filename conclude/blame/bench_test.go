package blame

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"moriens/internal/team"
	"moriens/trace"
)

// loops makes a run of ranks that repeat: a burst and a call, MPI_Allreduce in every so many-th round.
func loops(ranks, calls, every int) *trace.Run {
	random := rand.New(rand.NewPCG(1, 2))
	run := &trace.Run{
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Comm_rank"}, {Function: "MPI_Allreduce"}}, Worlds: []trace.World{{Size: ranks}}, Nodes: []trace.Node{{Name: "a"}},
		Communicators: []trace.Communicator{{ID: 1}}, Threads: make([]trace.Thread, ranks),
	}
	for id := int32(1); id <= 8; id++ {
		run.Clusters = append(run.Clusters, trace.Cluster{ID: id})
	}
	now := make([]int64, ranks)
	for r := range ranks {
		run.Communicators[0].Ranks = append(run.Communicators[0].Ranks, r)
		t := &run.Threads[r]
		t.Rank = r
		t.Calls = trace.Calls{EnterNS: make([]int64, calls), ExitNS: make([]int64, calls), Path: make([]uint32, calls)}
		t.Bursts = trace.Bursts{StartNS: make([]int64, calls), DurationNS: make([]int64, calls), Cluster: make([]int32, calls)}
	}
	for k := range calls {
		latest := int64(0)
		together := (k+1)%every == 0
		for r := range ranks {
			t := &run.Threads[r]
			ns := 900 + int64(random.Uint32N(200))
			t.Bursts.StartNS[k], t.Bursts.DurationNS[k], t.Bursts.Cluster[k] = now[r], ns, int32(1+k%8)
			now[r] += ns
			t.Calls.EnterNS[k], t.Calls.Path[k] = now[r], 1
			latest = max(latest, now[r])
			if !together {
				now[r] += 100
				t.Calls.ExitNS[k] = now[r]
			}
		}
		for r := 0; together && r < ranks; r++ {
			t := &run.Threads[r]
			c := &t.Collectives
			now[r] = latest + 50
			t.Calls.ExitNS[k], t.Calls.Path[k] = now[r], 2
			c.Call, c.Comm, c.Ordinal = append(c.Call, uint32(k)), append(c.Comm, 0), append(c.Ordinal, int64(k/every))
			c.Sent, c.Received, c.Root = append(c.Sent, 8), append(c.Received, 8), append(c.Root, -1)
		}
	}
	for r := range ranks {
		run.Threads[r].EndNS = now[r]
		run.DurationNS = max(run.DurationNS, now[r])
	}
	return run
}

// What the end of a run of 10⁷ calls takes more.
func BenchmarkEnd(b *testing.B) {
	for _, x := range []struct{ ranks, calls, every int }{{2, 5_000_000, 10}, {1000, 10_000, 10}, {10_000, 1000, 10}, {1000, 10_000, 2}} {
		run := loops(x.ranks, x.calls, x.every)
		b.Run(fmt.Sprintf("%dranks/every%d", x.ranks, x.every), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := Measure(run, team.Threads{}, Options{Workers: 2})
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := found.Describe(run, team.Threads{}); err != nil {
					b.Fatal(err)
				}
				found.Apply(run)
			}
			b.ReportMetric(float64(x.ranks*x.calls)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcalls/s")
		})
	}
}
