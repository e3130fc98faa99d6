package main

import (
	"os"
	"time"

	"moriens/app/measure"
)

type envCommand struct {
	Dir  string        `arg:"" help:"Run directory of the collector." type:"path"`
	Wait time.Duration `help:"Maximum time to wait for the collector." default:"60s"`
}

// Help is what --help says beside the flags.
func (e *envCommand) Help() string {
	return "Prints MORIENS_RUN, MORIENS_DIR and MORIENS_LIB, and MORIENS_CELLS where bursts stay on their nodes. LD_PRELOAD is not among them, because it is for the ranks alone: " +
		"mpirun env LD_PRELOAD=$MORIENS_LIB ./app (docs/nodes.md)."
}

func (e *envCommand) Run() error { return measure.Environment(os.Stdout, e.Dir, e.Wait) }
