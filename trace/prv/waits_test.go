package prv

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/tracetest"
)

func TestWaitsGolden(t *testing.T) {
	run := tracetest.Waiting()
	prv, pcf, _ := write(t, run)
	golden.Check(t, "waiting.prv", prv)
	golden.Check(t, "waiting.pcf", pcf)
	kinds := make(map[trace.WaitKind]bool)
	for i := range run.Threads {
		for _, kind := range run.Threads[i].Waits.Kind {
			kinds[kind] = true
		}
	}
	if len(kinds) != trace.WaitKinds-1 {
		t.Errorf("%d kinds of waits, want %d", len(kinds), trace.WaitKinds-1)
	}
	for _, run := range []*trace.Run{run, tracetest.WaitingWindows()} {
		diff(t, run, roundTrip(t, run))
	}
}

// A run without waits has nothing of them, nor one without a critical path of that.
func TestNoWaits(t *testing.T) {
	run := tracetest.Waiting()
	for i := range run.Threads {
		run.Threads[i].Waits = trace.Waits{}
	}
	prv, pcf, _ := write(t, run)
	text := string(prv) + string(pcf)
	for _, mark := range []string{fmt.Sprint(typeWaitKind), fmt.Sprint(typeWaitFor), fmt.Sprint("\n", firstWait)} {
		if strings.Contains(text, mark) {
			t.Errorf("%s is in\n%s", mark, text)
		}
	}
	if !strings.Contains(text, fmt.Sprint(typeCritical)) {
		t.Error("the critical path is gone too")
	}
	run = tracetest.Waiting()
	for i := range run.Threads {
		run.Threads[i].Critical = nil
	}
	prv, pcf, _ = write(t, run)
	if text := string(prv) + string(pcf); strings.Contains(text, fmt.Sprint(typeCritical)) || !strings.Contains(text, fmt.Sprint(typeWaitKind)) {
		t.Errorf("a critical path, or no waits, in\n%s", text)
	}
}

// Where one application is kept, what its calls waited for in another is not in the run any more.
func TestWaitsOfOneApplication(t *testing.T) {
	run := tracetest.Waiting()
	prv, pcf, row := write(t, run)
	for world, want := range [][][]int32{{{-1, 1, 1, 2, -1}, {0, -1, 0, -1}, nil}, {{1}, {0}}} {
		r, err := Read(bytes.NewReader(prv), Options{Labels: bytes.NewReader(pcf), Names: bytes.NewReader(row), Own: true, Application: world + 1})
		if err != nil {
			t.Fatal(err)
		}
		k := 0
		for i := range run.Threads {
			if run.Threads[i].World != world {
				continue
			}
			got, was := &r.Run.Threads[k], &run.Threads[i]
			if !slices.Equal(got.Waits.For, want[k]) || !slices.Equal(got.Waits.UntilNS, was.Waits.UntilNS) || !slices.Equal(got.Critical, was.Critical) {
				t.Errorf("world %d thread %d: %+v and %v, want them for %v", world, k, got.Waits, got.Critical, want[k])
			}
			k++
		}
		if k != len(r.Run.Threads) {
			t.Errorf("world %d: %d threads, want %d", world, len(r.Run.Threads), k)
		}
	}
}

func TestRefusesBadWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*trace.Run)
		want  string
	}{
		{"columns", func(r *trace.Run) { r.Threads[0].Waits.For = nil }, "rank 0 thread 0: columns of the waits differ in length"},
		{"no call", func(r *trace.Run) { r.Threads[0].Waits.Call[4] = 6 }, "wait 4: no call 6"},
		{"a call twice", func(r *trace.Run) { r.Threads[0].Waits.Call[4] = 3 }, "wait 4: no call 3, or not behind"},
		{"no kind", func(r *trace.Run) { r.Threads[0].Waits.Kind[1] = 0 }, "wait 1: no kind 0"},
		{"beyond the kinds", func(r *trace.Run) { r.Threads[0].Waits.Kind[1] = trace.WaitKind(trace.WaitKinds) }, "wait 1: no kind 12"},
		{"no time", func(r *trace.Run) { r.Threads[0].Waits.UntilNS[0] = 10 }, "wait 0 ends at 10 ns, outside of its call (10 to 100 ns)"},
		{"behind the call", func(r *trace.Run) { r.Threads[0].Waits.UntilNS[0] = 101 }, "wait 0 ends at 101 ns"},
		{"no thread", func(r *trace.Run) { r.Threads[0].Waits.For[0] = 5 }, "wait 0: no thread 5"},
		{"less than none", func(r *trace.Run) { r.Threads[0].Waits.For[0] = -2 }, "wait 0: no thread -2"},
		{"path overlaps", func(r *trace.Run) { r.Threads[0].Critical[1].BeginNS = 99 }, "part 1 of the critical path (99 to 440 ns) is out of order"},
		{"path backwards", func(r *trace.Run) { r.Threads[0].Critical[0].EndNS = 59 }, "part 0 of the critical path (60 to 59 ns)"},
	} {
		run := tracetest.Waiting()
		c.spoil(run)
		if err := WriteTrace(io.Discard, run); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A bad event of a wait, or of the path, is an error with its line; --lenient passes it over and keeps the rest.
func TestReadsBadWaits(t *testing.T) {
	const header = "#Paraver (x):1000_ns:1(1):1:2(1:1,2:1)\n"
	call := func(event, end string) string {
		return "2:0:1:1:1:10:50000001:2" + event + "\n" + end + "2:0:1:1:1:30:50000001:0\n2:0:1:1:1:40:50000001:2:90000104:1002\n2:0:1:1:1:50:90000104:0:50000001:0\n"
	}
	for _, c := range []struct {
		body, want string
		calls      int // that lenient keeps
	}{
		{call(":90000104:1", ""), "line 2: wait event of value 1", 1},
		{call(":90000104:1012", ""), "line 2: wait event of value 1012", 1},
		{call(":90000104:-1", ""), "line 2: wait event of value -1", 1},
		{call(":90000104:1001:90000105:-1", ""), "line 2: a wait for thread -1", 1},
		{call(":90000104:1001:90000105:4", ""), "line 2: a wait for thread 4 of 3", 1},
		{call("", "2:0:1:1:1:20:90000104:1001\n"), "line 3: a wait begins where no call does", 2},
		{call(":90000104:1001", "2:0:1:1:1:10:90000104:0\n"), "line 3: a wait ends where it begins", 2},
		{call(":90000104:1001:90000105:2", ""), "line 3: a call ends before its wait does", 2},
		{call("", "2:0:1:1:1:20:90000106:2\n"), "line 3: critical path event of value 2", 2},
		{call("", "2:0:1:1:1:15:90000106:1\n2:0:1:1:1:20:90000106:1\n"), "line 4: the critical path comes to a thread on which it is", 2},
	} {
		if _, err := Read(strings.NewReader(header+c.body), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		r, err := Read(strings.NewReader(header+c.body), Options{Lenient: true})
		if err != nil || r.Skipped != 1 {
			t.Errorf("%q: lenient: %v, %+v", c.body, err, r)
			continue
		}
		th := &r.Run.Threads[0]
		if got := fmt.Sprint(th.Waits, th.Calls.Len()); got != fmt.Sprintf("{[%d] [late sender, wrong order] [50] [-1]} %d", c.calls-1, c.calls) {
			t.Errorf("%q: lenient reads the waits, of so many calls, %s", c.body, got)
		}
	}
}

// A trace that was cut out of a longer one begins and ends anywhere.
func TestReadsCutWaits(t *testing.T) {
	r, err := Read(strings.NewReader("#Paraver (x):100_ns:1(1):1:2(1:1,2:1)\n"+
		"2:0:1:1:1:5:90000104:0:90000105:0\n2:0:1:1:1:6:90000106:0\n2:0:1:1:1:7:50000001:0\n"+
		"2:0:1:1:1:10:50000001:2:90000105:3:90000104:1001\n2:0:1:1:1:20:90000104:0\n2:0:1:1:1:30:50000001:0\n"+
		"2:0:1:2:2:30:90000106:1\n2:0:1:2:2:40:50000001:1\n2:0:1:1:1:40:50000001:2:90000104:1001\n1:0:1:2:2:50:60:1\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Run.Threads[0].Waits, r.Run.Threads[0].Critical, r.Run.Threads[1].Critical); got != "{[0] [late sender] [20] [1]} [] [{30 60}]" {
		t.Error(got)
	}
}
