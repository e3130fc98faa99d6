package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/internal/mpitest"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/prv"
)

func readBursts(t testing.TB, dir string) *trace.Run {
	t.Helper()
	run, err := parquet.ReadFile(filepath.Join(dir, "bursts.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A real program with planted kinds of bursts: its calls are counted exactly, its bursts have the times
// that its own clock read, and its kinds are the largest clusters.
func TestPlantedJob(t *testing.T) {
	mpitest.Each(t, plantedJob)
}

func plantedJob(t *testing.T, mpi mpitest.MPI) {
	app := mpi.App(t, "planted")
	const ranks = 2
	planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(ranks, "", app, "2")...)
	o := execute(t, []string{"MINIAPP_OUT=" + planted}, args...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if o.stderr != "" {
		t.Errorf("stderr:\n%s", o.stderr)
	}

	m := readManifest(t, out)
	if d := cmp.Diff(sum(mpitest.Counts(t, planted)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	library := map[string]string{"openmpi": "Open MPI", "mpich": "MPICH"}[mpi.Name]
	if m.Ranks != ranks || m.MPI.Library != library || m.Dropped != 0 || len(m.Worlds) != 1 || m.Worlds[0].RanksRecorded != ranks {
		t.Errorf("manifest %+v", m)
	}

	run := readBursts(t, out)
	if len(run.Threads) != ranks {
		t.Fatalf("%d threads", len(run.Threads))
	}
	var agree, total int
	kinds := map[int32]map[int]int{} // by cluster, by kind
	for rank := range run.Threads {
		own := readPlanted(t, planted, rank)
		b := &run.Threads[rank].Bursts
		// One burst before the first planted one (Init to Barrier), one after the last (to Finalize).
		if b.Len() != len(own)+2 {
			t.Fatalf("rank %d: %d bursts, planted %d", rank, b.Len(), len(own))
		}
		shifts := make([]int64, len(own))
		for i, p := range own {
			shifts[i] = p.start - b.StartNS[i+1]
		}
		slices.Sort(shifts)
		shift := shifts[len(shifts)/2]
		for i, p := range own {
			start, duration := b.StartNS[i+1], b.DurationNS[i+1]
			tolerance := 2_000 + (p.end-p.start)/100
			if near(start+shift, p.start, tolerance) && near(duration, p.end-p.start, tolerance) {
				agree++
			}
			total++
			c := b.Cluster[i+1]
			if kinds[c] == nil {
				kinds[c] = map[int]int{}
			}
			kinds[c][p.kind]++
		}
	}
	if agree*100 < total*99 {
		t.Errorf("%d of %d bursts agree with the program's own clock", agree, total)
	}
	held := 0
	for id := int32(1); id <= 3; id++ {
		most, all := 0, 0
		for _, n := range kinds[id] {
			most, all = max(most, n), all+n
		}
		held += all
		if all == 0 || most*100 < all*99 {
			t.Errorf("cluster %d holds kinds %v", id, kinds[id])
		}
	}
	if held*100 < total*95 {
		t.Errorf("the three largest clusters hold %d of %d planted bursts: %v", held, total, kinds)
	}

	checkTrace(t, out, run)
}

func near(a, b, tolerance int64) bool { return a-b <= tolerance && b-a <= tolerance }

// checkTrace sees that trace.prv holds the same bursts, calls and times as bursts.parquet and manifest.json.
func checkTrace(t *testing.T, dir string, bursts *trace.Run) {
	t.Helper()
	read, err := prv.ReadFile(filepath.Join(dir, "trace.prv"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Run.Threads) != len(bursts.Threads) {
		t.Fatalf("trace.prv has %d threads, bursts.parquet %d", len(read.Run.Threads), len(bursts.Threads))
	}
	calls := map[string]int{}
	for i := range read.Run.Threads {
		a, b := &read.Run.Threads[i], &bursts.Threads[i]
		type columns struct {
			World, Rank, Thread int
			Start, Duration     []int64
			Cluster             []int32
			Before, After       []string
			Counters            [][]int64
		}
		of := func(run *trace.Run, t *trace.Thread) columns {
			c := columns{t.World, t.Rank, t.Thread, t.Bursts.StartNS, t.Bursts.DurationNS, t.Bursts.Cluster, nil, nil, t.Bursts.Counters}
			for k := range t.Bursts.Before {
				c.Before = append(c.Before, function(run, t.Bursts.Before[k]))
				c.After = append(c.After, function(run, t.Bursts.After[k]))
			}
			return c
		}
		if d := cmp.Diff(of(bursts, b), of(read.Run, a), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("thread %d differs (-bursts.parquet +trace.prv):\n%.2000s", i, d)
		}
		for _, p := range a.Calls.Path {
			calls[read.Run.CallPaths[p].Function]++
		}
	}
	want := readManifest(t, dir).MPICalls
	for name, n := range calls {
		// A run of polls is one call in trace.prv.
		if slices.Contains(polling, name) && 0 < n && n <= want[name] {
			want[name] = n
		}
	}
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("MPI calls differ (-manifest.json +trace.prv):\n%s", d)
	}
}

var polling = []string{
	"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status", "MPI_Parrived", "MPI_Win_test",
}

// function is the MPI function of a call path; of its places trace.prv knows nothing.
func function(run *trace.Run, path uint32) string {
	name, _, _ := strings.Cut(run.CallPaths[path].Function, "@")
	return name
}
