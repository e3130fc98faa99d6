package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// TestPreloadAgentKilled: an agent that is killed is restarted and resumes where it was; neither the job nor the
// results notice.
func TestPreloadAgentKilled(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := untilOver(t, mpi, "MORIENS_DIR=run", "MORIENS_DRAIN=0")
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		syscall.Kill(agent, syscall.SIGKILL)
		waitFor(t, "another agent", func() bool {
			pids := j.agents(t)
			return len(pids) == 2 && pids[0] == parent && pids[1] != agent
		})
		end(t, j.over)
		if err := j.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		dir := filepath.Join(j.folder, "run")
		if j.stderr.String() != "moriens: results in "+dir+"\n" {
			t.Errorf("stderr %q", &j.stderr)
		}
		j.checkPreloaded(t, dir, 2)
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
	})
}

// TestPreloadFinish: the user's command ends the measurement, not the job.
func TestPreloadFinish(t *testing.T) {
	j := untilOver(t, mpitest.OpenMPI, "MORIENS_DIR=run", "MORIENS_DRAIN=0")
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	j.waitForAgents(t, 2)
	dir := filepath.Join(j.folder, "run")
	if o := execute(t, nil, binary(t), "finish", dir); o.status != 0 {
		t.Errorf("finish: %+v", o)
	}
	if m := readManifest(t, dir); m.Ranks != 2 {
		t.Errorf("manifest %+v", m)
	}
	end(t, j.over)
	if err := j.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	if got := sum(mpitest.Counts(t, j.counts))["MPI_Finalize"]; got != 2 {
		t.Errorf("%d ranks reached their end", got)
	}
}

// TestPreloadAgentGone: where agent and parent are killed, nothing is left to wait for, and that is reported. The time
// allowed is a day. A collector and an agent make results of everything, and leave nothing else.
func TestPreloadAgentGone(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := untilOver(t, mpi, "MORIENS_TIMEOUT=86400", "MORIENS_DRAIN=0", "MORIENS_DIR=run")
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		syscall.Kill(parent, syscall.SIGKILL)
		syscall.Kill(agent, syscall.SIGKILL)
		end(t, j.over)
		if err := j.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &j.stderr)
		}
		contains(t, j.stderr.String(), "moriens: the agent ended without a message: "+binary(t)+"\nhint: if it was killed, `moriens collect --out`")

		out := filepath.Join(j.folder, "run")
		os.Remove(filepath.Join(out, "collector.json")) // of the one that was killed
		collect, said := start(t, "collect", "--out", out)
		o := execute(t, []string{"TMPDIR=" + os.TempDir()}, binary(t), "agent", "--dir", out, "--shm", j.shm, "--idle", "100ms")
		if err := collect.Wait(); err != nil || o.status != 0 {
			t.Fatalf("collector %v\n%s\nagent %d %s", err, said, o.status, o.stderr)
		}
		m := readManifest(t, out)
		if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
	})
}
