package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// state is as much of what status and finish print as JSON as the tests look at.
type state struct {
	State     string
	Error     string
	Collector *struct {
		Stage  string
		Bursts int
		Agents []struct {
			Connected bool
			Ranks     int
		}
	}
	Manifest *manifest
}

func readState(t testing.TB, o outcome) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		t.Fatalf("%v in %q\n%s", err, o.stdout, o.stderr)
	}
	return s
}

// startRun starts `moriens run` on a job that computes for some seconds, and waits until its bursts have come.
func startRun(t *testing.T, mpi mpitest.MPI, iterations int, options, launcher []string) (run *exec.Cmd, output *strings.Builder, out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "run")
	job := append(launcher, mpi.Args(2, "", mpi.App(t, "planted"), strconv.Itoa(iterations))...)
	args := append([]string{"run", "--out", out, "--shm", t.TempDir()}, options...)
	run = exec.Command(binary(t), append(append(args, "--"), job...)...)
	run.Env = mpitest.Environ()
	output = new(strings.Builder)
	run.Stdout, run.Stderr = output, output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Process.Kill() })
	waitForBursts(t, out, 2)
	return run, output, out
}

// waitForBursts waits until so many ranks' bursts have come.
func waitForBursts(t *testing.T, out string, ranks int) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		o := execute(t, nil, binary(t), "status", out, "--json")
		if o.status == 0 {
			s := readState(t, o)
			if s.State == "running" && s.Collector.Bursts > 100 && len(s.Collector.Agents) == 1 && s.Collector.Agents[0].Ranks == ranks {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no bursts come: %+v", o)
		}
	}
}

// checkEndedEarly sees that a run was ended by something, with both ranks alive.
func checkEndedEarly(t *testing.T, m *manifest, by string) {
	t.Helper()
	if m.Ranks != 2 || m.Bursts < 100 || m.EndedBy != by || len(m.Losses.RanksDied) != 0 {
		t.Errorf("%d ranks, %d bursts, ended by %q, died %v", m.Ranks, m.Bursts, m.EndedBy, m.Losses.RanksDied)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, "ended by "+by+": what 2 ranks did from then on was not measured") {
		t.Errorf("notes:\n%s", notes)
	}
}

// `moriens finish` ends the measurement, and the job goes on to its own end.
func TestFinishRun(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		run, output, out := startRun(t, mpi, 16, nil, nil)
		contains(t, execute(t, nil, binary(t), "status", out).stdout, "collecting", "ranks        2, 2 running", "losses       none", "connected")

		o := execute(t, nil, binary(t), "finish", out, "--json", "--timeout", "60s")
		if o.status != 0 {
			t.Fatalf("finish: status %d\n%s", o.status, o.stderr)
		}
		s := readState(t, o)
		if s.State != "finished" {
			t.Fatalf("state %s", s.State)
		}
		checkEndedEarly(t, s.Manifest, "moriens finish")
		if err := run.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the job did not go on: %v\n%s", err, output)
		}
		again := execute(t, nil, binary(t), "finish", out)
		if again.status != 0 {
			t.Errorf("finish again: status %d\n%s", again.status, again.stderr)
		}
		contains(t, again.stdout, "MPI_Barrier", "finished 20")
		if err := run.Wait(); err != nil {
			t.Errorf("run: %v\n%s", err, output)
		}
		if _, err := os.Stat(filepath.Join(out, "collector.json")); err == nil {
			t.Error("collector.json is still there")
		}
	})
}

