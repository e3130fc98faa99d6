package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
	"moriens/collector/health"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// collectAs starts so many collectors of one run.
func collectAs(t *testing.T, mpi mpitest.MPI, members int, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	words := mpi.Args(members, "", append([]string{mpi.Program(t), "collect"}, args...)...)
	cmd := exec.Command(words[0], words[1:]...)
	output := new(strings.Builder)
	cmd.Env, cmd.Stdout, cmd.Stderr = mpitest.Environ(), output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, output
}

// pageNow is what the first collector of a run says of all, once it is as wanted.
func pageNow(t *testing.T, out string, wanted func(*health.Page) bool) *health.Page {
	t.Helper()
	var last string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		o := execute(t, nil, binary(t), "status", out, "--json", "--timeout", "1m")
		last = o.stdout + o.stderr
		var state struct{ Collector *health.Page }
		if json.Unmarshal([]byte(o.stdout), &state) == nil && state.Collector != nil && wanted(state.Collector) {
			return state.Collector
		}
	}
	t.Fatalf("the page is\n%s", last)
	return nil
}

// jobOfTwo runs a job of 8 ranks on two nodes, whose agents belong to two collectors.
func jobOfTwo(t *testing.T, mpi mpitest.MPI, counts string, app ...string) (out, output string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "run")
	collect, said := collectAs(t, mpi, 2, "--out", out, "--agents", "2")
	_, meet := readMeeting(t, out, said)
	var agents []*exec.Cmd
	job := []string{mpitest.OpenMPI.Launcher, "--oversubscribe"}
	for node := range 2 {
		shm, spool := t.TempDir(), t.TempDir()
		cmd, _ := start(t, "agent", "--dir", out, "--shm", shm, "--spool", spool)
		agents = append(agents, cmd)
		if node > 0 {
			job = append(job, ":")
		}
		job = append(append(job, "-n", "4", "-x", "LD_PRELOAD="+mpitest.Library(t), "-x", "MORIENS_SHM="+shm), app...)
	}
	if o := execute(t, []string{"MINIAPP_OUT=" + counts, "MORIENS_RUN=" + meet.Run, "OMPI_MCA_mpi_yield_when_idle=1"}, job...); o.status != 0 {
		t.Fatalf("the job ends with %d\n%s", o.status, o.stderr)
	}
	for _, a := range agents {
		if err := a.Wait(); err != nil {
			t.Error(err)
		}
	}
	if err := collect.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out, said.String()
}

// A job of two collectors: one run directory has every call of all, as the ranks have counted them.
func TestJobOfTwoCollectors(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		counts := t.TempDir()
		out, output := jobOfTwo(t, mpi, counts, mpitest.OpenMPI.App(t, "planted"), "1", "300", "900", "2700", "12", "3")
		rundirtest.CheckWaits(t, out)
		rundirtest.CheckPairs(t, out)
		m := readManifest(t, out)
		if d := cmp.Diff(sum(mpitest.Counts(t, counts)), m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		if m.Ranks != 8 || len(m.Worlds) != 1 || m.Worlds[0].RanksRecorded != 8 || m.Bursts == 0 || m.Dropped != 0 || m.Losses.MessagesRefused != 0 {
			t.Errorf("%+v", m)
		}
		if n := strings.Count(output, "results: "); n != 1 {
			t.Errorf("the results are announced %d times\n%s", n, output)
		}
		for _, gone := range []string{"collector.json", "journal"} {
			if _, err := os.Stat(filepath.Join(out, gone)); err == nil {
				t.Errorf("%s is still there", gone)
			}
		}
	})
}

// Where messages are not kept one by one, partners of a line are those of all messages of all ranks, whichever
// collector has them: also the one of 24,001 that goes elsewhere.
func TestPartnersOfTwoCollectors(t *testing.T) {
	t.Parallel()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.Launcher)
	out, _ := jobOfTwo(t, mpi, t.TempDir(), mpi.App(t, "partners"), "3000")
	pairs, err := rundir.ReadPairs(out)
	if err != nil {
		t.Fatal(err)
	}
	if pairs.Basis != rundir.PairsWindows {
		t.Fatalf("all messages are kept one by one: %s", pairs.Basis)
	}
	type figures struct {
		count       int64
		least, most int64
		peers       string
	}
	got := make(map[string]figures)
	program.Walk(readProgram(t, out).Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindMPI || len(n.Peers) == 0 {
			return
		}
		f := figures{count: n.Count, least: n.Bytes.Least, most: n.Bytes.Most}
		for _, p := range n.Peers {
			f.peers += p.Way + " " + p.Text + "; "
		}
		got[n.Function] = f
	})
	want := map[string]figures{
		"MPI_Send":     {24001, 800, 4000, "to 0→1 5; 1→2; 2→3; 3→4; … 8 ranks in all; "},
		"MPI_Recv":     {24001, 800, 4000, "from 0←7; 1←0; 2←1; 3←2; … 8 ranks in all; "},
		"MPI_Sendrecv": {32, 64, 64, "to (rank+4) mod size; from (rank+4) mod size; "},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	verified(t, out)
}

