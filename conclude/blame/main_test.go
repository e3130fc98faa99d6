package blame

import (
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/waits"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// apart are loops between MPI_Init and MPI_Finalize.
func apart(t *testing.T, ranks, calls int) (*trace.Run, waits.Span) {
	t.Helper()
	run := loops(ranks, calls, 4)
	last := calls - 1
	run.CallPaths = append(run.CallPaths, trace.CallPath{Function: "MPI_Init"}, trace.CallPath{Function: "MPI_Finalize"})
	main := waits.Span{EndNS: math.MaxInt64}
	for i := range run.Threads {
		c := &run.Threads[i].Calls
		c.Path[0], c.Path[last] = 3, 4
		x := &run.Threads[i].Collectives // the last call has been one of all
		n := x.Len() - 1
		x.Call, x.Comm, x.Ordinal, x.Sent, x.Received, x.Root = x.Call[:n], x.Comm[:n], x.Ordinal[:n], x.Sent[:n], x.Received[:n], x.Root[:n]
		main.BeginNS, main.EndNS = max(main.BeginNS, c.ExitNS[0]), min(main.EndNS, c.EnterNS[last])
	}
	return run, main
}

func describe(t *testing.T, run *trace.Run, o Options) (*Blame, *rundir.Waits) {
	t.Helper()
	b, err := Measure(run, team.Threads{}, o)
	if err != nil {
		t.Fatal(err)
	}
	w, rows, err := b.Describe(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	var waited, charged, path int64
	for i := range rows {
		waited, charged, path = waited+rows[i].MainWaitNS, charged+rows[i].MainChargedNS, path+rows[i].MainPathNS
	}
	if span := b.options.Main; waited != b.MainWaitNS || charged+b.MainUnexplainedNS != waited || path != span.EndNS-span.BeginNS {
		t.Errorf("rows have waits of %d ns within main, charges of %d, a path of %d", waited, charged, path)
	}
	return b, w
}

// Waits, causes and path of main are those parts of the run's that lie in it.
func TestMain(t *testing.T) {
	run, main := apart(t, 5, 60)
	run.Clusters[3].VariantOf = 3
	b, w := describe(t, run, Options{Workers: 2, Main: main})
	if w.Main == nil {
		t.Fatal("nothing of main")
	}
	x, whole := w.Main, w.WholeRun
	var waitedNS, inMPI, clusterNS int64
	for i := range run.Threads {
		c, u := &run.Threads[i].Calls, &run.Threads[i].Bursts
		for _, k := range b.Waits[i] {
			waitedNS += main.Within(c.EnterNS[k.Row], k.UntilNS)
		}
		for k := range c.EnterNS {
			inMPI += main.Within(c.EnterNS[k], c.ExitNS[k])
		}
		for k, id := range u.Cluster {
			if id == 1 {
				clusterNS += main.Within(u.StartNS[k], u.StartNS[k]+u.DurationNS[k])
			}
		}
	}
	if x.Waiting != seconds(waitedNS) || x.MPI != seconds(inMPI) || x.Residual != seconds(inMPI-waitedNS) || x.Begin != seconds(main.BeginNS) || x.End != seconds(main.EndNS) || x.Path.Seconds != x.Seconds {
		t.Errorf("waits of %d ns, %d in MPI: %+v", waitedNS, inMPI, x)
	}
	for _, k := range x.Kinds {
		if k.Kind == "start" || k.Kind == "end" {
			t.Errorf("%+v within main", k)
		}
	}
	if len(whole.Kinds) != len(x.Kinds)+1 || whole.Begin != 0 || whole.End != whole.Seconds || x.Locations != 5 {
		t.Errorf("kinds %+v, of main %+v", whole.Kinds, x.Kinds)
	}
	first := slices.IndexFunc(x.Clusters, func(c rundir.WaitsCluster) bool { return c.Cluster == 1 })
	if c := x.Clusters[first]; math.Abs(float64(c.Imbalance-c.Path+seconds(clusterNS/5))) > 1e-12 || c.Locations != 5 || c.Kind != 1 {
		t.Errorf("%+v, of %d ns", c, clusterNS)
	}
}

// Where main is all of the run there is nothing apart.
func TestMainIsAll(t *testing.T) {
	run := loops(3, 20, 4)
	if _, w := describe(t, run, Options{Workers: 1}); w.Main != nil || w.WholeRun == nil {
		t.Errorf("%+v", w.Main)
	}
}

// Main has a table from a thousandth of the time, of the time in MPI, or of the waits on.
func TestApart(t *testing.T) {
	for _, x := range []struct {
		main, mpi, waits int64
		apart            bool
	}{{10_000, 10_000, 10_000, false}, {9_991, 9_991, 9_991, false}, {9_990, 10_000, 10_000, true}, {10_000, 9_990, 10_000, true}, {10_000, 10_000, 9_990, true}} {
		b := &Blame{Result: &waits.Result{MPINS: 10_000, MainMPINS: x.mpi, WaitNS: 10_000, MainWaitNS: x.waits}, options: Options{Main: waits.Span{BeginNS: 10_000 - x.main, EndNS: 10_000}}}
		d := &describer{Blame: b, run: &trace.Run{DurationNS: 10_000}}
		if d.apart() != x.apart {
			t.Errorf("%+v", x)
		}
	}
	none := &describer{Blame: &Blame{Result: new(waits.Result)}, run: new(trace.Run)}
	if none.apart() {
		t.Error("nothing has a part")
	}
}

// Variants of a kind are one, and named; who has the kind is counted.
func TestKindsOfCauses(t *testing.T) {
	run := loops(4, 40, 4)
	for i := range run.Threads {
		for k := range run.Threads[i].Bursts.Cluster {
			run.Threads[i].Bursts.Cluster[k] = 1 // in which rank 0 is alone late
		}
	}
	t0 := &run.Threads[0]
	for k := range t0.Bursts.Cluster {
		t0.Bursts.Cluster[k] = []int32{2, 3}[k%2]
	}
	run.Clusters[2].VariantOf = 2
	_, w := describe(t, run, Options{Workers: 1})
	found := 0
	for _, c := range w.WholeRun.Causes {
		if c.Rank != 0 || c.What != rundir.CauseComputing {
			continue
		}
		found++
		if c.Cluster == nil || *c.Cluster != 2 || slices.Contains(c.Variants, 1) || len(c.Variants) == 1 && c.Variants[0] == 2 {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range w.WholeRun.Clusters {
		if want := map[int32][2]int64{1: {1, 3}, 2: {2, 1}, 3: {2, 1}, 4: {4, 0}}[c.Cluster]; c.Cluster < 5 && (int64(c.Kind) != want[0] || c.Locations != want[1]) {
			t.Errorf("%+v, want kind and locations %v", c, want)
		}
	}
	if found == 0 {
		t.Error("rank 0 is no cause")
	}
}

// Doubts are measured by the waits, and where hardly anybody waits by the time of all threads.
func TestDoubt(t *testing.T) {
	const elapsedNS, locations = 1_000_000, 4
	for _, x := range []struct {
		waitNS, uncertainNS, movedNS int64
		marked, given                bool
	}{
		{0, 0, 0, false, false}, {0, 1, 0, false, false}, {0, 399, 0, false, false}, {0, 400, 0, true, false}, {0, 4000, 0, true, true}, {0, 2000, 2000, true, true},
		{40_000, 399, 0, false, false}, {1_000_000, 9999, 0, false, false}, {1_000_000, 9000, 1000, true, false}, {1_000_000, 0, 100_000, true, true},
	} {
		for _, several := range []bool{true, false} {
			b := &Blame{Result: &waits.Result{WaitNS: x.waitNS, UncertainNS: x.uncertainNS}, options: Options{MovedNS: x.movedNS}, locations: locations, elapsedNS: elapsedNS}
			if several {
				b.options.UncertaintyNS = []int64{1, 2}
			}
			if b.marked() != (x.marked && several) || b.givenUp() != (x.given && several) {
				t.Errorf("%+v, several clocks %t: marked %t, given up %t", x, several, b.marked(), b.givenUp())
			}
		}
	}
	none := &Blame{Result: new(waits.Result), options: Options{UncertaintyNS: []int64{1, 2}}}
	if none.marked() {
		t.Error("nothing at all is doubtful")
	}
}

// windowed is a run of two nodes, with one window in which rank 1 waits for a message of rank 0 from the other node.
func windowed(lateNS int64) *trace.Run {
	const durationNS = 1_000_000
	run := &trace.Run{
		DurationNS: durationNS, CallPaths: []trace.CallPath{{}, {Function: "MPI_Recv"}, {Function: "MPI_Send"}}, Worlds: []trace.World{{Size: 2}},
		Nodes: []trace.Node{{Name: "a"}, {Name: "b"}}, Traffic: new(trace.Traffic), Windows: []trace.Window{{BeginNS: 100_000, EndNS: 900_000}}, Threads: make([]trace.Thread, 2),
	}
	run.Clusters = []trace.Cluster{{ID: 1}}
	for i := range run.Threads {
		t := &run.Threads[i]
		t.Rank, t.Node, t.EndNS = i, i, durationNS
		t.Kept = []trace.Span{{BeginNS: 100_000, EndNS: 900_000}}
		enter := 400_000 + int64(1-i)*lateNS
		t.Calls = trace.Calls{EnterNS: []int64{enter}, ExitNS: []int64{410_000 + lateNS}, Path: []uint32{uint32(2 - i)}}
		t.Bursts = trace.Bursts{StartNS: []int64{100_000}, DurationNS: []int64{enter - 100_000}, Cluster: []int32{1}, Before: []uint32{0}, After: []uint32{uint32(2 - i)}}
	}
	run.Messages = []trace.Message{{From: 0, To: 1, SendNS: 400_000 + lateNS, RecvNS: 400_000, PhysicalSendNS: 400_000 + lateNS, PhysicalRecvNS: 410_000 + lateNS, Bytes: 8}}
	return run
}

// The waits of windows are marked, and given up, by the rule of the whole run.
func TestWindowsGivenUp(t *testing.T) {
	for _, x := range []struct {
		lateNS, uncertaintyNS int64
		known                 bool
	}{{50_000, 10, true}, {50_000, 60_000, false}, {50, 60_000, true}} {
		run := windowed(x.lateNS)
		b := &Blame{Result: new(waits.Result), options: Options{UncertaintyNS: []int64{x.uncertaintyNS / 2, x.uncertaintyNS / 2}, Clock: []int32{0, 1}, Workers: 1}}
		table, why, err := b.Windows(run)
		if err != nil {
			t.Fatal(err)
		}
		given := slices.ContainsFunc(why, func(text string) bool {
			return strings.HasPrefix(text, "windows are not known: clocks of hosts do not agree")
		})
		if (table != nil) != x.known || given == x.known || (run.Threads[1].Waits.Len() > 0) != (x.known && x.lateNS > x.uncertaintyNS) {
			t.Errorf("%+v: %+v, %q, %d waits", x, table, why, run.Threads[1].Waits.Len())
		}
		if table != nil && (table.Begin != seconds(100_000) || table.End != seconds(900_000) || table.Seconds != seconds(800_000)) {
			t.Errorf("%+v", table)
		}
	}
}
