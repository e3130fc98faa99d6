package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"moriens/app/measure"
	"moriens/internal/mpix"
	"moriens/internal/plain"
	"moriens/internal/team"
)

type collectCommand struct {
	Out    string `help:"Run directory to make, or that of a run whose collector was killed: to go on with it." placeholder:"DIR" type:"path" required:""`
	Listen string `help:"Address to listen on; port 0: any that is free (default: 127.0.0.1:0)." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	HTTP   string `name:"http" help:"Address of the page that says how the run is, for browsers and Prometheus; none: no page (default: 127.0.0.1:0)." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	earlyFlags
	keepWorkFlag
	Agents int `help:"Do not take the run for over before so many agents, one for each node, have come." placeholder:"N"`
	resultFlags
}

// Run collects as one of the collectors of the run: mpirun starts several.
func (c *collectCommand) Run(ctx *kong.Context, log *slog.Logger) error {
	return inStep(func(m mpix.Transport) error { return c.collect(m, given(ctx), log) })
}

func (c *collectCommand) collect(members team.Team, given []string, log *slog.Logger) error {
	recorded, resumed, err := measure.Recorded(members, c.Out)
	if err == nil && resumed {
		notify := plain.Writer(os.Stderr)
		if members.Rank() > 0 {
			notify = io.Discard // all would say the same
		}
		err = c.resume(recorded, given, notify)
	}
	if err != nil {
		return err
	}
	options, keep, kept, err := c.results()
	if err != nil {
		return err
	}
	signal, err := c.signal()
	if err != nil {
		return err
	}
	if kept != nil && members.Size() > 1 {
		return usage(fmt.Errorf("--cells with %d collectors", members.Size()), "where bursts stay on their nodes one collector is enough: start moriens collect without mpirun")
	}
	if c.Agents < 0 {
		return usage(fmt.Errorf("--agents=%d", c.Agents), "name the number of nodes, each of which has one agent")
	}
	return measure.Collect(measure.CollectConfig{
		Out: c.Out, Listen: c.Listen, Web: pageAddress(c.HTTP), Signal: signal, Agents: c.Agents, Options: options,
		Cells: kept, Keep: keep, Given: given, KeepWork: c.KeepWork, Program: program(), Log: log, Team: members,
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
