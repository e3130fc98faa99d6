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

func (e *envCommand) Run() error { return measure.Environment(os.Stdout, e.Dir, e.Wait) }
