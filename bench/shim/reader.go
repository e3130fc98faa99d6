package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"moriens/bench/timing"
)

// readerCost measures what agent and collector, which are one process under `moriens run`, take of the processors for a
// call that is recorded, at a pace that they keep up with. What follows the job's end is not in it.
func (b *benchmark) readerCost() error {
	fmt.Fprintln(b.out, "| MPI | recorded calls | agent and collector, ns of processor time per call |")
	fmt.Fprintln(b.out, "|---|---|---|")
	worst := 0.0
	for _, m := range libraries {
		app, err := b.build(m, "steady")
		if err != nil {
			return err
		}
		run := filepath.Join(b.work, "run")
		seconds, err := processorTime(append([]string{filepath.Join(b.bin, "moriens"), "run", "--out", run, "--"}, m.job(app, strconv.Itoa(b.steady))...)...)
		if err != nil {
			return err
		}
		dropped, err := droppedCalls(run)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(run); err != nil {
			return err
		}
		recorded := float64(ranks*b.steady) - float64(dropped)
		fmt.Fprintf(b.out, "| %s | %.0f of %d | %.0f |\n", m.name, recorded, ranks*b.steady, seconds*1e9/recorded)
		worst = max(worst, seconds*1e9/recorded)
	}
	b.budgets = append(b.budgets, budget{"an MPI call, agent and collector", "ns of processor time", 1000, worst})
	return nil
}

// processorTime runs a command and returns the seconds of processor time that it takes itself, its children left out,
// between the lines "begin" and "end" of its output.
func processorTime(command ...string) (seconds float64, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var at []timing.Usage
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if s := lines.Text(); s != "begin" && s != "end" {
			continue
		}
		u, usageErr := timing.UsageOf(cmd.Process.Pid)
		if usageErr != nil {
			err = usageErr
		}
		at = append(at, u)
	}
	if waitErr := cmd.Wait(); waitErr != nil {
		return 0, fmt.Errorf("%s: %w", command[0], waitErr)
	}
	if err == nil && len(at) != 2 {
		err = fmt.Errorf("%s: %d lines \"begin\" or \"end\"", command[0], len(at))
	}
	if err != nil {
		return 0, err
	}
	return at[1].CPU - at[0].CPU, nil
}
