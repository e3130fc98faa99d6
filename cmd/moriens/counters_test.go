package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
)

// A program that counts for itself, with kinds of bursts that only two counters together distinguish: the clusters are
// exactly the kinds, and every count in bursts.parquet and trace.prv is the planted one.
func TestCounters(t *testing.T) {
	testenv.NeedFile(t, "/usr/include/sde_lib.h")
	const ins, cyc = "sde:::planted::INS", "sde:::planted::CYC"
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
		args := []string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--events", ins + "," + cyc + ",PAPI_NO_SUCH", "--min-duration", "0",
			"--dims", ins + ":log," + ins + "/" + cyc, "--"}
		o := execute(t, []string{"MINIAPP_OUT=" + planted}, append(args, mpi.Args(2, "", mpi.App(t, "sde", "-lsde"), "200")...)...)
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
		m := readManifest(t, out)
		if d := cmp.Diff(sum(mpitest.Counts(t, planted)), m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		notes := strings.Join(m.Notes, "\n")
		if !slices.Equal(m.Losses.CountersUnavailable, []string{"PAPI_NO_SUCH"}) || strings.Count(notes, "not counted: PAPI_NO_SUCH: ") != 1 {
			t.Errorf("unavailable %v, notes:\n%s", m.Losses.CountersUnavailable, notes)
		}

		run := readBursts(t, out)
		if d := cmp.Diff([]trace.Counter{{Name: ins}, {Name: cyc}}, run.Counters); d != "" {
			t.Fatal(d)
		}
		clusters := map[int]int32{} // by kind
		var sums [4][2]int64
		for rank := range run.Threads {
			own := readPlanted(t, planted, rank) // kind, INS, CYC
			b := &run.Threads[rank].Bursts
			if b.Len() != len(own)+4 {
				t.Fatalf("rank %d: %d bursts, planted %d", rank, b.Len(), len(own))
			}
			for i, p := range own {
				k := i + 1 // the first is before MPI_Irecv
				if b.Counters[0][k] != p.start || b.Counters[1][k] != p.end {
					t.Fatalf("rank %d burst %d: %d, %d; planted %v", rank, k, b.Counters[0][k], b.Counters[1][k], p)
				}
				if clusters[p.kind] == 0 {
					clusters[p.kind] = b.Cluster[k]
				}
				if b.Cluster[k] != clusters[p.kind] {
					t.Fatalf("rank %d burst %d of kind %d is in cluster %d, others in %d", rank, k, p.kind, b.Cluster[k], clusters[p.kind])
				}
				sums[p.kind][0] += p.start
				sums[p.kind][1] += p.end
			}
			for _, k := range []int{0, b.Len() - 3, b.Len() - 2, b.Len() - 1} { // nothing was added: no logarithm
				if b.Counters[0][k] != 0 || b.Cluster[k] != trace.LabelMissing {
					t.Errorf("rank %d burst %d: %d in %d", rank, k, b.Counters[0][k], b.Cluster[k])
				}
			}
		}
		if ids := []int32{clusters[1], clusters[2], clusters[3]}; len(run.Clusters) != 3 || !slices.Contains(ids, 1) || !slices.Contains(ids, 2) || !slices.Contains(ids, 3) {
			t.Errorf("%d clusters; of the kinds: %v", len(run.Clusters), clusters)
		}
		checkTrace(t, out, run)

		means := readMeans(t, out)
		for kind := 1; kind <= 3; kind++ {
			for c, name := range []string{ins, cyc} {
				want := float64(sums[kind][c]) / 400
				if got := means[clusters[kind]][name]; got < want*(1-1e-12) || got > want*(1+1e-12) {
					t.Errorf("mean %s of kind %d: %v, want %v", name, kind, got, want)
				}
			}
		}
	})
}

// readMeans reads the clusters' mean counts from clusters.json.
func readMeans(t *testing.T, dir string) map[int32]map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "clusters.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Clusters []struct {
			ID       int32
			Counters []struct {
				Name string
				Mean float64
			}
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	means := map[int32]map[string]float64{}
	for _, k := range c.Clusters {
		means[k.ID] = map[string]float64{}
		for _, m := range k.Counters {
			means[k.ID][m.Name] = m.Mean
		}
	}
	return means
}