// Collector and agent are processes of their own; the job is told nothing.
func TestFinishCollect(t *testing.T) {
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	app := mpi.App(t, "planted")
	shm, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	collect, collectOutput := start(t, "collect", "--out", out)
	agent, agentOutput := start(t, "agent", "--dir", out, "--shm", shm, "--wait", "20s")
	_, meet := readMeeting(t, out, collectOutput)
	args := mpi.Args(2, library, app, "10")
	job := exec.Command(args[0], args[1:]...)
	job.Env = mpitest.Environ("MORIENS_RUN="+meet.Run, "MORIENS_SHM="+shm)
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	waitForBursts(t, out, 2)
	o := execute(t, nil, binary(t), "finish", out, "--timeout", "60s")
	if o.status != 0 {
		t.Fatalf("finish: status %d\n%s", o.status, o.stderr)
	}
	contains(t, o.stdout, "2 ranks", "losses: none", "ended by moriens finish")
	if err := agent.Wait(); err != nil {
		t.Errorf("agent: %v\n%s", err, agentOutput)
	}
	if err := collect.Wait(); err != nil {
		t.Errorf("collect: %v\n%s", err, collectOutput)
	}
	if err := job.Wait(); err != nil {
		t.Errorf("job: %v", err)
	}
	m := readManifest(t, out)
	checkEndedEarly(t, &m, "moriens finish")
}

// SIGTERM makes the agents send what they have before the collector analyses it.
func TestCollectIsTerminated(t *testing.T) {
	for _, c := range []struct {
		options []string
		signal  syscall.Signal
	}{{nil, syscall.SIGTERM}, {[]string{"--signal", "USR1"}, syscall.SIGUSR1}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			mpi := mpitest.OpenMPI
			testenv.Need(t, mpi.CC, mpi.Launcher)
			library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
			app := mpi.App(t, "planted")
			shm, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
			collect, collectOutput := start(t, append([]string{"collect", "--out", out}, c.options...)...)
			agent, agentOutput := start(t, "agent", "--dir", out, "--shm", shm, "--wait", "20s")
			_, meet := readMeeting(t, out, collectOutput)
			args := mpi.Args(2, library, app, "10")
			job := exec.Command(args[0], args[1:]...)
			job.Env = mpitest.Environ("MORIENS_RUN="+meet.Run, "MORIENS_SHM="+shm)
			if err := job.Start(); err != nil {
				t.Fatal(err)
			}
			waitForBursts(t, out, 2)
			collect.Process.Signal(c.signal)
			if err := collect.Wait(); err != nil {
				t.Errorf("collect: %v\n%s", err, collectOutput)
			}
			if err := agent.Wait(); err != nil {
				t.Errorf("agent: %v\n%s", err, agentOutput)
			}
			if err := job.Wait(); err != nil {
				t.Errorf("job: %v", err)
			}
			m := readManifest(t, out)
			checkEndedEarly(t, &m, c.signal.String())
			for _, note := range m.Notes {
				if strings.Contains(note, "did not finish") {
					t.Error(note)
				}
			}
		})
	}
}

// The signal that the user names ends the measurement, and the job does not get it: it would be its end.
func TestRunIsSignalled(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	run, output, out := startRun(t, mpitest.OpenMPI, 16, []string{"--signal", "SIGUSR1"}, nil)
	run.Process.Signal(syscall.SIGUSR1)
	waitForManifest(t, out, 60*time.Second)
	if err := run.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job did not go on: %v\n%s", err, output)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("run: %v\n%s", err, output)
	}
	m := readManifest(t, out)
	checkEndedEarly(t, &m, syscall.SIGUSR1.String())
}

// SIGTERM may be followed by SIGKILL half a minute later: the results of a job that takes its time to end are there by then.
func TestRunIsTerminatedAndTheJobIsSlow(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	run, output, out := startRun(t, mpitest.OpenMPI, 36, nil, []string{"sh", "-c", `trap "" TERM; "$@"; exit 9`, "sh"})
	run.Process.Signal(syscall.SIGTERM)
	waitForManifest(t, out, 28*time.Second)
	if err := run.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job did not go on: %v\n%s", err, output)
	}
	run.Wait()
	if status := run.ProcessState.ExitCode(); status != 9 {
		t.Errorf("status %d, the job's is 9\n%s", status, output)
	}
	m := readManifest(t, out)
	checkEndedEarly(t, &m, syscall.SIGTERM.String())
}

func waitForManifest(t *testing.T, out string, timeout time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(out, "manifest.json")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no results after %v", timeout)
		}
	}
}
