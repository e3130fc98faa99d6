package main_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// A lateRun is a run of the mini-app late, and who is late in it.
type lateRun struct {
	how   string
	ranks int
	who   rundir.ThreadName
	named string // as texts have it
	kind  trace.WaitKind
	waits int64  // of this kind; 0: that is chance
	place string // the comment at the call before which it is late

	iterations int // 0: lateIterations
}

const lateIterations, lateUS = 40, 20_000

// lateRuns are those of an MPI library. Ranks of MPICH need a core each while they wait.
func lateRuns(mpi mpitest.MPI) map[string]lateRun {
	n := 2
	if mpi.Name == mpitest.OpenMPI.Name {
		n = 4
	}
	one, meetings := rundir.ThreadName{Rank: 1}, int64((n-1)*lateIterations)
	return map[string]lateRun{
		"allreduce": {"allreduce", n, one, "rank 1", trace.AtNToN, meetings, "all meet", 0},
		"barrier":   {"barrier", n, one, "rank 1", trace.AtBarrier, meetings, "all meet in a barrier", 0},
		"test":      {"test", n, one, "rank 1", trace.AtNToN, 0, "all begin to meet", 0},
		"ring":      {"ring", n, one, "rank 1", trace.LateSender, 0, "to the next", 0},
		"chain":     {"chain", n, rundir.ThreadName{}, "rank 0", trace.LateSender, 0, "down the chain", 0},
		"threads":   {"threads", 2, rundir.ThreadName{Rank: 1, Thread: 1}, "rank 1 thread 1", trace.AtNToN, 3 * (lateIterations + 1), "all meet", 0},
	}
}

// measured measures it, and checks that its waits add up.
func (r lateRun) measured(t *testing.T, mpi mpitest.MPI, options ...string) (out, summary string, w *rundir.Waits) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "run")
	program := []string{mpi.App(t, "late", "-pthread"), r.how, fmt.Sprint(r.who.Rank), fmt.Sprint(lateUS), fmt.Sprint(cmp.Or(r.iterations, lateIterations)), filepath.Join(t.TempDir(), "arrived")}
	args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", out}, options...)
	o := execute(t, []string{"OMPI_MCA_mpi_yield_when_idle=1"}, append(append(args, "--"), mpi.Args(r.ranks, "", program...)...)...)
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	rundirtest.CheckPairs(t, out)
	return out, o.stdout, rundirtest.CheckWaits(t, out)
}

// callSite is where a comment of a mini-app is, as call paths have it.
func callSite(t *testing.T, app, comment string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(mpitest.Root(t), "testdata", "miniapp", app))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "/* "+comment+" */")
	if !found {
		t.Fatalf("%s has no comment %q", app, comment)
	}
	return fmt.Sprintf("@%s:%d", app, 1+strings.Count(before, "\n"))
}

var makesWait = regexp.MustCompile(`(?m)^(.*) makes others wait .* of all waits\) in (.*): [\d,]+ waits?, on average .* longer than on the waiting (?:rank|thread)$`)

// check checks that all say who is late, and where.
func (r lateRun) check(t *testing.T, out, summary string, table *rundir.WaitsTable) {
	t.Helper()
	first, place := &table.Causes[0], callSite(t, "late.c", r.place)
	if first.ThreadName != r.who || first.What != rundir.CauseComputing || !strings.HasSuffix(first.CallPath, place) {
		t.Errorf("the first cause is %s, %s before %s, want %s before %s", first.Short(false), first.What, first.CallPath, r.named, place)
	}
	most, caused := rundir.ThreadName{}, rundir.Number(-1)
	for _, x := range table.ByRank {
		if x.Caused > caused {
			most, caused = x.ThreadName, x.Caused
		}
	}
	if most != r.who {
		t.Errorf("%s makes others wait most, want %s: %+v", most.Short(false), r.named, table.ByRank)
	}
	count := int64(0)
	for _, k := range table.Kinds {
		if k.Kind == r.kind.String() {
			count = k.Count
		}
	}
	if r.waits > 0 && count != r.waits || count == 0 {
		t.Errorf("%d waits of the kind %s, want %d", count, r.kind, r.waits)
	}
	o := execute(t, nil, binary(t), "waits", out)
	said := makesWait.FindStringSubmatch(o.stdout)
	if o.status != 0 || said == nil || said[1] != r.named || !strings.HasSuffix(said[2], place) {
		t.Errorf("status %d, want %s and %s first\n%s%s", o.status, r.named, place, o.stdout, o.stderr)
	}
	if !regexp.MustCompile(`(?m)^waits, all (?:rank|thread)s: .*\): ` + r.named + ` (causes|makes others wait) `).MatchString(summary) {
		t.Errorf("the summary does not name %s:\n%s", r.named, summary)
	}
}

