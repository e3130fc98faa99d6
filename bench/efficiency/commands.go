package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"moriens/bench/timing"
	"moriens/trace/rundir"
)

// A dir is a run directory.
type dir struct {
	path  string
	ranks int
}

// makeDirs has bench/end simulate a job for each number of ranks.
func makeDirs(ctx context.Context, scratch string, ranks []int, bursts int) ([]dir, error) {
	end := filepath.Join(scratch, "end")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", end, "moriens/bench/end").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	var dirs []dir
	for _, n := range ranks {
		d := dir{filepath.Join(scratch, fmt.Sprint("r", n)), n}
		if _, err := timing.Output(nil, end, "-one", "-counters", "-ranks", strconv.Itoa(n), "-bursts", strconv.Itoa(n*bursts), "-dir", d.path); err != nil {
			return nil, err
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// A command is what is timed.
type command struct {
	name, dirs string
	args       []string
	status     int
	printed    string // what it has to print
	seconds    []float64
	processor  []float64
	bytes      []float64 // of memory, at most
}

// commandsOf are those that read the first of the run directories, that as a version before efficiency.json wrote it,
// and all of them.
func commandsOf(dirs []dir) ([]*command, error) {
	first := dirs[0]
	older := filepath.Join(filepath.Dir(first.path), "older")
	if err := os.CopyFS(older, os.DirFS(first.path)); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(older, rundir.EfficiencyFile)); err != nil {
		return nil, err
	}
	one, slow := fmt.Sprintf("%d ranks", first.ranks), "\nmost computing: rank 2, "
	list := []*command{
		{name: "efficiency DIR", dirs: one, args: []string{first.path}, printed: slow},
		{name: "efficiency --json DIR", dirs: one, args: []string{"--json", first.path}, printed: `"most_computing": {`},
		{name: "efficiency DIR, without efficiency.json", dirs: one, args: []string{older}, printed: slow},
		{name: "efficiency --json DIR, without efficiency.json", dirs: one, args: []string{"--json", older}, printed: `"bound": true`},
	}
	if len(dirs) < 2 {
		return list, nil
	}
	var ranks, paths []string
	for _, d := range dirs {
		ranks, paths = append(ranks, strconv.Itoa(d.ranks)), append(paths, d.path)
	}
	all := strings.Join(ranks, ", ") + " ranks"
	list = append(list,
		&command{name: "efficiency --scaling strong DIR…", dirs: all, args: append([]string{"--scaling", "strong"}, paths...), printed: "\nspeedup "},
		&command{name: "efficiency --scaling strong --json DIR…", dirs: all, args: append([]string{"--scaling", "strong", "--json"}, paths...), printed: `"scaling": "strong"`},
		&command{name: "efficiency --scaling strong --fail-below pe=1 DIR…", dirs: all, args: append([]string{"--scaling", "strong", "--fail-below", "pe=1"}, paths...), status: 3, printed: "\nspeedup "},
	)
	return list, nil
}

// timeCommands runs all commands so many times, in turn.
func timeCommands(ctx context.Context, list []*command, moriens string, rounds int) error {
	for range rounds {
		for _, c := range list {
			if err := c.time(ctx, moriens); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *command) time(ctx context.Context, moriens string) error {
	cmd := exec.CommandContext(ctx, moriens, append([]string{"efficiency"}, c.args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	seconds := time.Since(start).Seconds()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if cmd.ProcessState.ExitCode() != c.status || !strings.Contains(stdout.String(), c.printed) {
		return fmt.Errorf("%s: %v, want status %d and %q\n%s%s", c.name, cmd.ProcessState, c.status, c.printed, stdout.String(), stderr.String())
	}
	c.seconds = append(c.seconds, seconds)
	c.processor = append(c.processor, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.bytes = append(c.bytes, float64(u.Maxrss)*1024)
	}
	return nil
}

const mib = 1 << 20

func printCommands(out io.Writer, list []*command) error {
	var text strings.Builder
	text.WriteString("| moriens | run directories | seconds | least – most | processor s | MiB at most |\n|" + strings.Repeat("---|", 6) + "\n")
	for _, c := range list {
		fmt.Fprintf(&text, "| %s | %s | %s | %.2f | %.0f |\n", c.name, c.dirs, spread(c.seconds), median(c.processor), slices.Max(c.bytes)/mib)
	}
	text.WriteByte('\n')
	_, err := io.WriteString(out, text.String())
	return err
}

func median(list []float64) float64 {
	_, mid, _ := timing.Quartiles(list)
	return mid
}

// spread is two columns: the median, and the least and the greatest.
func spread(list []float64) string {
	return fmt.Sprintf("%.2f | %.2f – %.2f", median(list), slices.Min(list), slices.Max(list))
}
