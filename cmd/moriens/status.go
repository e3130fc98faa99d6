package main

import (
	"os"
	"time"

	"moriens/app/console"
	"moriens/app/measure"
	"moriens/internal/plain"
)

type statusCommand struct {
	Dir     string        `arg:"" help:"Run directory." type:"path"`
	JSON    bool          `name:"json" help:"Print JSON: the state, and of a finished run its manifest.json."`
	Long    bool          `help:"Print all figures of a run that has ended, in the place of the summary."`
	URL     bool          `name:"url" help:"Print the address of the run's page, including its access token."`
	Timeout time.Duration `help:"Maximum time to wait for the collector's answer." default:"5s"`
}

func (s *statusCommand) Run() error {
	return measure.Status(measure.StatusConfig{Dir: s.Dir, JSON: s.JSON, Long: s.Long, URL: s.URL, Timeout: s.Timeout, Stdout: plain.Writer(console.Coloured(os.Stdout))})
}
