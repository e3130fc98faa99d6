package main_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
)

// What a batch script evaluates is the run's, whatever the directory is called, and no secret.
func TestEnv(t *testing.T) {
	out := filepath.Join(t.TempDir(), "it's a run")
	early := execute(t, nil, binary(t), "env", out, "--wait", "10ms")
	if early.status != 1 || early.stdout != "" {
		t.Errorf("without a collector: %+v", early)
	}
	contains(t, early.stderr, "hint: start `moriens collect")
	collect, output := start(t, "collect", "--out", out)
	_, meet := readMeeting(t, out, output)
	o := execute(t, nil, "sh", "-c", `eval "$("$0" env "$1")"; echo "$MORIENS_RUN|$MORIENS_DIR|$MORIENS_LIB"`, binary(t), out)
	if want := meet.Run + "|" + out + "|" + filepath.Join(filepath.Dir(binary(t)), "libmoriens.so") + "\n"; o.stdout != want {
		t.Errorf("got %q, want %q\n%s", o.stdout, want, o.stderr)
	}
	if o := execute(t, nil, binary(t), "env", out); strings.Contains(o.stdout, meet.Token) {
		t.Error("the token was printed")
	}
	collect.Process.Signal(syscall.SIGTERM)
	collect.Wait()
}

// A collector that expects two nodes does not end when the first of them is done, and agents do not die of the signals
// by which batch systems warn programs.
func TestAgents(t *testing.T) {
	mpi := mpitest.MPICH
	app := mpi.App(t, "planted")
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	out := filepath.Join(t.TempDir(), "run")
	collect, output := start(t, "collect", "--out", out, "--agents", "2", "--moriens-timeout", "5s") // and how long an agent that is done waits for requests
	_, meet := readMeeting(t, out, output)
	want := map[string]int{}
	for range 2 {
		shm, counts := t.TempDir(), t.TempDir() // a node
		agent, agentOutput := start(t, "agent", "--dir", out, "--shm", shm, "--idle", "500ms")
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if claimed, _ := filepath.Glob(shm + "/moriens-*"); len(claimed) > 0 {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("no agent\n%s", agentOutput)
			}
		}
		for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU} {
			agent.Process.Signal(s)
		}
		if o := execute(t, []string{"MINIAPP_OUT=" + counts, "MORIENS_RUN=" + meet.Run, "MORIENS_SHM=" + shm},
			mpi.Args(2, library, app, "1", "200", "1500", "4500", "20", "5")...); o.status != 0 {
			t.Fatalf("job: status %d\n%s", o.status, o.stderr)
		}
		if err := agent.Wait(); err != nil {
			t.Errorf("agent: %v\n%s", err, agentOutput)
		}
		for name, n := range sum(mpitest.Counts(t, counts)) {
			want[name] += n
		}
	}
	if err := collect.Wait(); err != nil {
		t.Errorf("collect: %v\n%s", err, output)
	}
	m := readManifest(t, out)
	if len(m.Worlds) != 2 || m.MPICalls["MPI_Allreduce"] != want["MPI_Allreduce"] || m.MPICalls["MPI_Finalize"] != 4 {
		t.Errorf("worlds %+v, calls %v, want %v", m.Worlds, m.MPICalls, want)
	}
}
