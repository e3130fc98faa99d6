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
	"moriens/trace/rundir/rundirtest"
)

func readBursts(t testing.TB, dir string) *trace.Run {
	t.Helper()
	run, err := parquet.ReadFile(filepath.Join(dir, "bursts.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A real program with planted kinds of bursts: its calls are counted exactly, its bursts have the times that its own
// clock read, and its kinds are the largest clusters. On a busy machine bursts are longer than planned: kinds are
// checked for those that are not.
func TestPlantedJob(t *testing.T) {
	mpitest.Each(t, plantedJob)
}

func plantedJob(t *testing.T, mpi mpitest.MPI) {
	app := mpi.App(t, "planted")
	const ranks = 2
	planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(ranks, "", app, "2")...)
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
	var clustered kinds
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
			start, duration := b.StartNS[i+1]+shift, b.DurationNS[i+1]
			// A rank that is made to wait between a call and its own reading of the clock reads it so much later, or has read it
			// so much earlier.
			tolerance, before, after := 2_000+(p.end-p.start)/100, max(p.away, 0), int64(0)
			if i+1 < len(own) {
				after = max(own[i+1].away, 0)
			}
			if within(start-p.start, -tolerance-before, tolerance) && within(duration-(p.end-p.start), -tolerance, tolerance+before+after) {
				agree++
			}
			total++
			clustered.add(p, b.Cluster[i+1])
		}
	}
	if agree*100 < total*99 {
		t.Errorf("%d of %d bursts agree with the program's own clock", agree, total)
	}
	clustered.check(t)
	checkTrace(t, out, run)
}

// kinds are the planted bursts by cluster and kind: all of them, and those that lasted as planned.
type kinds struct {
	all, asPlanned    map[int32][4]int
	plannedNS, tookNS int64
}

func (k *kinds) add(p plantedBurst, cluster int32) {
	if k.all == nil {
		k.all, k.asPlanned = map[int32][4]int{}, map[int32][4]int{}
	}
	planned, took := [4]int64{1: 200_000, 2: 6_000_000, 3: 180_000_000}[p.kind], p.end-p.start
	count := func(m map[int32][4]int) {
		n := m[cluster]
		n[p.kind]++
		m[cluster] = n
	}
	count(k.all)
	if took < planned+planned/20 {
		count(k.asPlanned)
	}
	k.plannedNS, k.tookNS = k.plannedNS+planned, k.tookNS+took
}

// check checks that the bursts of a kind that lasted as planned are in one cluster, which has no other kind, if nine of
// ten did: a few are in none. These clusters are the largest where all took little longer than planned.
func (k *kinds) check(t *testing.T) {
	t.Helper()
	held, total := 0, 0
	for kind := 1; kind <= 3; kind++ {
		of, most, asPlanned, made := int32(0), 0, 0, 0
		for c, n := range k.all {
			p := k.asPlanned[c][kind]
			asPlanned, made = asPlanned+p, made+n[kind]
			if p > most {
				of, most = c, p
			}
		}
		if asPlanned*10 < made*9 {
			continue
		}
		held, total = held+most, total+asPlanned
		if all := k.all[of]; of < 1 || all[kind]*100 < (all[1]+all[2]+all[3])*99 {
			t.Errorf("most bursts of kind %d are in cluster %d, which holds %v", kind, of, all)
		}
		if k.tookNS < k.plannedNS+k.plannedNS/20 && (of < 1 || of > 3) {
			t.Errorf("the cluster of kind %d is %d", kind, of)
		}
	}
	if held*100 < total*95 {
		t.Errorf("the clusters of the three kinds hold %d of %d planted bursts: %v of %v", held, total, k.asPlanned, k.all)
	}
}

func within(x, least, most int64) bool { return least <= x && x <= most }

// checkTrace checks that trace.prv holds the same bursts, calls and times as bursts.parquet and manifest.json, and that
// waits add up.
func checkTrace(t *testing.T, dir string, bursts *trace.Run) {
	t.Helper()
	rundirtest.CheckWaits(t, dir)
	rundirtest.CheckPairs(t, dir)
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
