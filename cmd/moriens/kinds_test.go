package main_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A real program with four kinds between the same two calls, more ranks than cores and a slow rank among them: all its
// bursts are there, in order, and have kinds. How well these are distinguished depends on the machine's load: of
// several runs nine of ten must have a purity of .95. conclude/clustering has a run that was recorded.
func TestKindsJob(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	app := mpitest.OpenMPI.App(t, "kinds")
	appendToTable(t, "\nFour kinds of bursts between the same two calls, eight ranks on two cores, one of them 30 % slower\n(testdata/miniapp/kinds.c):\n\n| ranks wait by | runs | purity, least | median | runs of .95 and more |\n|---|---|---|---|---|\n")
	for _, c := range []struct {
		name       string
		iterations int
		args       []string
	}{
		{"spinning", 60, []string{"-n", "60"}},
		{"sleeping", 100, []string{"-n", "100", "-s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var purities []float64
			for range *stormRuns {
				a := kindsJob(t, app, c.iterations, c.args...)
				t.Logf("purity %.3f, ARI %.3f", a.Purity, a.ARI)
				purities = append(purities, a.Purity)
			}
			slices.Sort(purities)
			below, _ := slices.BinarySearch(purities, .95)
			appendToTable(t, fmt.Sprintf("| %s | %d | %.3f | %.3f | %d |\n", c.name, len(purities), purities[0], purities[len(purities)/2], len(purities)-below))
			if len(purities) > 1 && 10*below > len(purities) {
				t.Errorf("%d of %d runs have a purity below .95: %.3f", below, len(purities), purities)
			}
		})
	}
}

// placeOf is the name of a call path without callers.
func placeOf(name string) string {
	name, _, _ = strings.Cut(name, "<")
	return name
}

// kindsJob runs the program with four kinds once, and returns how well they are distinguished.
func kindsJob(t *testing.T, app string, iterations int, args ...string) plant.Agreement {
	t.Helper()
	const ranks = 8
	out := filepath.Join(t.TempDir(), "run")
	args = append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, mpitest.OpenMPI.Args(ranks, "", append([]string{app, "-r", "3"}, args...)...)...)
	if o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...); o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	_, _, clusters, err := rundir.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	var truth, found []int32
	var made [ranks]int
	last := kindRow{Rank: -1}
	for _, row := range readKinds(t, out) {
		if row.Rank == last.Rank && row.Start < last.Start {
			t.Fatalf("rank %d has a burst at %d ns after one at %d", row.Rank, row.Start, last.Start)
		}
		if row.Kind == 0 || row.Kind > int32(len(clusters.Clusters)) {
			t.Fatalf("a burst of rank %d has kind %d", row.Rank, row.Kind)
		}
		last = row
		if placeOf(row.Before) == placeOf(row.After) {
			truth, found = append(truth, int32(made[row.Rank]%4)), append(found, row.Kind)
			made[row.Rank]++
		}
	}
	for rank, n := range made {
		if n != 4*iterations {
			t.Fatalf("rank %d has %d bursts between the same two calls, want %d", rank, n, 4*iterations)
		}
	}
	if m.Ranks != ranks || m.Dropped != 0 {
		t.Fatalf("%d ranks, %d bursts dropped", m.Ranks, m.Dropped)
	}
	return plant.Compare(truth, found, nil)
}
