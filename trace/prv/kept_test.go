package prv

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/tracetest"
)

func TestRoundTripOfWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		tracetest.Keep(t, run)
		diff(t, run, roundTrip(t, run))
	})
}

// reduced is a run of two windows: of three threads one keeps both of them, which touch, one the second, one none.
func reduced() *trace.Run {
	run := &trace.Run{
		DurationNS: 120, Worlds: []trace.World{{Size: 3}}, Nodes: []trace.Node{{Name: "alpha", CPUs: 4}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Send"}, {Function: "MPI_Barrier"}},
		Windows: []trace.Window{
			{BeginNS: 20, EndNS: 40, Threads: []int{0}, Why: trace.Representative, Reason: "iteration 2 of phase 0: nearest its median"},
			{BeginNS: 40, EndNS: 90, Threads: []int{0, 1}, Phase: -1, Why: trace.Anomaly, Reason: "rank 1: burst of 30 ns in cluster 1"},
		},
	}
	calls := trace.Calls{EnterNS: []int64{20, 38, 85}, ExitNS: []int64{22, 40, 90}, Path: []uint32{1, 2, 2}}
	bursts := trace.Bursts{StartNS: []int64{22, 40}, DurationNS: []int64{16, 45}, Before: []uint32{1, 0}, After: []uint32{2, 2}, Cluster: []int32{1, 1}}
	run.Threads = []trace.Thread{
		{BeginNS: 0, EndNS: 120, Calls: calls, Bursts: bursts, Kept: []trace.Span{{BeginNS: 20, EndNS: 40}, {BeginNS: 40, EndNS: 90, Window: 1}}},
		{
			Rank: 1, BeginNS: 1, EndNS: 100, Kept: []trace.Span{{BeginNS: 60, EndNS: 90, Window: 1}},
			Calls:  trace.Calls{EnterNS: []int64{80}, ExitNS: []int64{90}, Path: []uint32{2}},
			Bursts: trace.Bursts{StartNS: []int64{62}, DurationNS: []int64{18}, Before: []uint32{0}, After: []uint32{2}, Cluster: []int32{1}},
		},
		{Rank: 2, BeginNS: 3, EndNS: 110},
	}
	run.SummariseClusters()
	return run
}

func TestReducedGolden(t *testing.T) {
	run := reduced()
	prv, pcf, _ := write(t, run)
	golden.Check(t, "reduced.prv", prv)
	golden.Check(t, "reduced.pcf", pcf)
	diff(t, run, roundTrip(t, run))
	run.Windows[1].Reason = "rank 1:\nburst of 30 ns in cluster 1\n"
	want := bytes.Replace(pcf, []byte("rank 1: burst"), []byte(`rank 1:\nburst`), 1)
	if _, again, _ := write(t, run); !bytes.Equal(again, want) || bytes.Equal(want, pcf) {
		t.Errorf("a reason of two lines:\n%s", again)
	}
}

// All of each thread's time is either in a window or dropped, and never idle.
func TestDroppedIsNotIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		tracetest.Keep(t, run)
		text, _, _ := write(t, run)
		covered := make(map[string]int64)
		for line := range strings.Lines(string(text)) {
			var cpu, world, rank, thread, begin, end, state int64
			if n, _ := fmt.Sscanf(line, "1:%d:%d:%d:%d:%d:%d:%d", &cpu, &world, &rank, &thread, &begin, &end, &state); n == 7 && state == stateDropped {
				covered[fmt.Sprint(world, rank, thread)] += end - begin
			}
		}
		for i := range run.Threads {
			th := &run.Threads[i]
			for _, s := range th.Kept {
				covered[fmt.Sprint(th.World+1, th.Rank+1, th.Thread+1)] += s.EndNS - s.BeginNS
			}
			if got := covered[fmt.Sprint(th.World+1, th.Rank+1, th.Thread+1)]; got != th.EndNS-th.BeginNS {
				t.Fatalf("thread %d, %d to %d ns, keeps %v: %d ns are kept or dropped\n%s", i, th.BeginNS, th.EndNS, th.Kept, got, text)
			}
		}
	})
}

func TestWindowLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := trace.Window{
			BeginNS: rapid.Int64().Draw(t, "begin"), EndNS: rapid.Int64().Draw(t, "end"), Phase: rapid.IntRange(-1, 1000).Draw(t, "phase"),
			Why: trace.Why(rapid.IntRange(0, int(trace.Fallback)).Draw(t, "why")), Reason: oneLine(rapid.String().Draw(t, "reason")),
		}
		label := windowLabel(&w)
		if got := parseWindow(label); fmt.Sprint(got) != fmt.Sprint(w) {
			t.Fatalf("%q is read as %+v, was written from %+v", label, got, w)
		}
	})
	for _, label := range []string{"", "something", "peer: no", "peer, phase -3, 1 to 2 ns: x", "peer, phase 1, 1 to ns: x", "pear, phase 1, 1 to 2 ns: x"} {
		if got := parseWindow(label); got.Reason != label || got.Why != 0 || got.Phase != -1 {
			t.Errorf("%q is read as %+v", label, got)
		}
	}
}

func TestRefusesBadWindows(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*trace.Run)
		want  string
	}{
		{"no windows", func(r *trace.Run) { r.Windows = nil }, "rank 0 thread 0: a part of it is kept, of a run without windows"},
		{"no such window", func(r *trace.Run) { r.Threads[0].Kept[1].Window = 2 }, "span 1: no window 2"},
		{"backwards", func(r *trace.Run) { r.Threads[1].Kept[0].EndNS = 59 }, "span 0 ends at 59 ns, before it begins at 60 ns"},
		{"overlap", func(r *trace.Run) { r.Threads[0].Kept[1].BeginNS = 39 }, "span 1 begins at 39 ns, before the thread does or the span before it ends, at 40 ns"},
		{"before the thread", func(r *trace.Run) { r.Threads[1].BeginNS = 61 }, "span 0 begins at 60 ns"},
		{"behind the thread", func(r *trace.Run) { r.Threads[1].EndNS = 89 }, "span 0 ends at 90 ns, after the thread, at 89 ns"},
		{"call outside", func(r *trace.Run) { r.Threads[0].Kept[0].BeginNS = 21 }, "call 0 (20 to 22 ns) lies outside of what is kept"},
		{"call across", func(r *trace.Run) { r.Threads[0].Calls.ExitNS[1] = 41 }, "call 1 (38 to 41 ns) lies outside of what is kept"},
		{"burst outside", func(r *trace.Run) { r.Threads[1].Bursts.StartNS[0] = 59 }, "burst 0 (59 to 77 ns) lies outside of what is kept"},
		{"unfinished and not the last", func(r *trace.Run) { r.Threads[0].Calls.Unfinished = true }, "its last call is unfinished, but it goes on until 120 ns"},
	} {
		run := reduced()
		c.spoil(run)
		if err := WriteTrace(new(bytes.Buffer), run); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// Windows that do not fit the rest of a trace are an error; --lenient reads it as a trace without dropped parts.
func TestReadsBadWindows(t *testing.T) {
	const header = "#Paraver (x):1000_ns:1(1):1:1(1:1)\n"
	for _, c := range []struct{ body, want string }{
		{"2:0:1:1:1:10:90000101:1\n1:0:1:1:1:10:50:1\n2:0:1:1:1:40:90000101:0\n", "application 1 task 1 thread 1: burst 0 (10 to 50 ns) lies outside of what is kept"},
		{"2:0:1:1:1:10:90000101:-1\n", "line 2: window event of value -1"},
		{"2:0:1:1:1:10:90000101:70000\n", "line 2: window event of value 70000"},
	} {
		if _, err := Read(strings.NewReader(header+c.body), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		r, err := Read(strings.NewReader(header+c.body), Options{Lenient: true})
		if err != nil || r.Run.Windows != nil || r.Skipped != 1 {
			t.Errorf("lenient: %v, %+v", err, r)
		}
	}
	// Only our traces have windows. Other traces use state 1000 too.
	r, err := Read(strings.NewReader(header+"1:0:1:1:1:0:50:1000\n1:0:1:1:1:50:60:1\n"), Options{})
	if err != nil || r.Run.Windows != nil {
		t.Errorf("%v, windows %v", err, r.Run.Windows)
	}
	// Without labels windows are numbered, and as long as their spans.
	r, err = Read(strings.NewReader(header+"2:0:1:1:1:10:90000101:2\n1:0:1:1:1:10:50:1\n2:0:1:1:1:60:90000101:0\n"), Options{})
	if err != nil || len(r.Run.Windows) != 2 || fmt.Sprint(r.Run.Windows[1]) != "{10 60 [0] -1  }" {
		t.Errorf("%v, windows %v", err, r.Run.Windows)
	}
}
