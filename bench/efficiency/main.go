// Command efficiency measures how long `moriens efficiency` takes for large runs, and how long the analysis behind it
// takes, and prints tables in Markdown:
//
//	make bench-efficiency
//
// The run directories are those of simulated jobs (bench/end). Each command is a separate process, and the commands
// alternate. Processor time does not depend on other load of the machine; elapsed time does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"moriens/bench/timing"
)

func main() {
	var p plan
	flag.StringVar(&p.moriens, "moriens", "bin/moriens", "the program to measure")
	flag.StringVar(&p.ranks, "ranks", "10000,12500,15000", "numbers of ranks of the run directories")
	flag.IntVar(&p.ofRank, "bursts-of-rank", 200, "bursts of each of these ranks, at least")
	flag.IntVar(&p.rounds, "rounds", 11, "runs of each command")
	flag.IntVar(&p.locations, "locations", 10_000, "locations that the analysis adds up")
	flag.IntVar(&p.bursts, "bursts", 1000, "bursts of each of these locations")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, p); err != nil {
		fmt.Fprintln(os.Stderr, "efficiency:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	moriens           string
	ranks             string // numbers, by commas
	ofRank            int    // bursts of each
	rounds            int
	locations, bursts int // of the analysis; bursts of each
}

func run(ctx context.Context, out io.Writer, p plan) error {
	ranks, err := timing.Numbers("-ranks", p.ranks)
	if err != nil {
		return err
	}
	if min(p.ofRank, p.bursts, p.rounds) < 1 || p.locations <= slowest {
		return fmt.Errorf("-bursts-of-rank %d, -bursts %d, -rounds %d, -locations %d: want at least 1, 1, 1 and %d", p.ofRank, p.bursts, p.rounds, p.locations, slowest+1)
	}
	moriens, err := filepath.Abs(p.moriens)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "moriens-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	dirs, err := makeDirs(ctx, scratch, ranks, p.ofRank)
	if err != nil {
		return err
	}
	commands, err := commandsOf(dirs)
	if err != nil {
		return err
	}
	if err := timeCommands(ctx, commands, moriens, p.rounds); err != nil {
		return err
	}
	if err := printCommands(out, commands); err != nil {
		return err
	}
	stages, err := timeStages(p.locations, p.bursts, p.rounds)
	if err != nil {
		return err
	}
	return printStages(out, stages, p)
}
