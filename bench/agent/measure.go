package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"moriens/agent/ring"
	"moriens/bench/timing"
	"moriens/internal/rendezvous"
)

// A cost is what was taken, each second of the measurement.
type cost struct {
	agent, collector float64 // seconds of processor time
	sleeps           float64 // of the agent's threads,
	itsSleeps        float64 // and of the collector's
	peak, rings      float64 // bytes of the agent's memory, at most and of it what it sees of the rings at the end
}

// measure runs an agent and a collector, and ranks beside them.
func measure(bin string, l load) (c cost, err error) {
	dir, err := os.MkdirTemp("/dev/shm", "moriens-agentbench-") // where rings are
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	work, err := os.MkdirTemp("", "moriens-agentbench-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, "run")
	collector, err := start(bin, "collect", "--out", out, "--dims", "PAPI_TOT_INS:log,IPC")
	if err != nil {
		return c, err
	}
	defer collector.kill() // its analysis is not what is measured
	meet, err := rendezvous.Wait(out, 2*time.Minute, nil)
	if err != nil {
		return c, fmt.Errorf("%w\n%s", err, collector.said.String())
	}
	ranks, err := newRanks(ring.DirectoryPath(dir, os.Getuid(), meet.Run), l)
	if err != nil {
		return c, err
	}
	agent, err := start(bin, "agent", "--dir", out, "--shm", dir, "--idle", "1s", "--spool", work)
	if err != nil {
		return c, err
	}
	defer agent.kill()
	done, over := make(chan error, 1), make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	defer end()
	go func() { done <- ranks.run(over) }()

	time.Sleep(l.warm)
	began := time.Now()
	agentBefore, collectorBefore, err := agent.usage(collector)
	if err != nil {
		return c, err
	}
	time.Sleep(l.span)
	agentAfter, collectorAfter, err := agent.usage(collector)
	if err != nil {
		return c, err
	}
	seconds := time.Since(began).Seconds()
	end()
	if err := <-done; err != nil {
		return c, err
	}
	if err := agent.Wait(); err != nil { // all that the ranks have recorded is acknowledged
		return c, fmt.Errorf("agent: %w\n%s", err, agent.said.String())
	}
	return cost{
		agent: (agentAfter.CPU - agentBefore.CPU) / seconds, collector: (collectorAfter.CPU - collectorBefore.CPU) / seconds,
		sleeps: (agentAfter.Switches - agentBefore.Switches) / seconds, itsSleeps: (collectorAfter.Switches - collectorBefore.Switches) / seconds,
		peak: agentAfter.Peak, rings: agentAfter.Shared,
	}, nil
}

// A program is one of ours that runs.
type program struct {
	*exec.Cmd
	said *strings.Builder
}

func start(bin string, arguments ...string) (program, error) {
	p := program{exec.Command(filepath.Join(bin, "moriens"), arguments...), new(strings.Builder)}
	p.Stdout, p.Stderr = p.said, p.said
	return p, p.Start()
}

// usage is what this process and another one have taken by now.
func (p program) usage(other program) (own, its timing.Usage, err error) {
	if own, err = timing.UsageOf(p.Process.Pid); err != nil {
		return own, its, err
	}
	its, err = timing.UsageOf(other.Process.Pid)
	return own, its, err
}

// kill ends the process, if it has not ended.
func (p program) kill() {
	p.Process.Kill()
	p.Wait()
}
