package prv

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/tracetest"
)

func TestGolden(t *testing.T) {
	prv, pcf, row := write(t, tracetest.Small())
	for name, got := range map[string][]byte{"small.prv": prv, "small.pcf": pcf, "small.row": row} {
		golden.Check(t, name, got)
	}
	diff(t, tracetest.Small(), roundTrip(t, tracetest.Small()))
}

func TestRefusesBadRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*trace.Run)
		want  string
	}{
		{"burst overlaps burst", func(r *trace.Run) { r.Threads[0].Bursts.DurationNS[0] += 100_001 }, "world 0 rank 0 thread 0: burst 1 (2100000 to 5000000 ns) begins before burst 0 (500000 to 2100001 ns) ends"},
		{"call overlaps call", func(r *trace.Run) { r.Threads[0].Calls.ExitNS[0] = 2_000_001 }, "world 0 rank 0 thread 0: call 1 (2000000 to 2100000 ns) begins before call 0 (1000 to 2000001 ns) ends"},
		{"call ends before it begins", func(r *trace.Run) { r.Threads[0].Calls.ExitNS[4] = 1 }, "call 4 (8000000 to 1 ns) ends before"},
		{"negative time", func(r *trace.Run) { r.Threads[0].Calls.EnterNS[0] = -1 }, "out of order"},
		{"order of calls", func(r *trace.Run) { r.Threads[1].Calls.EnterNS[1] = 1000 }, "before"},
		{"unknown cluster", func(r *trace.Run) { r.Threads[0].Bursts.Cluster[1] = -4 }, "burst 1: no cluster has the number -4"},
		{"column lengths", func(r *trace.Run) { r.Threads[3].Bursts.Cluster = nil }, "world 1 rank 2 thread 0: columns"},
		{"call path", func(r *trace.Run) { r.Threads[0].Calls.Path[2] = 70 }, "call 2: no call path 70"},
		{"rank beyond the world", func(r *trace.Run) { r.Worlds[1].Size = 2 }, "no rank 2 in world 1"},
		{"node", func(r *trace.Run) { r.Threads[0].Node = 2 }, "no node 2"},
		{"order of messages", func(r *trace.Run) {
			r.Messages = append(r.Messages, r.Messages[0])
			r.Messages[1].SendNS--
		}, "message 1: sent at 1999999"},
		{"message of no thread", func(r *trace.Run) { r.Messages[0].To = 9 }, "message 0: no such thread"},
		{"communicator of no rank", func(r *trace.Run) { r.Communicators[0].Ranks[1] = 2 }, "communicator 0: no rank 2"},
	} {
		run := tracetest.Small()
		c.spoil(run)
		err := WriteTrace(new(bytes.Buffer), run)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// Two calls that touch, and two bursts: their events must not share a line, or their order would be lost.
func TestTouchingItems(t *testing.T) {
	run := &trace.Run{
		DurationNS: 9, Worlds: []trace.World{{Size: 1}}, Nodes: []trace.Node{{Name: "alpha", CPUs: 1}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Send"}, {Function: "MPI_Recv"}},
		Counters:  []trace.Counter{{Name: "PAPI_TOT_INS"}},
		Threads: []trace.Thread{{
			EndNS: 8,
			Calls: trace.Calls{EnterNS: []int64{0, 2, 2}, ExitNS: []int64{2, 2, 4}, Path: []uint32{1, 2, 1}},
			Bursts: trace.Bursts{
				StartNS: []int64{4, 6, 6}, DurationNS: []int64{2, 0, 2}, Before: []uint32{1, 1, 1}, After: []uint32{0, 0, 0},
				Cluster: []int32{1, 2, 1}, Counters: [][]int64{{5, 6, 7}},
			},
		}},
	}
	prv, _, _ := write(t, run)
	for _, want := range []string{":2:50000001:0\n", ":2:50000001:2:90000103:2\n", ":2:50000001:1:90000103:1\n", ":6:90000001:0:42000050:5\n", ":6:90000001:7\n", ":6:90000001:0:42000050:6\n"} {
		if !strings.Contains(string(prv), want) {
			t.Errorf("no line that ends in %q:\n%s", want, prv)
		}
	}
	diff(t, run, roundTrip(t, run))
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestReportsWriteErrors(t *testing.T) {
	if err := WriteTrace(&failing{100}, tracetest.Small()); err != os.ErrClosed {
		t.Errorf("error %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	run := tracetest.Small()
	t := &run.Threads[3]
	for range 300_000 {
		now := t.EndNS
		t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, now+2000), append(t.Calls.ExitNS, now+2500)
		t.Calls.Path = append(t.Calls.Path, 2)
		t.Bursts.StartNS, t.Bursts.DurationNS = append(t.Bursts.StartNS, now), append(t.Bursts.DurationNS, 2000)
		t.Bursts.Cluster = append(t.Bursts.Cluster, 2)
		for k := range t.Bursts.Counters {
			t.Bursts.Counters[k] = append(t.Bursts.Counters[k], 123456)
		}
		t.EndNS = now + 2500
	}
	var n counting
	b.ReportAllocs()
	for b.Loop() {
		n = 0
		if err := WriteTrace(&n, run); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n))
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }
