package main_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// recount checks the factors of a run of which all bursts were kept, by a script that shares no code with moriens and
// computes them from the exported tables.
func recount(t *testing.T, out string) {
	t.Helper()
	testenv.Need(t, systemPython)
	tables := filepath.Join(t.TempDir(), "tables")
	if o := execute(t, nil, binary(t), "export", out, "--format", "csv", "--out", tables); o.status != 0 {
		t.Fatalf("export: status %d\n%s", o.status, o.stderr)
	}
	script := filepath.Join(mpitest.Root(t), "testdata", "recount", "efficiency.py")
	if said, err := exec.Command(systemPython, script, tables, filepath.Join(out, "efficiency.json")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// A planted imbalance is found: the load balance is that of the times that the ranks and threads have measured
// themselves, and the one that computes most is named, with the cluster.
func TestPlantedImbalance(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, threads := range []int{1, 4} {
			const ranks = 2
			worked, dir := t.TempDir(), t.TempDir()
			out := filepath.Join(dir, "run")
			o := execute(t, []string{"MINIAPP_OUT=" + worked},
				append([]string{binary(t), "run", "--out", out, "--"}, mpi.Args(ranks, "", mpi.App(t, "unequal", "-pthread"), "20", "5000", strconv.Itoa(threads))...)...)
			if o.status != 0 {
				t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
			}
			sum, most, slowest := 0., 0., rundir.ThreadName{}
			for rank := range ranks {
				for thread := range threads {
					text, err := os.ReadFile(filepath.Join(worked, fmt.Sprintf("work.%d.%d", rank, thread)))
					if err != nil {
						t.Fatal(err)
					}
					ns, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
					if err != nil {
						t.Fatal(err)
					}
					if sum += ns; ns > most {
						most, slowest = ns, rundir.ThreadName{Rank: rank, Thread: thread}
					}
				}
			}
			e, err := rundir.ReadEfficiency(out)
			if err != nil {
				t.Fatal(err)
			}
			r := &e.Runs[0]
			want := sum / float64(ranks*threads) / most
			if r.Ranks != ranks || r.Locations != ranks*threads || math.Abs(float64(r.Balance)-want) > .02 || r.Bound {
				t.Errorf("%d threads a rank: load balance %v, want %v: %+v", threads, r.Balance, want, r.EfficiencyFactors)
			}
			for name, x := range map[string]rundir.Number{"PE": r.Parallel, "LB": r.Balance, "in": r.InNodes, "between": r.BetweenNodes, "CE": r.Communication} {
				if !(x >= 0 && x <= 1) {
					t.Errorf("%s is %v", name, x)
				}
			}
			if d := float64(r.Balance*r.Communication - r.Parallel); math.Abs(d) > 1e-12 {
				t.Errorf("LB · CE − PE is %v", d)
			}
			if threads > 1 {
				if r.MainThreads == nil {
					t.Error("no factors of the threads that called MPI_Init")
				}
				continue
			}
			if r.Most == nil || *r.Most != slowest || len(r.Clusters) == 0 || r.Clusters[0].Most == nil || *r.Clusters[0].Most != slowest {
				t.Errorf("%+v computes most, clusters %+v; it is %+v", r.Most, r.Clusters, slowest)
			}
			contains(t, o.stdout, fmt.Sprintf("\nmost computing: rank %d, ", slowest.Rank))
		}
	})
}
