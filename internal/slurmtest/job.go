package slurmtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Job is one that was given to sbatch.
type Job struct {
	ID      string
	cluster *Cluster
}

// A State is how a job stands or has ended: RUNNING, COMPLETED, FAILED, TIMEOUT, CANCELLED, NODE_FAIL, ….
type State string

// ended are the states after which nothing more happens to a job. The transient states are more: SIGNALING, while it is
// sent a signal.
var ended = []State{"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}

// Submit gives a script to sbatch, with more options and with env added to its environment; args are the script's.
func (c *Cluster) Submit(t testing.TB, env []string, args ...string) Job {
	t.Helper()
	out := c.with(env, "sbatch", append([]string{"--parsable"}, args...)...)
	text, err := out.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", out, err, out.Stderr)
	}
	return Job{ID: strings.TrimSpace(string(text)), cluster: c}
}

// Signal sends a signal as scancel does: to the job's steps, or with more options to others. A job that has ended, or
// is about to, takes none.
func (j Job) Signal(t testing.TB, name string, options ...string) {
	t.Helper()
	cmd := j.cluster.with(nil, "scancel", append(append([]string{"--signal=" + name}, options...), j.ID)...)
	if err := cmd.Run(); err != nil {
		if s := j.State(); s != "COMPLETING" && !slices.Contains(ended, s) {
			t.Fatalf("%v: %v: the job is %s\n%s", cmd, err, s, cmd.Stderr)
		}
	}
}

var jobState = regexp.MustCompile(`\bJobState=(\w+)`)

// State asks Slurm how a job stands; of a heterogeneous job its first part.
func (j Job) State() State {
	if m := jobState.FindStringSubmatch(j.cluster.ask("scontrol", "show", "job", j.ID)); m != nil {
		return State(m[1])
	}
	return ""
}

var exitCode = regexp.MustCompile(`\bExitCode=(\S+)`)

// ExitCode is the exit status of the job's script and the signal that ended it, as 1:0; empty before it has ended.
func (j Job) ExitCode() string {
	if m := exitCode.FindStringSubmatch(j.cluster.ask("scontrol", "show", "job", j.ID)); m != nil {
		return m[1]
	}
	return ""
}

var jobID = regexp.MustCompile(`\bJobId=(\d+)`)

// Task is a task of a job array, under its own number.
func (j Job) Task(t testing.TB, task int) Job {
	t.Helper()
	one := Job{cluster: j.cluster}
	j.cluster.await(t, fmt.Sprintf("task %d of job %s", task, j.ID), func() bool {
		text := j.cluster.ask("scontrol", "show", "job", fmt.Sprintf("%s_%d", j.ID, task))
		m := jobID.FindStringSubmatch(text)
		if m == nil || jobState.FindStringSubmatch(text)[1] == "PENDING" {
			return false // it has no number of its own yet
		}
		one.ID = m[1]
		return true
	})
	return one
}

// Wait waits until the job has ended and says how.
func (j Job) Wait(t testing.TB, limit time.Duration) State {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		s := j.State()
		if slices.Contains(ended, s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s is still %s after %v\n%s", j.ID, s, limit, j.cluster.ask("squeue", "-s"))
		}
	}
}

// Limit gives a job another time limit.
func (j Job) Limit(t testing.TB, limit time.Duration) {
	t.Helper()
	j.cluster.must(t, "scontrol", "update", "JobId="+j.ID, fmt.Sprintf("TimeLimit=%d", int(limit.Minutes())))
}

// Environ is the environment in which Slurm's commands reach this cluster.
func (c *Cluster) Environ() []string { return c.env }

func (c *Cluster) with(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(c.env[:len(c.env):len(c.env)], env...)
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// ask is what a command of Slurm prints; nothing where it fails.
func (c *Cluster) ask(name string, args ...string) string {
	out, _ := c.with(nil, name, args...).Output()
	return string(out)
}

func (c *Cluster) must(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := c.with(nil, name, args...)
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, out, cmd.Stderr)
	}
}
