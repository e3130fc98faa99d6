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
	Out    string `group:"results" help:"Run directory to create, or that of a run whose collector was killed, to resume it." placeholder:"DIR" type:"path" required:""`
	Listen string `group:"agents" help:"Address to listen on; port 0: any free port (default: 127.0.0.1:0)." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	HTTP   string `group:"progress" name:"http" help:"Address of the status page, for browsers and Prometheus; none: no page (default: 127.0.0.1:0)." placeholder:"HOST:PORT" default:"127.0.0.1:0"`
	showFlags
	earlyFlags
	keepWorkFlag `group:"files"`
	Agents       int `group:"agents" help:"Number of agents (one per node) to wait for before the run can end." placeholder:"N"`
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
		return usage(fmt.Errorf("--cells with %d collectors", members.Size()), "with bursts kept on the nodes one collector is enough: start moriens collect without mpirun")
	}
	if c.Agents < 0 {
		return usage(fmt.Errorf("--agents=%d", c.Agents), "give the number of nodes; each has one agent")
	}
	return measure.Collect(measure.CollectConfig{
		Out: c.Out, Listen: c.Listen, Web: pageAddress(c.HTTP), Signal: signal, Agents: c.Agents, Options: options,
		Cells: kept, Keep: keep, Show: c.show(), Given: given, KeepWork: c.KeepWork, Program: program(), Log: log, Team: members,
	})
}

// keepWorkFlag says what becomes of working state.
type keepWorkFlag struct {
	KeepWork bool `help:"Keep the collector's journal, in the run directory, and the agent's spool, in moriens-UID of --spool, after the run."`
}

// pageAddress is where a page listens; empty = nowhere.
func pageAddress(flag string) string {
	if flag == "none" {
		return ""
	}
	return flag
}
