package waits

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"moriens/internal/team"
)

// loops makes a run of ranks that each repeat: a burst, a local call, a burst, and a collective in every so many-th
// round, else another local call. The collectives, one after the other, are MPI_Allreduce, MPI_Reduce or MPI_Bcast
// with rank 0 as their root, or with each in turn.
func loops(collectives []string, turns bool, ranks, calls, every int) *Run {
	random := rand.New(rand.NewPCG(1, 2))
	run := &Run{Functions: append([]string{"MPI_Comm_rank", "MPI_Iprobe_"}, collectives...), Clusters: 8, Comms: []Comm{{}}, Workers: 2}
	now := make([]int64, ranks)
	run.Threads = make([]Thread, ranks)
	for r := range ranks {
		run.Comms[0].Ranks = append(run.Comms[0].Ranks, int32(r))
		t := &run.Threads[r]
		t.Rank = int32(r)
		t.EnterNS, t.ExitNS, t.Path = make([]int64, calls), make([]int64, calls), make([]uint32, calls)
		t.StartNS, t.DurationNS, t.Cluster = make([]int64, calls), make([]int64, calls), make([]int32, calls)
	}
	ordinal := int64(0)
	for k := range calls {
		together := (k+1)%every == 0
		which := int(ordinal) % len(collectives)
		collective, latest := collectives[which], int64(0)
		for r := range ranks {
			t := &run.Threads[r]
			ns := 900 + int64(random.Uint32N(200))
			t.StartNS[k], t.DurationNS[k], t.Cluster[k] = now[r], ns, int32(1+k%8)
			now[r] += ns
			t.EnterNS[k] = now[r]
			t.Path[k] = uint32(k % 2)
			if together {
				t.Path[k] = uint32(2 + which)
				latest = max(latest, now[r])
			} else {
				now[r] += 100
				t.ExitNS[k] = now[r]
			}
		}
		for r := 0; together && r < ranks; r++ {
			t := &run.Threads[r]
			c := &t.Collectives
			sent, received, root := int64(8), int64(8), 0
			if turns {
				root = int(ordinal) * 7 % ranks
			}
			switch {
			case collective == "MPI_Allreduce":
				now[r], root = latest+50, -1
			case collective == "MPI_Reduce" && r == root:
				now[r] = latest + 50
			case collective == "MPI_Reduce":
				now[r] += 50
				received = 0
			case r == root:
				now[r] += 50
			default:
				now[r] = max(now[r], run.Threads[root].EnterNS[k]) + 50
				sent = 0
			}
			t.ExitNS[k] = now[r]
			c.Call, c.Comm, c.Ordinal, c.Sent, c.Received, c.Root = append(c.Call, uint32(k)), append(c.Comm, 0), append(c.Ordinal, ordinal), append(c.Sent, sent), append(c.Received, received), append(c.Root, int32(root))
		}
		if together {
			ordinal++
		}
	}
	for r := range ranks {
		run.Threads[r].EndNS = now[r]
		run.DurationNS = max(run.DurationNS, now[r])
	}
	return run
}

func benchmark(b *testing.B, run *Run, of string, n int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		lanes, err := Local(run, team.Threads{})
		if err != nil {
			b.Fatal(err)
		}
		if r := lanes.Solve(); r.WaitNS == 0 || r.Contradictions > 0 {
			b.Fatal(r.WaitNS, r.Contradictions)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M"+of+"/s")
	b.ReportMetric(peak(run)/float64(n), "peakB/"+of)
}

// peak is how many bytes are held at most, besides the run: what is collected late does not count.
func peak(run *Run) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(2))
	heap := func() float64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return float64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before, most := heap(), 0.
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
				most = max(most, heap()-before)
			}
		}
	}()
	if lanes, err := Local(run, team.Threads{}); err == nil {
		runtime.KeepAlive(lanes.Solve())
	}
	close(stop)
	<-stopped
	return most
}

func BenchmarkCalls(b *testing.B) {
	for _, x := range []struct{ ranks, calls, every int }{{2, 5_000_000, 2}, {2, 5_000_000, 10}, {1000, 10_000, 2}, {1000, 10_000, 10}, {10_000, 1000, 10}} {
		run := loops([]string{"MPI_Allreduce"}, false, x.ranks, x.calls, x.every)
		b.Run(fmt.Sprintf("%dranks/every%d", x.ranks, x.every), func(b *testing.B) { benchmark(b, run, "calls", x.ranks*x.calls) })
	}
}

// A root waits for all, or all for it.
func BenchmarkRoots(b *testing.B) {
	for _, collectives := range [][]string{{"MPI_Reduce"}, {"MPI_Bcast"}, {"MPI_Reduce", "MPI_Allreduce"}, {"MPI_Bcast", "MPI_Allreduce"}} {
		for _, ranks := range []int{1000, 10_000} {
			run := loops(collectives, false, ranks, 10_000_000/ranks, 2)
			b.Run(fmt.Sprintf("%s/%dranks", strings.Join(collectives, "+"), ranks), func(b *testing.B) { benchmark(b, run, "calls", 10_000_000) })
		}
	}
	run := loops([]string{"MPI_Bcast"}, true, 10_000, 1000, 1) // two ranks are hardly ever tied
	b.Run("MPI_Bcast/turns", func(b *testing.B) { benchmark(b, run, "calls", 10_000_000) })
}

// ring makes a run of ranks that exchange messages with their neighbours by MPI_Sendrecv, and meet in every so many-th
// round, if ever.
func ring(ranks, rounds, every int) *Run {
	m := newMachine(ranks)
	random := rand.New(rand.NewPCG(1, 2))
	for k := range rounds {
		for r := range ranks {
			m.do(r, compute(int32(1+k%5), 900+int64(random.Uint32N(200))), sendrecv((r+1)%ranks, (r+ranks-1)%ranks, 8))
			m.do(r, compute(int32(6), 900+int64(random.Uint32N(200))), sendrecv((r+ranks-1)%ranks, (r+1)%ranks, 8))
			if every > 0 && (k+1)%every == 0 {
				m.do(r, collective("allreduce", 0))
			}
		}
	}
	if err := m.run(); err != nil {
		panic(err)
	}
	return m.recorded()
}

func BenchmarkMessages(b *testing.B) {
	for _, x := range []struct{ ranks, rounds, every int }{{2, 100_000, 0}, {64, 4000, 10}, {64, 4000, 0}, {512, 500, 50}} {
		run := ring(x.ranks, x.rounds, x.every)
		b.Run(fmt.Sprintf("%dranks/every%d", x.ranks, x.every), func(b *testing.B) { benchmark(b, run, "messages", run.Messages) })
	}
	run := anyone(256, 400_000)
	b.Run("anyone", func(b *testing.B) { benchmark(b, run, "messages", run.Messages) })
}

// anyone makes a run in which each message is between two ranks drawn at random: two of them hardly ever meet.
func anyone(ranks, messages int) *Run {
	random := rand.New(rand.NewPCG(1, 2))
	m := newMachine(ranks)
	for k := range messages {
		from, to := random.IntN(ranks), random.IntN(ranks)
		if from == to {
			continue
		}
		m.do(from, compute(int32(1+k%5), int64(random.Uint32N(2000))), send(to, 8))
		m.do(to, recv(from))
	}
	if err := m.run(); err != nil {
		panic(err)
	}
	return m.recorded()
}
