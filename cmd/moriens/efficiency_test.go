package main_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// recount checks the factors of a run of which all bursts were kept, by a script that shares no code with moriens and
// computes them from the exported tables; and the MPI time of its phases.
func recount(t *testing.T, out string) {
	t.Helper()
	testenv.Need(t, systemPython)
	tables := exported(t, out)
	script := filepath.Join(mpitest.Root(t), "testdata", "recount", "efficiency.py")
	if said, err := exec.Command(systemPython, script, tables, filepath.Join(out, "efficiency.json")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	recountPhases(t, out, tables)
}

// exported are the tables of a run directory, in CSV.
func exported(t *testing.T, out string) (tables string) {
	t.Helper()
	tables = filepath.Join(t.TempDir(), "tables")
	if o := execute(t, nil, binary(t), "export", out, "--format", "csv", "--out", tables); o.status != 0 {
		t.Fatalf("export: status %d\n%s", o.status, o.stderr)
	}
	return tables
}

// A planted imbalance is found: each thread's bursts are the times between two MPI calls that it has measured itself,
// the factors are those of these times, and the summary names the rank that computes most, and where.
func TestPlantedImbalance(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, threads := range []int{1, 4} {
			t.Run(fmt.Sprintf("%d threads", threads), func(t *testing.T) { plantedImbalance(t, mpi, threads) })
		}
	})
}

func plantedImbalance(t *testing.T, mpi mpitest.MPI, threads int) {
	const ranks = 2
	unitUS := 20_000 / threads
	worked, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	job := mpi.Args(ranks, "", mpi.App(t, "unequal", "-pthread"), "20", strconv.Itoa(unitUS), strconv.Itoa(threads))
	o := execute(t, []string{"MINIAPP_OUT=" + worked}, append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, job...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	recount(t, out)
	rundirtest.CheckWaits(t, out)
	work, run := mpitest.ReadWork(t, worked), readBursts(t, out)
	if len(work) != ranks*threads || len(run.Threads) != len(work) {
		t.Fatalf("%d threads, recorded %d", len(work), len(run.Threads))
	}
	for i := range run.Threads {
		x := &run.Threads[i]
		work.Compare(t, mpitest.Worker{Rank: x.Rank, Thread: x.Thread}, x.Bursts.StartNS, x.Bursts.DurationNS, int64(unitUS)*1000/50)
	}
	want := work.Factors(func(int) string { return "" })
	e, err := rundir.ReadEfficiency(out)
	if err != nil {
		t.Fatal(err)
	}
	r := &e.Runs[0]
	if r.Ranks != ranks || r.Locations != ranks*threads || r.Bound || (r.MainThreads != nil) != (threads > 1) {
		t.Errorf("%+v", r)
	}
	if r.Most == nil {
		t.Fatal("no rank computes most")
	}
	checkFactors(t, r, want)
	name := r.Most.Short(false)
	if threads > 1 {
		name = fmt.Sprintf("rank %d thread %d", r.Most.Rank, r.Most.Thread)
	}
	contains(t, o.stdout, "\nmost computing: "+name+", ")
	if threads == 1 {
		checkSummary(t, "unequal-"+mpi.Name, out, o.stdout)
	}
	// Rank 1 has twice the work of rank 0. Where it took so long, most of what it has above the mean is in the work.
	if zero, one := want.ComputingNS[mpitest.Worker{}], want.ComputingNS[mpitest.Worker{Rank: 1}]; threads == 1 && one*2 > zero*3 {
		checkWhere(t, run, o.stdout, 1)
	}
}

// checkFactors compares factors with those that a program has measured itself.
func checkFactors(t *testing.T, r *rundir.EfficiencyRun, want *mpitest.WorkFactors) {
	t.Helper()
	for _, x := range []struct {
		name string
		got  rundir.Number
		want float64
	}{
		{"parallel efficiency", r.Parallel, want.Parallel},
		{"load balance", r.Balance, want.Balance},
		{"in nodes", r.InNodes, want.InNodes},
		{"between nodes", r.BetweenNodes, want.BetweenNodes},
		{"communication", r.Communication, want.Communication},
	} {
		if got := float64(x.got); math.Abs(got-x.want) > .02 || got < 0 || got > 1 {
			t.Errorf("%s is %v, the program has measured %v", x.name, got, x.want)
		}
	}
	for what, d := range map[string]rundir.Number{"LB · CE − PE": r.Balance*r.Communication - r.Parallel, "in · between − LB": r.InNodes*r.BetweenNodes - r.Balance} {
		if math.Abs(float64(d)) > 1e-12 {
			t.Errorf("%s is %v", what, d)
		}
	}
	// Two may compute equally long.
	if most := want.ComputingNS[mpitest.Worker{Rank: r.Most.Rank, Thread: r.Most.Thread}]; float64(most) < .98*float64(want.ComputingNS[want.Most]) {
		t.Errorf("%+v computes most, it is %+v: %v", r.Most, want.Most, want.ComputingNS)
	}
}

var whereMost = regexp.MustCompile(`\nmost computing: rank (\d+), .*; mainly in cluster (\d+), `)

// checkWhere checks that the summary names a rank, and with it a cluster between two barriers in which that rank
// computes longest.
func checkWhere(t *testing.T, run *trace.Run, summary string, rank int) {
	t.Helper()
	found := whereMost.FindStringSubmatch(summary)
	if found == nil || found[1] != strconv.Itoa(rank) {
		t.Errorf("rank %d and a cluster of it are not named:\n%s", rank, summary)
		return
	}
	took, longest := make(map[int]int64), int64(0)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, kind := range b.Kinds() {
			if strconv.Itoa(int(kind)) != found[2] {
				continue
			}
			took[run.Threads[i].Rank] += b.DurationNS[k]
			longest = max(longest, took[run.Threads[i].Rank])
			if before, after := function(run, b.Before[k]), function(run, b.After[k]); before != "MPI_Barrier" || after != "MPI_Barrier" {
				t.Errorf("cluster %s is between %s and %s", found[2], before, after)
			}
		}
	}
	if took[rank] != longest || longest == 0 {
		t.Errorf("ranks compute for %v ns in cluster %s", took, found[2])
	}
}
