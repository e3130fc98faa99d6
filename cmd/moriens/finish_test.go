package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// startRun starts `moriens run` on a job that lasts until its file is made, and waits until its bursts have arrived.
func startRun(t *testing.T, mpi mpitest.MPI, options, launcher []string) (run *exec.Cmd, output *strings.Builder, out, over string) {
	t.Helper()
	dir := t.TempDir()
	out, over = filepath.Join(dir, "run"), filepath.Join(dir, "over")
	job := append(launcher, mpi.Args(2, "", mpi.App(t, "until"), over)...)
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
	return run, output, out, over
}

// end lets a job of startRun end.
func end(t *testing.T, over string) {
	t.Helper()
	if err := os.WriteFile(over, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// waitForBursts waits until so many ranks' bursts have arrived.
func waitForBursts(t *testing.T, out string, ranks int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		o := execute(t, nil, binary(t), "status", out, "--json", "--timeout", "1m")
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

// checkEndedEarly checks that a run was ended by something, with both ranks alive.
func checkEndedEarly(t *testing.T, m *manifest, by string) {
	t.Helper()
	if m.Ranks != 2 || m.Bursts < 100 || m.EndedBy != by || len(m.Losses.RanksDied) != 0 {
		t.Errorf("%d ranks, %d bursts, ended by %q, died %v", m.Ranks, m.Bursts, m.EndedBy, m.Losses.RanksDied)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, "ended by "+by+"; ranks that continued unmeasured: 2") {
		t.Errorf("notes:\n%s", notes)
	}
}

// `moriens finish` ends the measurement, and the job runs on to its own end.
func TestFinishRun(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		run, output, out, over := startRun(t, mpi, nil, nil)
		contains(t, execute(t, nil, binary(t), "status", out, "--timeout", "2m").stdout, "collecting", "ranks       2, 2 running", "losses      none", "connected")

		o := execute(t, nil, binary(t), "finish", out, "--json", "--timeout", "5m")
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
		contains(t, again.stdout, "Bcast", "finished 20")
		end(t, over)
		if err := run.Wait(); err != nil {
			t.Errorf("run: %v\n%s", err, output)
		}
		summary, _, _ := strings.Cut(again.stdout, "finished 20")
		contains(t, output.String(), summary) // one table, whichever process prints it
		contains(t, execute(t, nil, binary(t), "status", out).stdout, summary)
		if _, err := os.Stat(filepath.Join(out, "collector.json")); err == nil {
			t.Error("collector.json is still there")
		}
	})
}

// apart is a run whose parts are processes of their own, and whose job lasts until over is made.
type apart struct {
	collect, agent, job        *exec.Cmd
	collectOutput, agentOutput *strings.Builder
	out, over                  string
}

func startApart(t *testing.T, options ...string) apart {
	t.Helper()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	dir, shm := t.TempDir(), t.TempDir()
	p := apart{out: filepath.Join(dir, "run"), over: filepath.Join(dir, "over")}
	p.collect, p.collectOutput = start(t, append([]string{"collect", "--out", p.out}, options...)...)
	p.agent, p.agentOutput = start(t, "agent", "--dir", p.out, "--shm", shm, "--wait", "2m")
	_, meet := readMeeting(t, p.out, p.collectOutput)
	args := mpi.Args(2, library, mpi.App(t, "until"), p.over)
	p.job = exec.Command(args[0], args[1:]...)
	p.job.Env = mpitest.Environ("MORIENS_RUN="+meet.Run, "MORIENS_SHM="+shm)
	if err := p.job.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.job.Process.Kill() })
	waitForBursts(t, p.out, 2)
	return p
}

// expectEnd checks that collector and agent end well though the job continues, and that the job ends well too.
func (p apart) expectEnd(t *testing.T, by string) {
	t.Helper()
	if err := p.collect.Wait(); err != nil {
		t.Errorf("collect: %v\n%s", err, p.collectOutput)
	}
	if err := p.agent.Wait(); err != nil {
		t.Errorf("agent: %v\n%s", err, p.agentOutput)
	}
	end(t, p.over)
	if err := p.job.Wait(); err != nil {
		t.Errorf("job: %v", err)
	}
	m := readManifest(t, p.out)
	checkEndedEarly(t, &m, by)
	for _, note := range m.Notes {
		if strings.Contains(note, "did not finish") {
			t.Error(note)
		}
	}
}

func TestFinishCollect(t *testing.T) {
	p := startApart(t)
	o := execute(t, nil, binary(t), "finish", p.out, "--timeout", "5m")
	if o.status != 0 {
		t.Fatalf("finish: status %d\n%s", o.status, o.stderr)
	}
	contains(t, o.stdout, "2 ranks", "ended by moriens finish")
	contains(t, long(t, p.out), "losses: none")
	p.expectEnd(t, "moriens finish")
}

// A signal makes the agents send what they have before the collector analyses it.
func TestCollectIsSignalled(t *testing.T) {
	for _, c := range []struct {
		options []string
		signal  syscall.Signal
	}{{nil, syscall.SIGTERM}, {[]string{"--signal", "USR1"}, syscall.SIGUSR1}} {
		t.Run(unix.SignalName(c.signal), func(t *testing.T) {
			p := startApart(t, c.options...)
			p.collect.Process.Signal(c.signal)
			p.expectEnd(t, unix.SignalName(c.signal))
		})
	}
}

// The signal that the user names ends the measurement, and the job does not get it: it would be its end.
func TestRunIsSignalled(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	run, output, out, over := startRun(t, mpitest.OpenMPI, []string{"--signal", "SIGUSR1"}, nil)
	run.Process.Signal(syscall.SIGUSR1)
	waitForManifest(t, out)
	if err := run.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job did not go on: %v\n%s", err, output)
	}
	end(t, over)
	if err := run.Wait(); err != nil {
		t.Errorf("run: %v\n%s", err, output)
	}
	m := readManifest(t, out)
	checkEndedEarly(t, &m, "SIGUSR1")
}

// SIGTERM may be followed by SIGKILL half a minute later: the results of a job that takes its time to end do not wait
// for its end.
func TestRunIsTerminatedAndTheJobIsSlow(t *testing.T) {
	t.Parallel()
	testenv.Need(t, mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	run, output, out, over := startRun(t, mpitest.OpenMPI, nil, []string{"sh", "-c", `trap "" TERM; "$@"; exit 9`, "sh"})
	run.Process.Signal(syscall.SIGTERM)
	waitForManifest(t, out)
	if err := run.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job did not go on: %v\n%s", err, output)
	}
	end(t, over)
	run.Wait()
	if status := run.ProcessState.ExitCode(); status != 9 {
		t.Errorf("status %d, the job's is 9\n%s", status, output)
	}
	m := readManifest(t, out)
	checkEndedEarly(t, &m, "SIGTERM")
}

func waitForManifest(t *testing.T, out string) {
	t.Helper()
	waitFor(t, "the results", func() bool {
		_, err := os.Stat(filepath.Join(out, "manifest.json"))
		return err == nil
	})
}
