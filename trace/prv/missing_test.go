package prv

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stepped is a trace of steps of 1 us on each rank: 600 ns running, then an MPI call. leave says which steps of a rank
// have no records.
func stepped(headerNS int64, ranks, steps int, leave func(rank, step int) bool, more ...string) string {
	tasks := strings.TrimSuffix(strings.Repeat("1:1,", ranks), ",")
	var b strings.Builder
	fmt.Fprintf(&b, "#Paraver (x):%d_ns:1(%d):1:%d(%s)\n", headerNS, ranks, ranks, tasks)
	var lines []string
	for step := range steps {
		for rank := range ranks {
			if leave(rank, step) {
				continue
			}
			at := 1000 * step
			lines = append(lines, fmt.Sprintf("1:0:1:%d:1:%d:%d:1", rank+1, at, at+600), fmt.Sprintf("2:0:1:%d:1:%d:50000002:8", rank+1, at+600), fmt.Sprintf("2:0:1:%d:1:%d:50000002:0", rank+1, at+1000))
		}
	}
	lines = append(lines, more...)
	at := func(line string) (ns int) {
		fmt.Sscan(strings.Split(line, ":")[5], &ns)
		return ns
	}
	slices.SortStableFunc(lines, func(a, b string) int { return at(a) - at(b) })
	return b.String() + strings.Join(lines, "\n") + "\n"
}

// Time without records counts, however it comes about.
func TestMissingCannotHide(t *testing.T) {
	const steps, end = 4000, 4_000_000
	gap := func(rank, step int) bool { return rank == 0 && step >= 1000 && step < 2000 }
	none := func(int, int) bool { return false }
	for _, c := range []struct {
		name, text string
		ns         float64 // of the two ranks' time
		threadNS   float64
		flushNS    float64
	}{
		{name: "nothing", text: stepped(end, 2, steps, none), threadNS: 2 * end},
		{name: "a gap", text: stepped(end, 2, steps, gap), ns: 1_000_000, threadNS: 2 * end},
		{name: "and a late header", text: stepped(1000*end, 2, steps, gap), ns: 1_000_000, threadNS: 2 * end},
		{name: "many short ones", text: stepped(end, 2, steps, func(rank, step int) bool { return step%5 == 3 }), ns: 2 * end / 5, threadNS: 2 * end},
		{name: "a rank that stops", text: stepped(end, 2, steps, func(rank, step int) bool { return rank == 1 && step >= 3000 }), ns: 1_000_000, threadNS: 2 * end},
		{name: "one that ends", text: stepped(end, 2, steps, func(rank, step int) bool { return rank == 1 && step >= 3000 },
			"2:0:1:2:1:3000000:50000003:32", "2:0:1:2:1:3000100:50000003:0"), threadNS: end + 3_000_100},
		{name: "one that begins halfway", text: stepped(end, 2, steps, func(rank, step int) bool { return rank == 1 && step < 2000 }), ns: 2_000_000, threadNS: 2 * end},
		{name: "one that is started", text: stepped(end, 2, steps, func(rank, step int) bool { return rank == 1 && step <= 2000 },
			"2:0:1:2:1:2000000:50000003:31", "2:0:1:2:1:2000100:50000003:0"), threadNS: 2*end - 2_000_000},
		{name: "a flush", text: stepped(end, 2, steps, gap, "2:0:1:1:1:1000000:40000003:1", "2:0:1:1:1:2000000:40000003:0"), threadNS: 2 * end, flushNS: 1_000_000},
		{name: "a flush whose end is reported too late", text: stepped(end, 2, steps, gap, "2:0:1:1:1:1000000:40000003:1", "2:0:1:1:1:2000900:40000003:0"), ns: 1_000_000, threadNS: 2 * end},
		{name: "a flush without an end", text: stepped(end, 2, steps, gap, "2:0:1:1:1:500000:40000003:1"), ns: 1_000_000, threadNS: 2 * end},
	} {
		r, err := Read(strings.NewReader(c.text), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		x := r.Reading
		if math.Abs(x.MissingNS-c.ns) > 2000 || math.Abs(x.ThreadNS-c.threadNS) > 2000 || x.FlushNS != c.flushNS || r.Run.DurationNS > 2*end {
			t.Errorf("%s: %v of %v ns missing, %v flushed, want %v of %v, %v; the run has %d ns: %+v", c.name, x.MissingNS, x.ThreadNS, x.FlushNS, c.ns, c.threadNS, c.flushNS, r.Run.DurationNS, x.Missing)
		}
	}
}

// A trace of which a filter has left the running states alone lacks nothing.
func TestRunningStatesAlone(t *testing.T) {
	var lines []string
	for _, line := range strings.Split(stepped(4_000_000, 2, 4000, func(rank, step int) bool { return rank == 1 && step%7 == 0 }), "\n") {
		if !strings.HasPrefix(line, "2:") {
			lines = append(lines, line)
		}
	}
	if r, err := Read(strings.NewReader(strings.Join(lines, "\n")), Options{}); err != nil || r.Reading.MissingNS != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// What is left out counts against the records of the application that is kept; what is wrong in another one does not.
func TestLostIsOfTheApplication(t *testing.T) {
	const header = "#Paraver (x):4000_ns:1(2):2:1(1:1),1(1:1)\n"
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "2:0:1:1:1:%d:42000050:7\n", 4*i)
		end := fmt.Sprint(4*i + 3)
		if i%2 == 1 {
			end = "x"
		}
		fmt.Fprintf(&b, "1:0:2:1:1:%d:%s:1\n", 4*i, end)
	}
	for application, want := range map[int][2]int64{1: {1000, 0}, 2: {1000, 500}, 0: {2000, 500}} {
		r, err := Read(strings.NewReader(header+b.String()), Options{Lenient: true, Application: application})
		if err != nil || r.Skipped != 500 || r.Reading.KeptRecords != want[0] || r.Reading.KeptLost != want[1] {
			t.Errorf("application %d: %v: %d of %d lost, want %v", application, err, r.Reading.KeptLost, r.Reading.KeptRecords, want)
		}
	}
	// A line that does not say whose it is may be of any application.
	r, err := Read(strings.NewReader(header+b.String()+"nonsense\n"), Options{Lenient: true, Application: 1})
	if err != nil || r.Reading.KeptRecords != 1001 || r.Reading.KeptLost != 1 {
		t.Errorf("%v: %d of %d", err, r.Reading.KeptLost, r.Reading.KeptRecords)
	}
}

// A file is read again from its begin, as text in memory is: with a time far behind all others, and out of order.
func TestFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.prv")
	text := stepped(2_000_000, 1, 2000, func(int, int) bool { return false }, "2:0:1:1:1:9000000000000:40000001:1")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var r *Result
	var err error
	if r, err = ReadFile(path, Options{Lenient: true}); err != nil || r.Skipped != 1 || r.Run.DurationNS != 2_000_000 {
		t.Errorf("%v: %+v", err, r)
	}
	text = stepped(2_000_000, 1, 2000, func(int, int) bool { return false })
	lines := strings.Split(text, "\n")
	lines[10], lines[13] = lines[13], lines[10]
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = ReadFile(path, Options{}); err != nil || r.Reading.Sorted == 0 || r.Run.Bursts() != 2000 || !slices.IsSorted(r.Run.Threads[0].Bursts.StartNS) {
		t.Errorf("%v: %+v", err, r)
	}
}
