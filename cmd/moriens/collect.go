package main

import (
	"log/slog"

	"moriens/internal/measure"
)

type collectCommand struct {
	Out    string `help:"Run directory to make." placeholder:"DIR" type:"path" required:""`
	Listen string `help:"Address to listen on." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	analysisFlags
}

func (c *collectCommand) Run(log *slog.Logger) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	return measure.Collect(measure.CollectConfig{
		Out: c.Out, Listen: c.Listen, Options: options, Program: program(), Log: log,
	})
}
