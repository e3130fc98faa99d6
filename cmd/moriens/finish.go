package main

import (
	"os"
	"time"

	"moriens/app/console"
	"moriens/app/measure"
	"moriens/internal/plain"
)

type finishCommand struct {
	Dir     string        `arg:"" help:"Run directory." type:"path"`
	JSON    bool          `name:"json" help:"Print the result as JSON."`
	Verbose bool          `help:"Print all figures in the place of the summary."`
	Timeout time.Duration `help:"Maximum time to wait for the results." default:"5m"`
}

func (f *finishCommand) Run() error {
	return measure.Finish(measure.FinishConfig{Dir: f.Dir, JSON: f.JSON, Long: f.Verbose, Timeout: f.Timeout, Stdout: plain.Writer(console.Coloured(os.Stdout)), Stderr: plain.Writer(os.Stderr)})
}
