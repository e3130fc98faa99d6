package main

import (
	"fmt"
	"log/slog"

	"moriens/internal/measure"
)

type collectCommand struct {
	Out    string `help:"Run directory to make, or that of a run whose collector was killed: to go on with it." placeholder:"DIR" type:"path" required:""`
	Listen string `help:"Address to listen on." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	HTTP   string `name:"http" help:"Address of the page that says how the run is, for browsers and Prometheus; none: no page." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	earlyFlags
	keepWorkFlag
	Agents int `help:"Do not take the run for over before so many agents, one for each node, have come." placeholder:"N"`
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
	if c.Agents < 0 {
		return usage(fmt.Errorf("--agents=%d", c.Agents), "name the number of nodes, each of which has one agent")
	}
	return measure.Collect(measure.CollectConfig{
		Out: c.Out, Listen: c.Listen, Web: pageAddress(c.HTTP), Signal: signal, Agents: c.Agents, Options: options,
		KeepWork: c.KeepWork, Program: program(), Log: log,
	})
}

// keepWorkFlag says what becomes of working state.
type keepWorkFlag struct {
	KeepWork bool `help:"Leave working state, the agent's spool and the collector's journal, where it is."`
}

// pageAddress is where a page listens; empty = nowhere.
func pageAddress(flag string) string {
	if flag == "none" {
		return ""
	}
	return flag
}
