package main_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/health"
	"moriens/collector/journal"
	"moriens/internal/mpitest"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// brief is a job of many short bursts: each iteration has 521 of a rank, and takes 50 ms.
func brief(t *testing.T, mpi mpitest.MPI, iterations string) []string {
	return []string{mpi.App(t, "planted"), iterations, "80", "300", "2000", "500", "20"}
}

// checkKept checks that a run whose bursts were kept with their agents has every call that was made, and every burst.
func checkKept(t *testing.T, out string, made, ranks int) {
	t.Helper()
	manifest, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	m, c := readManifest(t, out), manifest.Cells
	calls := 0
	for _, n := range m.MPICalls {
		calls += n
	}
	if m.Ranks != ranks || calls != made || m.Bursts != made-ranks || m.Losses.MessagesRefused != 0 || m.Dropped != 0 {
		t.Errorf("%d ranks, %d bursts, calls %v, want %d calls and %d bursts; losses %+v", m.Ranks, m.Bursts, m.MPICalls, made, made-ranks, m.Losses)
	}
	if c == nil || c.LostBursts != 0 || len(c.Unanswered) != 0 || c.Agents != 1 || c.RanksInFull+c.RanksInSum != ranks {
		t.Errorf("cells: %+v", c)
	}
	rundirtest.CheckProfilePhases(t, out)
	contains(t, execute(t, nil, binary(t), "efficiency", out).stdout, "within run: the whole run\n", " · bounds\n", "\nbounds: only sums of the whole run are known")
}

