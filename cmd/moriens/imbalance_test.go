package main_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// plantedRounds is how often the ranks of unequalTrace meet.
const plantedRounds = 20

// unequalTrace is of four ranks on these nodes: from barrier to barrier rank r works (r + 1) · 50 of 250 ms. Rank r
// leaves MPI_Init at (r + 1) · 10 ms, reaches the first barrier at 50 and MPI_Finalize 5 + r ms after the last.
func unequalTrace(nodes [4]int) string {
	const ms = 1_000_000
	end := 60 + plantedRounds*250 + 20
	var b strings.Builder
	fmt.Fprintf(&b, "#Paraver (04/03/2026 at 15:06):%d_ns:2(3,3):1:4(1:%d,1:%d,1:%d,1:%d)\n", end*ms, nodes[0], nodes[1], nodes[2], nodes[3])
	for r := range 4 {
		at := (r + 1) * 10 // ms
		event := func(kind, value int) { fmt.Fprintf(&b, "2:0:1:%d:1:%d:%d:%d\n", r+1, at*ms, kind, value) }
		work := func(until int) {
			fmt.Fprintf(&b, "1:0:1:%d:1:%d:%d:1\n", r+1, at*ms, until*ms)
			at = until
		}
		fmt.Fprintf(&b, "2:0:1:%d:1:0:50000003:31\n", r+1)
		event(50000003, 0)
		work(50)
		for i := range plantedRounds + 1 {
			event(50000002, 8)
			at = 60 + i*250
			event(50000002, 0)
			if i < plantedRounds {
				work(at + (r+1)*50)
			}
		}
		work(at + 5 + r)
		event(50000003, 32)
		at = end
		event(50000003, 0)
	}
	return b.String()
}

// The factors of a written imbalance, on nodes of three ranks and one, are those of its definition, and the summary
// names the rank that computes most and where.
func TestUnequalTrace(t *testing.T) {
	for _, tt := range []struct {
		nodes [4]int
		n     float64 // the largest mean of a node, in rounds' work of rank 0
	}{
		{[4]int{1, 1, 1, 2}, 4}, {[4]int{1, 2, 2, 2}, 3},
	} {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "unequal.prv"), filepath.Join(dir, "run")
		if err := os.WriteFile(path, []byte(unequalTrace(tt.nodes)), 0o644); err != nil {
			t.Fatal(err)
		}
		o := execute(t, nil, binary(t), "analyze", path, "--out", out, "--keep-bursts", "all")
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		e, err := rundir.ReadEfficiency(out)
		if err != nil {
			t.Fatal(err)
		}
		r := &e.Runs[0]
		u := func(work float64) float64 { return 10 + plantedRounds*work*50 + 5 } // ms within main, which is from 40 on
		elapsed := 60. + plantedRounds*250 + 5 - 40
		for name, x := range map[string][2]float64{
			"parallel efficiency": {float64(r.Parallel), u(2.5) / elapsed}, "load balance": {float64(r.Balance), u(2.5) / u(4)},
			"in nodes": {float64(r.InNodes), u(tt.n) / u(4)}, "between nodes": {float64(r.BetweenNodes), u(2.5) / u(tt.n)},
			"communication": {float64(r.Communication), u(4) / elapsed}, "seconds": {float64(r.Seconds), elapsed / 1000},
		} {
			if math.Abs(x[0]-x[1]) > 1e-12 {
				t.Errorf("nodes %v: %s is %v, want %v", tt.nodes, name, x[0], x[1])
			}
		}
		if r.Most == nil || r.Most.Rank != 3 || r.Bound {
			t.Errorf("nodes %v: %+v", tt.nodes, r)
		}
		contains(t, o.stdout, "\nparallel efficiency 50.0 % = load balance 62.6 % × communication efficiency 79.9 %\n", "\nmost computing: rank 3, 1.60 times the mean; mainly in cluster 1, which no other rank has\n")
		checkWhere(t, readBursts(t, out), o.stdout, 3)
		recount(t, out)
		rundirtest.CheckWaits(t, out)
		if n := unexplained(t, out, "collectives of unknown communicators"); n != 4*(plantedRounds+1) {
			t.Errorf("%d barriers are not explained", n)
		}
	}
}

// Where the trace has communicators the waits are those of its definition, to the nanosecond, and all are due to the
// rank that works longest. There are no messages in it.
func TestUnequalTraceWaits(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "unequal.prv"), filepath.Join(dir, "run")
	head, events, _ := strings.Cut(unequalTrace([4]int{1, 1, 1, 2}), "\n")
	events = strings.ReplaceAll(events, ":50000002:8\n", ":50000002:8:50100001:0:50100002:0:50100003:0:50100004:1\n")
	if err := os.WriteFile(path, []byte(head+",1\nc:1:1:4:1:2:3:4\n"+events), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := execute(t, nil, binary(t), "analyze", path, "--out", out, "--keep-bursts", "all"); o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	w := rundirtest.CheckWaits(t, out)
	x := w.WholeRun
	kinds := []rundir.WaitsKind{
		{Kind: "barrier", Count: 3 * plantedRounds, Seconds: plantedRounds * .3, Longest: .15}, {Kind: "end", Count: 3, Seconds: .006, Longest: .003},
	}
	if d := cmp.Diff(kinds, x.Kinds, cmp.Comparer(func(a, b rundir.Number) bool { return math.Abs(float64(a-b)) < 1e-12 })); d != "" {
		t.Error(d)
	}
	for _, c := range x.Causes {
		if c.Rank != 3 || c.What != rundir.CauseComputing {
			t.Errorf("a cause is %+v", c)
		}
	}
	first := &x.Causes[0]
	if first.CallPath != "MPI_Barrier" || first.Cluster == nil || *first.Cluster != 1 || first.Waits != 3*plantedRounds || len(x.NotExplained)+len(w.Why) > 0 || x.LinksTotal > 0 || x.Contradictions > 0 {
		t.Errorf("%+v", x)
	}
	o := execute(t, nil, binary(t), "waits", out)
	if contains(t, o.stdout, "\n\nrank 3 makes others wait 6.00 s ", " in cluster 1 (no other rank has it) before MPI_Barrier: "); o.status != 0 {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
}
