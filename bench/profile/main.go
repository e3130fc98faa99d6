// Command profile measures how long `moriens profile` takes for a run of many ranks, and prints a table in Markdown:
//
//	make bench-profile
//
// The profile is planted: each rank has ten phases with 20 call paths and 10 clusters each. Each command is a separate
// process, and the commands alternate, with those of an earlier version if one is given. Processor time does not depend
// on other load of the machine as elapsed time does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"moriens/bench/timing"
)

func main() {
	var p plan
	only := flag.String("plant", "", "write a run of -ranks, one number, to this directory, print how many rows it has, and measure nothing")
	flag.StringVar(&p.moriens, "moriens", "bin/moriens", "the program to measure")
	flag.StringVar(&p.before, "before", "", "the program of an earlier version, which is measured in turn")
	flag.StringVar(&p.ranks, "ranks", "1000,10000", "numbers of ranks")
	flag.IntVar(&p.rounds, "rounds", 7, "runs of each command")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *only != "" {
		err = plantOnly(os.Stdout, *only, p.ranks)
	} else {
		err = run(ctx, os.Stdout, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	moriens, before string
	ranks           string // numbers, by commas
	rounds          int
}

// plantApart plants in a process of its own: the memory of a command would never be less than that of the one that
// starts it.
func plantApart(dir string, ranks int) (rows int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	out, err := exec.Command(program, "-plant", dir, "-ranks", strconv.Itoa(ranks)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

func plantOnly(out io.Writer, dir, ranks string) error {
	n, err := strconv.Atoi(ranks)
	if err != nil {
		return fmt.Errorf("-ranks %s: give one number", ranks)
	}
	rows, err := plant(dir, n)
	if err == nil {
		_, err = fmt.Fprintln(out, rows)
	}
	return err
}

// questions are the arguments of the commands, before the run directory.
var questions = [][]string{
	{}, {"--by", "call"}, {"--by", "callpath"}, {"--by", "callpath", "--tree"}, {"--by", "function"}, {"--by", "rank"}, {"--by", "call", "--metric", "ipc"}, {"--by", "call", "--metric", "bytes"},
}

func run(ctx context.Context, out io.Writer, p plan) error {
	ranks, err := timing.Numbers("-ranks", p.ranks)
	if err != nil {
		return err
	}
	if p.rounds < 1 {
		return fmt.Errorf("-rounds %d: give 1 or more", p.rounds)
	}
	versions := []string{p.moriens}
	if p.before != "" {
		versions = append(versions, p.before)
	}
	for i := range versions {
		if versions[i], err = filepath.Abs(versions[i]); err != nil {
			return err
		}
	}
	scratch, err := os.MkdirTemp("", "moriens-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var list []*command
	for _, n := range ranks {
		dir := filepath.Join(scratch, fmt.Sprint("r", n))
		rows, err := plantApart(dir, n)
		if err != nil {
			return err
		}
		for _, q := range questions {
			for i, program := range versions {
				c := &command{program: program, version: [2]string{"now", "before"}[i], name: strings.Join(append([]string{"profile"}, append(q, "DIR")...), " "), ranks: n, rows: rows}
				c.args = append(append([]string{"profile"}, q...), dir)
				if i > 0 {
					c.like = list[len(list)-1]
				}
				list = append(list, c)
			}
		}
	}
	for range p.rounds {
		for _, c := range list {
			if err := c.time(ctx); err != nil {
				return err
			}
		}
	}
	return print(out, list)
}