// A collector that is killed takes the others along, and the launcher says that it failed. Others, more or fewer,
// resume the run, in the end one by itself: nothing that was acknowledged is lost, for an agent would not send that
// again, and nothing is there twice.
func TestKilledCollectors(t *testing.T) {
	t.Parallel()
	const ranks = 4
	mpi := mpitest.OpenMPI
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"--keep-bursts", "all", "--moriens-timeout", "10m", "--out", out}
	collect, output := collectAs(t, mpi, 2, args...)
	_, meet := readMeeting(t, out, output)
	stop := make(chan bool)
	end := sync.OnceFunc(func() { close(stop) })
	var senders sync.WaitGroup
	defer senders.Wait()
	defer end()
	agents := sendUntil(t, stop, &senders, out, meet.Run, ranks, 2*time.Millisecond)
	for i, next := range []int{3, 1, 2, 0} {
		// Agents have connected to each of the present collectors that has any, and those have safe what they have sent.
		bursts := uint64(0)
		page := pageNow(t, out, func(p *health.Page) bool {
			connected, _ := p.Connected()
			if connected == ranks && bursts == 0 {
				bursts = p.Bursts
			}
			return bursts > 0 && p.Bursts > bursts
		})
		victim := page.PID
		if n := len(page.Members); n > 0 && i%2 == 0 {
			victim = page.Members[n-1].PID
		}
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := collect.Wait(); err == nil {
			t.Errorf("a collector was killed, and its launcher ends with success\n%s", output)
		}
		if next == 0 {
			collect, output = start(t, append([]string{"collect"}, args...)...)
		} else {
			collect, output = collectAs(t, mpi, next, args...)
		}
	}
	pageNow(t, out, func(p *health.Page) bool {
		connected, _ := p.Connected()
		return connected == ranks
	})
	end()
	senders.Wait()
	if err := collect.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	m := readManifest(t, out)
	calls, want := callsOf(m, agents)
	if m.Ranks != ranks || calls != want || m.Bursts != want-ranks || m.Losses.MessagesRefused != 0 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("%d ranks, %d calls and %d bursts, want %d, %+v, notes %q", m.Ranks, calls, m.Bursts, want, m.Losses, m.Notes)
	}
	if m.Losses.CollectorRestarts != 4 {
		t.Errorf("%d restarts", m.Losses.CollectorRestarts)
	}
	if text, err := os.ReadFile(filepath.Join(out, "collector.json")); err == nil {
		t.Errorf("there is still %s", text)
	}
}

// A mistake is reported once, whichever collector has found it, and nothing is begun.
func TestCollectorsMistakes(t *testing.T) {
	t.Parallel()
	mpi := mpitest.OpenMPI
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--out", full}, "is not empty"},
		{[]string{"--out", filepath.Join(t.TempDir(), "run"), "--listen", "nowhere:0"}, "collector at nowhere:0"},
		{[]string{"--out", filepath.Join(t.TempDir(), "run"), "--listen", "127.0.0.1:65535"}, "65536"},
	} {
		cmd, output := collectAs(t, mpi, 2, tt.args...)
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: it ends with success\n%s", tt.args, output)
		}
		if n := strings.Count(output.String(), "hint: "); n != 1 || !strings.Contains(output.String(), tt.want) {
			t.Errorf("%v: %q, said %d times:\n%s", tt.args, tt.want, n, output)
		}
		if found, _ := filepath.Glob(filepath.Join(tt.args[1], "journal*")); len(found) > 0 {
			t.Errorf("%v: there is %s", tt.args, fmt.Sprint(found))
		}
	}
}
