package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"moriens/bench/timing"
)

// A command is what is timed.
type command struct {
	program, version, name string
	args                   []string
	ranks, rows            int
	like                   *command // prints the same; nil: not compared
	printed                []byte   // the first time
	seconds                []float64
	processor              []float64
	bytes                  []float64 // of memory, at most
}

func (c *command) time(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	seconds := time.Since(start).Seconds()
	if err != nil {
		return fmt.Errorf("%s, %s: %w\n%s", c.name, c.version, err, stderr.String())
	}
	if c.printed == nil {
		c.printed = stdout.Bytes()
	}
	if !strings.Contains(stdout.String(), "MPI_") && !strings.Contains(stdout.String(), "rank") || !bytes.Equal(c.printed, stdout.Bytes()) {
		return fmt.Errorf("%s, %s: it prints\n%s\nthe first time\n%s", c.name, c.version, stdout.String(), c.printed)
	}
	if c.like != nil && !bytes.Equal(c.printed, c.like.printed) {
		return fmt.Errorf("%s: the version before prints\n%s\nthis one\n%s", c.name, c.printed, c.like.printed)
	}
	c.seconds = append(c.seconds, seconds)
	c.processor = append(c.processor, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.bytes = append(c.bytes, float64(u.Maxrss)*1024)
	}
	return nil
}

const mib = 1 << 20

// print prints what commands took.
func print(out io.Writer, list []*command) error {
	var text strings.Builder
	text.WriteString("| moriens | ranks | rows | version | seconds | least – most | processor s | MiB at most |\n|" + strings.Repeat("---|", 8) + "\n")
	for _, c := range list {
		_, seconds, _ := timing.Quartiles(c.seconds)
		_, processor, _ := timing.Quartiles(c.processor)
		fmt.Fprintf(&text, "| %s | %d | %d | %s | %.2f | %.2f – %.2f | %.2f | %.0f |\n", c.name, c.ranks, c.rows, c.version,
			seconds, slices.Min(c.seconds), slices.Max(c.seconds), processor, slices.Max(c.bytes)/mib)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