// A rank, or a thread, that is late is the first cause of waits, whichever way others meet it, and whatever is kept.
func TestLateRank(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		runs := lateRuns(mpi)
		for _, c := range []struct {
			how  string
			keep []string
		}{
			{"allreduce", nil}, {"barrier", []string{"--keep-bursts", "all"}}, {"test", nil}, {"ring", nil}, {"ring", []string{"--keep-bursts", "all"}},
			{"threads", nil}, {"threads", []string{"--keep-bursts", "all"}},
		} {
			t.Run(c.how+strings.Join(c.keep, ""), func(t *testing.T) {
				r := runs[c.how]
				out, summary, w := r.measured(t, mpi, c.keep...)
				r.check(t, out, summary, w.WholeRun)
				read, err := prv.ReadFile(filepath.Join(out, rundir.TraceFile), prv.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := math.Round(float64(w.WholeRun.Seconds) * 1e9); got != float64(read.Run.DurationNS) {
					t.Errorf("the critical path has %v ns of %d", got, read.Run.DurationNS)
				}
			})
		}
	})
}

// Ranks that wait for others who wait themselves hand their waits on: in a pipeline all are due to the first rank.
func TestLateChain(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		r := lateRuns(mpi)["chain"]
		out, summary, w := r.measured(t, mpi, "--keep-bursts", "all")
		r.check(t, out, summary, w.WholeRun)
		if first := w.WholeRun.Causes[0]; r.ranks > 2 && !(first.Direct < first.Seconds) {
			t.Errorf("nothing is handed on: %+v", first)
		}
		// A rank waits for the one before it, and nobody for the last.
		waited := make(map[int]int)
		for _, l := range w.WholeRun.Links {
			waited[l.For.Rank]++
			if l.Waiting.Rank != l.For.Rank+1 {
				t.Errorf("rank %d waits for rank %d", l.Waiting.Rank, l.For.Rank)
			}
		}
		if waited[0] != 1 || w.WholeRun.LinksTotal != len(w.WholeRun.Links) {
			t.Errorf("links %+v", w.WholeRun.Links)
		}
	})
}

// unexplained is how many calls of a run are not explained for such a reason.
func unexplained(t *testing.T, out, reason string) (calls int64) {
	t.Helper()
	w, err := rundir.ReadWaits(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range w.WholeRun.NotExplained {
		if x.What == reason {
			calls += x.Calls
		}
	}
	return calls
}

// unknownWaits checks that nothing is known of the waits of a run, and that moriens waits says why.
func unknownWaits(t *testing.T, out, why string) {
	t.Helper()
	rundirtest.CheckPairs(t, out)
	w := rundirtest.CheckWaits(t, out)
	if w.WholeRun != nil || len(w.Why) != 1 || !strings.Contains(w.Why[0], why) {
		t.Errorf("%+v, want %q", w, why)
	}
	for _, args := range [][]string{nil, {"--windows"}, {"--by", "rank"}, {"--by", "rank", "--json"}} {
		o := execute(t, nil, append([]string{binary(t), "waits", out}, args...)...)
		if o.status != 2 || o.stdout != "" {
			t.Errorf("%q: status %d\n%s", args, o.status, o.stdout)
		}
		contains(t, o.stderr, "the waits are not known: ", why, "\nhint: ")
	}
	file, err := os.ReadFile(filepath.Join(out, rundir.WaitsFile))
	if o := execute(t, nil, binary(t), "waits", "--json", out); err != nil || o.status != 0 || o.stdout != string(file) {
		t.Errorf("%v, status %d, %s", err, o.status, o.stdout)
	}
}

// Where bursts stay on their nodes waits are not known.
func TestWaitsOfCells(t *testing.T) {
	t.Parallel()
	testenv.Need(t, mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	out, summary, _ := lateRuns(mpitest.OpenMPI)["allreduce"].measured(t, mpitest.OpenMPI, "--cells")
	unknownWaits(t, out, "with --cells calls stay on the nodes")
	if strings.Contains(summary, "\nwaits, ") {
		t.Errorf("the summary has waits:\n%s", summary)
	}
}

// Nor are they of what a trace has if that is only windows of a run, or nothing that calls MPI.
func TestWaitsOfTraces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none.prv")
	text := "#Paraver (04/03/2026 at 15:06):9000_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:5000:1\n1:1:1:1:1:5000:9000:1\n"
	if err := os.WriteFile(none, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	analyze := func(name, path string, status int, options ...string) string {
		out := filepath.Join(dir, name)
		if o := execute(t, nil, append([]string{binary(t), "analyze", path, "--out", out}, options...)...); o.status != status {
			t.Errorf("%s: status %d\n%s%s", name, o.status, o.stdout, o.stderr)
		}
		return out
	}
	unknownWaits(t, analyze("none", none, 0), "no call of MPI is known")
	whole := analyze("whole", testenv.RealTrace(t, "epoch_4proc.prv.gz"), 0, "--keep", "1800kB")
	if w := rundirtest.CheckWaits(t, whole); w.WholeRun == nil || w.WholeRun.Basis != rundir.WaitsFull {
		t.Errorf("%+v", w)
	}
	if m, err := rundir.ReadManifest(whole); err != nil || len(m.Kept.Windows) == 0 {
		t.Errorf("%v: no windows are kept", err)
	}
	unknownWaits(t, analyze("windows", filepath.Join(whole, rundir.TraceFile), 3), "only windows of a run")
}
