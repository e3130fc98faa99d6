package blame

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"moriens/internal/anchor"
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

// compared gives a run of loops the messages of its compared windows: in each round rank 2n and rank 2n + 1 send each
// other one.
func compared(run *trace.Run, every int) {
	run.CallPaths[1].Function = "MPI_Sendrecv"
	run.Traffic = &trace.Traffic{Compared: make([][]trace.Compared, len(run.Threads))}
	c := &run.Threads[0].Calls
	for first := 0; first < c.Len(); first += every {
		w := anchor.After(uint64(first / every))
		if !w.Compared("run") {
			continue
		}
		last := min(first+every, c.Len()) - 1
		for r := range run.Threads {
			c := &run.Threads[r].Calls
			begin := c.EnterNS[max(first-1, 0)]
			if list := run.Traffic.Compared[r]; len(list) > 0 && list[len(list)-1].EndNS > begin {
				begin = list[len(list)-1].EndNS
			}
			run.Traffic.Compared[r] = append(run.Traffic.Compared[r], trace.Compared{BeginNS: begin, EndNS: c.ExitNS[last], Window: uint64(w)})
			peer := &run.Threads[r^1].Calls
			for k := first; k < last; k++ {
				run.Messages = append(run.Messages, trace.Message{From: r, To: r ^ 1, SendNS: c.EnterNS[k], PhysicalSendNS: c.EnterNS[k], RecvNS: peer.EnterNS[k], PhysicalRecvNS: peer.ExitNS[k], Bytes: 8})
			}
		}
	}
	slices.SortFunc(run.Messages, trace.Message.Compare)
	for i := range run.Messages {
		m := &run.Messages[i]
		list := run.Traffic.Compared[m.From]
		n := sort.Search(len(list), func(n int) bool { return list[n].EndNS > m.SendNS })
		w := list[n].Window
		run.Traffic.Sample = append(run.Traffic.Sample, trace.Sampled{Window: w, Weight: 1 / anchor.ID(w).Share()})
	}
}

// What the waits in messages of compared windows of a run of 10⁷ calls take.
func BenchmarkSample(b *testing.B) {
	for _, x := range []struct{ ranks, calls, every int }{{2, 5_000_000, 10}, {1000, 10_000, 10}, {10_000, 1000, 10}, {1000, 10_000, 2}} {
		run := loops(x.ranks, x.calls, x.every)
		compared(run, x.every)
		whole, err := Measure(run, team.Threads{}, Options{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dranks/every%d", x.ranks, x.every), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, _, err := whole.Sample(run, team.Threads{})
				if err != nil || found.MessagesWaitNS == 0 {
					b.Fatalf("%v: %+v", err, found)
				}
			}
			b.ReportMetric(float64(len(run.Messages))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmessages/s")
		})
	}
}
