package main

import (
	"log/slog"

	"moriens/internal/measure"
)

type collectCommand struct {
	Out    string `help:"Run directory to make." placeholder:"DIR" type:"path" required:""`
	Listen string `help:"Address to listen on." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	HTTP   string `name:"http" help:"Address of the page that says how the run is, for browsers and Prometheus; none: no page." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	earlyFlags
	analysisFlags
}

func (c *collectCommand) Run(log *slog.Logger) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	signal, err := c.signal()
	if err != nil {
		return err
	}
	return measure.Collect(measure.CollectConfig{
		Out: c.Out, Listen: c.Listen, Web: pageAddress(c.HTTP), Signal: signal, Options: options, Program: program(), Log: log,
	})
}

// pageAddress is where a page listens; empty = nowhere.
func pageAddress(flag string) string {
	if flag == "none" {
		return ""
	}
	return flag
}
