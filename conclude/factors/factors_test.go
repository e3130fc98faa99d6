package factors

import (
	"math"
	"strings"
	"testing"

	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// The call paths of written runs.
const (
	pathInit = iota
	pathBarrier
	pathFinalize
)

// rank is a thread that begins at a time, and computes between its calls for these times, each call taking 10 ns.
func rank(world, number int, at int64, paths []uint32, computing ...int64) trace.Thread {
	t := trace.Thread{World: world, Rank: number, BeginNS: at}
	for k, path := range paths {
		t.Calls.EnterNS, t.Calls.ExitNS, t.Calls.Path = append(t.Calls.EnterNS, at), append(t.Calls.ExitNS, at+10), append(t.Calls.Path, path)
		if at += 10; k == len(computing) {
			break
		}
		b := &t.Bursts
		b.StartNS, b.DurationNS, b.Cluster = append(b.StartNS, at), append(b.DurationNS, computing[k]), append(b.Cluster, 1)
		b.Before, b.After = append(b.Before, path), append(b.After, paths[k+1])
		at += computing[k]
	}
	t.EndNS = at
	return t
}

func runOf(threads ...trace.Thread) *trace.Run {
	r := &trace.Run{
		CallPaths: []trace.CallPath{{Function: "MPI_Init"}, {Function: "MPI_Barrier"}, {Function: "MPI_Finalize"}},
		Nodes:     []trace.Node{{Name: "a"}}, Clusters: []trace.Cluster{{ID: 1}}, Threads: threads,
	}
	worlds := 0
	for i := range threads {
		worlds, r.DurationNS = max(worlds, threads[i].World+1), max(r.DurationNS, threads[i].EndNS)
	}
	r.Worlds = make([]trace.World, worlds)
	return r
}

func described(t *testing.T, run *trace.Run) *rundir.EfficiencyRun {
	t.Helper()
	e, err := Measure(run, team.Threads{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &e.Runs[0]
}

func near(t *testing.T, what string, got rundir.Number, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) < 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A thread that never calls MPI is no location: a trace has it for other events.
func TestThreadsWithoutCalls(t *testing.T) {
	paths := []uint32{pathInit, pathBarrier, pathFinalize}
	without := []trace.Thread{rank(0, 0, 0, paths, 300, 100), rank(0, 1, 0, paths, 100, 100)}
	with := append([]trace.Thread{}, without[0], trace.Thread{Rank: 0, Thread: 1, EndNS: 400}, without[1], trace.Thread{Rank: 1, Thread: 1, EndNS: 400})
	want, got := described(t, runOf(without...)), described(t, runOf(with...))
	if got.Ranks != 2 || got.Locations != 2 || len(got.Threads) != 2 || got.Threads[1].Rank != 1 || got.MainThreads != nil || got.Bound != want.Bound {
		t.Errorf("%+v", got)
	}
	near(t, "parallel efficiency", got.Parallel, float64(want.Parallel))
	near(t, "load balance", got.Balance, float64(want.Balance))
	near(t, "budget", got.Budget.Total, float64(want.Budget.Total))
	near(t, "most outside MPI", got.MostOutsideMPI, float64(want.MostOutsideMPI))
	near(t, "lost in the cluster", got.Clusters[0].Lost, 5e-9) // main ends after 210 ns, in which rank 1 computes for 200
	if m := got.Clusters[0].Most; m == nil || *m != (rundir.ThreadName{}) {
		t.Errorf("most of cluster 1: %+v", m)
	}
	// Where nobody calls MPI all are locations, which compute nothing.
	if r := described(t, runOf(trace.Thread{EndNS: 400}, trace.Thread{Rank: 1, EndNS: 400})); r.Locations != 2 {
		t.Errorf("%d locations of 2 threads without calls", r.Locations)
	}
}

// Of worlds that ran one after the other the first one's main is that of the run, which says so, and each has its own.
func TestWorldsOneAfterTheOther(t *testing.T) {
	paths := []uint32{pathInit, pathBarrier, pathFinalize}
	at := []trace.Thread{rank(0, 0, 0, paths, 100, 100), rank(0, 1, 0, paths, 50, 100)}
	r := described(t, runOf(append(at, rank(1, 0, 1000, paths, 100, 300))...))
	if !r.Bound || len(r.Why) != 1 || !strings.HasPrefix(r.Why[0], "world 1 did not run at the time of world 0: ") || len(r.Worlds) != 2 {
		t.Errorf("%v, worlds %+v", r.Why, r.Worlds)
	}
	near(t, "parallel efficiency of world 0", r.Worlds[0].Parallel, 150./160)
	near(t, "parallel efficiency of world 1", r.Worlds[1].Parallel, 400./410)
	// A run whose main has no length is none that its own world misses.
	r = described(t, runOf(rank(0, 0, 0, []uint32{pathInit})))
	if want := "no rank's MPI_Finalize is recorded: main ends with the run"; len(r.Why) != 1 || r.Why[0] != want {
		t.Errorf("of MPI_Init alone: %v", r.Why)
	}
	// Of a world that was spawned by another one nothing is to be said.
	if r := described(t, runOf(append(at, rank(1, 0, 50, paths, 100, 30))...)); r.Bound || len(r.Worlds) != 2 {
		t.Errorf("of worlds at one time: %v", r.Why)
	}
}

// Where MPI_Init or MPI_Finalize are not recorded, main is not what its name says.
func TestMainThatIsNotRecorded(t *testing.T) {
	for want, threads := range map[string][]trace.Thread{
		"no rank's MPI_Init and MPI_Finalize are recorded: main is the whole run":                   {rank(0, 0, 0, []uint32{pathBarrier, pathBarrier}, 100)},
		"no rank's MPI_Init is recorded: main begins with the run":                                  {rank(0, 0, 0, []uint32{pathBarrier, pathFinalize}, 100)},
		"no rank's MPI_Finalize is recorded: main ends with the run":                                {rank(0, 0, 0, []uint32{pathInit, pathBarrier}, 100)},
		"a rank was in MPI_Finalize before another one was through MPI_Init: main is the whole run": {rank(0, 0, 0, []uint32{pathInit, pathFinalize}, 10), rank(0, 1, 50, []uint32{pathInit, pathFinalize}, 10)},
		"": {rank(0, 0, 0, []uint32{pathInit, pathFinalize}, 100), rank(0, 1, 0, []uint32{pathInit, pathFinalize}, 95)},
	} {
		r := described(t, runOf(threads...))
		if got := strings.Join(r.Why, "; "); got != want || r.Bound != (want != "") {
			t.Errorf("bound %v: %q, want %q", r.Bound, got, want)
		}
	}
}

// A rank that goes on computing while another one is in MPI_Finalize does so outside main, which says so.
func TestComputingOutsideMain(t *testing.T) {
	paths := []uint32{pathInit, pathBarrier, pathFinalize}
	r := described(t, runOf(rank(0, 0, 0, paths, 100, 100), rank(0, 1, 0, paths, 100, 400)))
	want := "43 % of the computing time is outside main, while a rank was in MPI_Init or MPI_Finalize: --within run has all of it" // 300 of 700 ns
	if len(r.Why) != 1 || r.Why[0] != want || !r.Bound {
		t.Errorf("%v, want %q", r.Why, want)
	}
	if r := described(t, runOf(rank(0, 0, 0, paths, 100, 100), rank(0, 1, 0, paths, 100, 120))); r.Bound {
		t.Errorf("for a twentieth: %v", r.Why)
	}
}

// Time that was not recorded is said.
func TestTimeNotRecorded(t *testing.T) {
	paused := rank(0, 0, 0, []uint32{pathInit, pathBarrier, pathBarrier, pathFinalize}, 100, 300, 100)
	b := &paused.Bursts // without the one in the middle
	b.StartNS, b.DurationNS, b.Cluster = []int64{b.StartNS[0], b.StartNS[2]}, []int64{100, 100}, []int32{1, 1}
	b.Before, b.After = []uint32{b.Before[0], b.Before[2]}, []uint32{b.After[0], b.After[2]}
	r := described(t, runOf(paused))
	want := "58 % of the time was not recorded (paused, lost or not kept), and counts as lost in communication" // 300 of 520 ns
	if len(r.Why) != 1 || r.Why[0] != want || !r.Bound {
		t.Errorf("%v, want %q", r.Why, want)
	}
}

// The law of the time in MPI is that of several locations: one alone has next to none.
func TestLawWithoutOneLocation(t *testing.T) {
	var runs []rundir.EfficiencyRun
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		r := rundir.EfficiencyRun{Ranks: n, Locations: n, EfficiencyScaling: notKnown()}
		r.Seconds, r.Parallel, r.Balance, r.Communication = rundir.Number(1/float64(n)), rundir.Number(1/(.99+.01*float64(n))), 1, 1
		if r.Budget.Computing, r.Budget.MPI = 1, rundir.Number(.1*float64(n)); n == 1 {
			r.Budget.MPI = 1e-4
		}
		runs = append(runs, r)
	}
	fits, err := Fits(runs, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fits {
		if f.What == "budget.mpi_seconds" {
			if got := float64(f.Projected[0].Value); math.Abs(got-6.4) > .01 {
				t.Errorf("%v s in MPI on 64, want 6.4: %+v", got, f.Law)
			}
			return
		}
	}
	t.Error("there is no law of the time in MPI")
}

// The size that is asked for follows the usual ones below it, however large.
func TestFitsToALargeSize(t *testing.T) {
	var runs []rundir.EfficiencyRun
	for _, n := range []int{2, 4, 8} {
		r := rundir.EfficiencyRun{Ranks: n, Locations: n, EfficiencyScaling: notKnown()}
		r.Seconds, r.Parallel, r.Balance, r.Communication = 1, rundir.Number(1/(.99+.01*float64(n))), 1, 1
		runs = append(runs, r)
	}
	fits, err := Fits(runs, math.MaxInt)
	if err != nil || len(fits) == 0 {
		t.Fatal(fits, err)
	}
	if at := fits[0].Projected; len(at) != 3 || at[0].Locations != 16 || at[1].Locations != 32 || at[2].Locations != math.MaxInt {
		t.Errorf("projected to %+v", at)
	}
}
