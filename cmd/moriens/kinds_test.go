package main_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"moriens/analysis/kinds/plant"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// A kindRow is what a reader of bursts.parquet needs to know the kind of a burst.
type kindRow struct {
	Rank   int32  `parquet:"rank"`
	Start  int64  `parquet:"start_ns"`
	Kind   int32  `parquet:"kind"`
	Before string `parquet:"call_path_before"`
	After  string `parquet:"call_path_after"`
}

// starved is from which share on, of the time in which they could run, ranks that are off the core have no durations of their own. Eight on two cores lose .75 to each other; with
// .8 other processes have a fifth of the machine. What is found then is a matter of luck, here: analysis/partition asks it of written data.
const starved = .8

func readKinds(t *testing.T, dir string) []kindRow {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "bursts.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := pq.NewGenericReader[kindRow](f)
	defer r.Close()
	file, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pq.OpenFile(f, file.Size())
	if err != nil {
		t.Fatal(err)
	}
	if _, has := columns.Schema().Lookup("kind"); !has {
		t.Fatal("bursts.parquet has no column kind")
	}
	rows := make([]kindRow, r.NumRows())
	if n, err := r.Read(rows); n != len(rows) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%d of %d rows: %v", n, len(rows), err)
	}
	return rows
}

// A real program with four kinds between the same two calls, more ranks than cores and a slow rank among them: the kinds are told apart by the order in which they come.
// Where it sleeps no burst waits for a core.
func TestKindsJob(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	app := mpitest.OpenMPI.App(t, "kinds")
	const ranks = 8
	for _, c := range []struct {
		name       string
		iterations int
		args       []string
	}{
		{"spinning", 60, []string{"-n", "60"}},
		{"sleeping", 100, []string{"-n", "100", "-s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, mpitest.OpenMPI.Args(ranks, "", append([]string{app, "-r", "3"}, c.args...)...)...)
			if o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...); o.status != 0 {
				t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
			}
			var truth, found []int32
			var made [ranks]int
			last := kindRow{Rank: -1}
			for _, row := range readKinds(t, out) {
				if row.Rank == last.Rank && row.Start < last.Start {
					t.Fatalf("rank %d has a burst at %d ns after one at %d", row.Rank, row.Start, last.Start)
				}
				last = row
				if row.Before == row.After {
					truth, found = append(truth, int32(made[row.Rank]%4)), append(found, row.Kind)
					made[row.Rank]++
				}
			}
			for rank, n := range made {
				if n != 4*c.iterations {
					t.Fatalf("rank %d has %d bursts between the same two calls, want %d", rank, n, 4*c.iterations)
				}
			}
			a := plant.Compare(truth, found, nil)
			t.Logf("purity %.3f, ARI %.3f", a.Purity, a.ARI)
			m, err := rundir.ReadManifest(out)
			if err != nil {
				t.Fatal(err)
			}
			if m.Scheduling != nil && m.Scheduling.LostShare > starved {
				t.Logf("ranks lost %.0f %% of the time in which they could run: what is left of their durations tells nothing", 100*float64(m.Scheduling.LostShare))
			} else if a.Purity < .95 {
				t.Errorf("purity %.3f, want .95", a.Purity)
			}
		})
	}
}