// Collector and agent are killed while ranks run. The agent keeps every burst over its lives, and the collector that
// follows asks for them: only who the ranks are was ever sent.
func TestCellsKilled(t *testing.T) {
	t.Parallel()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	dir, shm := t.TempDir(), t.TempDir()
	out, over := filepath.Join(dir, "run"), filepath.Join(dir, "over")
	dims := []string{"--cells", "--dims", "duration:log", "--cell-side", "0.004"}
	collect, output := start(t, append([]string{"collect", "--out", out, "--keep-work"}, dims...)...)
	agentArgs := append([]string{"agent", "--dir", out, "--shm", shm, "--spool", filepath.Join(dir, "spool")}, dims...)
	agent, _ := start(t, agentArgs...)
	_, meet := readMeeting(t, out, output)
	args := mpi.Args(2, library, mpi.App(t, "until"), over)
	job := exec.Command(args[0], args[1:]...)
	job.Env = mpitest.Environ("MORIENS_RUN="+meet.Run, "MORIENS_SHM="+shm, "OMPI_MCA_mpi_yield_when_idle=1")
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { job.Process.Kill() })
	kept := func(more uint64) uint64 {
		t.Helper()
		p := pageNow(t, out, func(p *health.Page) bool {
			return p.Cells != nil && p.Cells.Bursts > more && p.Bursts == p.Cells.Bursts
		})
		if p.Calls != 0 || p.Cells.Agents != 1 || p.Cells.Lost != 0 || p.Cells.Units == 0 || p.Cells.Seconds == 0 || p.Clusters.Bursts != 0 {
			t.Errorf("%d calls have come, %d bursts are clustered; cells: %+v", p.Calls, p.Clusters.Bursts, p.Cells)
		}
		return p.Cells.Bursts
	}
	bursts := kept(100)
	kill(collect)
	collect, output = start(t, "collect", "--out", out, "--keep-work") // the journal has the other options
	meetAgain(t, out, collect, output)
	bursts = kept(bursts)
	kill(agent)
	agent, said := start(t, agentArgs...)
	kept(bursts)
	contains(t, execute(t, nil, binary(t), "status", out, "--timeout", "2m").stdout, "bursts are kept on their nodes, in ", "of threads that have ended")
	end(t, over)
	if err := job.Wait(); err != nil {
		t.Errorf("the job: %v", err)
	}
	if err := collect.Wait(); err != nil {
		t.Errorf("collect: %v\n%s", err, output)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("agent: %v\n%s", err, said)
	}
	j, err := journal.Open(filepath.Join(out, rundir.JournalDir), journal.Run{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	made := int(j.Store().Progress().CallsOnNodes) // as the rings' ends have it
	checkKept(t, out, made, 2)
	if bytes, restarts := j.Stats().Bytes, readManifest(t, out).Losses.CollectorRestarts; j.Store().Totals().Calls != 0 || bytes > 16*int64(made) || restarts != 1 {
		t.Errorf("the journal has %d bytes and %d calls of %d, %d restarts", bytes, j.Store().Totals().Calls, made, restarts)
	}
}

// Ranks that start their agent themselves keep their bursts with it too.
func TestCellsPreload(t *testing.T) {
	t.Parallel()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_OPTIONS=--cells"}, mpi.Args(2, "", brief(t, mpi, "20")...)...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	made := 0
	for _, n := range sum(mpitest.Counts(t, j.counts)) {
		made += n
	}
	checkKept(t, filepath.Join(j.folder, "run"), made, 2)
}

// Phases of a job whose bursts are kept on its node are all in the profile, and what was done in each adds up to its
// time.
func TestCellsAnnotated(t *testing.T) {
	t.Parallel()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	const ranks, iterations = 2, 20
	app := mpi.App(t, "annotate", "-I"+filepath.Join(mpitest.Root(t), "cshim", "include"))
	out := filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--cells", "--out", out, "--"}, mpi.Args(ranks, "", app, "nest", fmt.Sprint(iterations))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	counts := make(map[string]int64)
	for _, r := range rundirtest.CheckProfilePhases(t, out).Rows {
		if r.Kind == parquet.ProfilePhase {
			counts[r.Phase] += r.Records
		}
	}
	want := map[string]int64{"": ranks, "solve": ranks, "solve/iteration": ranks * iterations, "solve/iteration/halo": ranks * iterations}
	if d := cmp.Diff(want, counts); d != "" {
		t.Errorf("instances (-want +got):\n%s", d)
	}
}

// Where an agent keeps bursts and the collector expects them, or the reverse, the agent's end reports what to do.
func TestCellsRefused(t *testing.T) {
	t.Parallel()
	side := []string{"--cells", "--cell-side", "0.004"}
	for _, tt := range []struct {
		name           string
		collect, agent []string
		env            []string
		want           []string
	}{
		{"sends", side, nil, nil, []string{"expects agents to keep bursts as micro-cells: ", "side 0.004", "hint: start this one with --cells"}},
		{"keeps", nil, nil, []string{"MORIENS_CELLS=1"}, []string{"expects agents to send bursts", "hint: start it without --cells"}},
		{"side", side, []string{"--cells"}, nil, []string{"expects micro-cells of ", "side 0.004", "but this agent has ", "side auto", "hint: start the agent with the collector's --dims"}},
		{"dims", side, append([]string{"--dims", "duration:lin"}, side...), nil, []string{"dims auto", "dims duration:lin", "hint: start the agent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "run")
			_, output := start(t, append([]string{"collect", "--out", out}, tt.collect...)...)
			readMeeting(t, out, output)
			o := execute(t, tt.env, append([]string{binary(t), "agent", "--dir", out, "--shm", t.TempDir(), "--spool", t.TempDir()}, tt.agent...)...)
			if o.status != 1 {
				t.Errorf("status %d", o.status)
			}
			contains(t, o.stderr, tt.want...)
		})
	}
}

// Without a rank there is nothing to cluster, and nothing wrong with the agent.
func TestCellsWithoutRanks(t *testing.T) {
	t.Parallel()
	o := execute(t, nil, binary(t), "run", "--cells", "--out", filepath.Join(t.TempDir(), "run"), "--shm", t.TempDir(), "--spool", t.TempDir(), "--", "true")
	if contains(t, o.stderr, "no bursts: no process of the job called MPI"); o.status != 0 || strings.Contains(o.stderr, "micro-cells") {
		t.Errorf("status %d: %s", o.status, o.stderr)
	}
}

// Options that are not supported where bursts are kept on their nodes are reported before anything begins.
func TestCellsUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"run --cells --keep-bursts all -- true", "use only one of the two options"},
		{"collect --out never --cells --strict", "use only one of the two options"},
		{"run --cell-side 0.1 -- true", "give --cells too"},
		{"run --cells --cell-side=-1 -- true", "--cell-side=-1: want a length above 0"},
		{"run --cells --cell-side=0 -- true", "--cell-side=0: want a length above 0"},
		{"collect --out never --cells --cell-side=NaN", "leave the option out for the default; with duration as the only dimension"},
		{"run --cells --cell-side=1e300 -- true", "at most 1.84e+19"},
		{"run --cells --cell-side=+Inf -- true", "at most 1.84e+19"},
		{"run --cells --cell-side 0.006 -- true", "side 0.006: want at most 0.005"},
		{"run --cells --cell-side 0.006 --resolution 0.02 -- true", "side 0.006: want at most 0.005"},
		{"collect --out never --cells --cell-side 0.004 --dims duration:log --resolution 0.006", "side 0.004: want at most 0.003"},
		{"run --cells --cell-side 0.001 --dims PAPI_TOT_INS:lin -- true", "a linear quantity is compared by its range"},
		{"agent --dir never --by none", "an agent takes them only with --cells, with the same values as the collector"},
		{"agent --dir never --cells --resolution nan", "give a number of at least 0"},
	} {
		o := execute(t, nil, append([]string{binary(t)}, strings.Fields(tt.args)...)...)
		if o.status != 2 {
			t.Errorf("%s: status %d", tt.args, o.status)
		}
		contains(t, o.stderr, "hint: ", tt.want)
	}
}

// Several collectors cannot ask for micro-cells; none of them leaves a run behind.
func TestCellsOfTwoCollectors(t *testing.T) {
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	out := filepath.Join(t.TempDir(), "run")
	collect, output := collectAs(t, mpi, 2, "--cells", "--out", out)
	if err := collect.Wait(); err == nil {
		t.Error("they collect")
	}
	contains(t, output.String(), "--cells with 2 collectors", "hint: with bursts kept on the nodes one collector is enough")
	if _, err := os.Stat(out); err == nil {
		t.Error("the run directory was made")
	}
}

// The option can come from the environment, and the journal then contains it as well.
func TestCellsEnvironment(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	t.Setenv("MORIENS_CELLS", "1")
	collect, output := start(t, "collect", "--out", out)
	readMeeting(t, out, output)
	contains(t, execute(t, nil, binary(t), "env", out).stdout, "export MORIENS_CELLS='1'\n")
	kill(collect)
	os.Unsetenv("MORIENS_CELLS")
	if err := rendezvous.Remove(out); err != nil {
		t.Fatal(err)
	}
	collect, output = start(t, "collect", "--out", out)
	meet := meetAgain(t, out, collect, output)
	kill(collect)
	contains(t, output.String(), "as the run was started: --cells=true")
	if meet.Cells == "" {
		t.Errorf("the collector that goes on expects bursts: %+v", meet)
	}
}
