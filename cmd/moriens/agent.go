package main

import (
	"errors"
	"log/slog"
	"time"

	"moriens/app/measure"
	"moriens/internal/units"
)

type agentCommand struct {
	Dir  string        `help:"Run directory of the collector." placeholder:"DIR" type:"path" env:"MORIENS_DIR" required:""`
	Wait time.Duration `help:"How long to wait for the collector to appear." default:"60s"`
	Idle time.Duration `help:"End when no rank has run here for this long after the last; 0s: only when told." default:"5s"`
	shmFlag
	spoolFlags
	cellsFlags
	spaceFlags
}

// spoolFlags say where what the collector has not acknowledged waits.
type spoolFlags struct {
	Spool    string      `help:"Directory on a disk of the node for what waits for the collector; if not given, $$XDG_RUNTIME_DIR, $$TMPDIR or /tmp." placeholder:"DIR" type:"path"`
	SpoolMax units.Bytes `help:"Bound of that; 1 GiB or a tenth of what is free there, whichever is less, if not given." placeholder:"SIZE"`
	keepWorkFlag
}

func (f *spoolFlags) spool() measure.Spool {
	return measure.Spool{Dir: f.Spool, Max: f.SpoolMax, Keep: f.KeepWork}
}

// shmFlag says where the shim puts its rings.
type shmFlag struct {
	Shm string `help:"Directory on a memory file system for the ranks' rings." placeholder:"DIR" type:"path" env:"MORIENS_SHM" default:"/dev/shm"`
}

func (a *agentCommand) Run(log *slog.Logger) error {
	options, err := a.space()
	if err != nil {
		return err
	}
	kept, err := a.cells()
	if err != nil {
		return err
	}
	if kept == nil && (a.Dims != "" || a.By != defaults["by"] || a.MinDuration != defaults["minDuration"] || a.Resolution != 0) {
		return usage(errors.New("--dims, --by, --min-duration and --resolution are the collector's"), "an agent needs the same with --cells alone")
	}
	return measure.Agent(measure.AgentConfig{
		Dir: a.Dir, Shm: a.Shm, Wait: a.Wait, Idle: a.Idle, Spool: a.spool(), Cells: kept, Options: options, Program: program(), Log: log,
	})
}