// Dimensions whose counters turn out to be missing are replaced. That is printed once while the job runs, and is a note
// of the results.
func TestMissingCounters(t *testing.T) {
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	args := []string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--events", "PAPI_TOT_INS,PAPI_TOT_CYC", "--dims", "IPC", "--"}
	o := execute(t, []string{"MINIAPP_OUT=" + planted, "MORIENS_PAPI=/nowhere.so"},
		append(args, mpi.Args(2, "", mpi.App(t, "polls"), "compute", "100", "200")...)...)
	const notice = "moriens: PAPI_TOT_INS, PAPI_TOT_CYC: not measured; the dimensions are duration:log instead of IPC:lin, unless later processes measure what is missing\n" +
		"hint: --events selects the events, moriens doctor lists available ones; the job continues\n"
	if o.status != 0 || o.stderr != notice {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	m := readManifest(t, out)
	notes := strings.Join(m.Notes, "\n")
	if !slices.Equal(m.Losses.CountersUnavailable, []string{"PAPI_TOT_CYC", "PAPI_TOT_INS"}) ||
		!strings.Contains(notes, "not counted: PAPI_TOT_CYC, PAPI_TOT_INS: PAPI is not installed") ||
		!strings.Contains(notes, "PAPI_TOT_INS, PAPI_TOT_CYC: not measured; the dimensions are duration:log instead of IPC:lin") {
		t.Errorf("unavailable %v, notes:\n%s", m.Losses.CountersUnavailable, notes)
	}
	run := readBursts(t, out)
	if len(run.Clusters) == 0 {
		t.Error("no clusters")
	}
	checkTrace(t, out, run)
}

// A dimension without a counter is reported while the job runs, as soon as its first process has connected, and once.
func TestDimensionThatIsNotCounted(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	collect := exec.Command(binary(t), "collect", "--out", out, "--dims", "foo:lin")
	collect.Stderr = said
	if err := collect.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { collect.Process.Kill() })
	_, meet := readMeeting(t, out, new(strings.Builder))
	times := func() int {
		text, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "moriens: foo: not measured; the dimensions are duration:log instead of foo:lin, unless ")
	}
	if times() != 0 {
		t.Error("reported before a process connected")
	}
	var agents []*testAgent
	for rank := range 2 {
		agents = append(agents, newTestAgent(t, out, meet.Run, rank, 2))
		waitFor(t, "word of foo", func() bool { return times() > 0 })
	}
	for rank, a := range agents {
		a.sample(t, 0)
		a.send(t, rank)
		a.end(t, rank)
	}
	if err := collect.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := times(); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

// Polling is counted call by call, and computation between polls is kept.
func TestPolls(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		const n, ns = 300, 300_000
		app := mpi.App(t, "polls")
		for _, args := range [][]string{{"each", "20000"}, {"pool", "5000", "300"}, {"compute", "300", "300"}} {
			planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
			command := append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(1, "", append([]string{app}, args...)...)...)
			o := execute(t, []string{"MINIAPP_OUT=" + planted}, command...)
			if o.status != 0 || o.stderr != "" {
				t.Fatalf("status %d\n%s", o.status, o.stderr)
			}
			m := readManifest(t, out)
			if d := cmp.Diff(sum(mpitest.Counts(t, planted)), m.MPICalls); d != "" || m.Dropped != 0 {
				t.Errorf("dropped %d, MPI calls differ (-made +recorded):\n%s", m.Dropped, d)
			}
			if args[0] == "pool" { // its thread has no burst, so that bursts.parquet does not know it
				continue
			}
			run := readBursts(t, out)
			checkTrace(t, out, run)
			if args[0] != "compute" {
				continue
			}
			b := &run.Threads[0].Bursts
			if b.Len() != n+4 {
				t.Fatalf("%d bursts, planted %d", b.Len(), n)
			}
			for i, p := range readPlanted(t, planted, 0) {
				if got := b.DurationNS[i+1]; got < ns || got < p.end-p.start-1000 {
					t.Errorf("burst %d of %d ns lasts %d", i, p.end-p.start, got)
				}
			}
		}
	})
}
