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
	Wait time.Duration `help:"Maximum time to wait for the collector." default:"60s"`
	Idle time.Duration `help:"End when ranks have run on this node and none has for this long; 0s: only on request." default:"5s"`
	shmFlag
	spoolFlags
	cellsFlags
	spaceFlags
}

// spoolFlags say where what the collector has not acknowledged waits.
type spoolFlags struct {
	Spool    string      `help:"Directory for the spool, which holds records until the collector has them; on a local disk (default: $$XDG_RUNTIME_DIR, $$TMPDIR or /tmp)." placeholder:"DIR" type:"path"`
	SpoolMax units.Bytes `help:"Maximum size of the spool (default: 1 GiB or 10 % of free space, whichever is smaller)." placeholder:"SIZE"`
	keepWorkFlag
}

func (f *spoolFlags) spool() measure.Spool {
	return measure.Spool{Dir: f.Spool, Max: f.SpoolMax, Keep: f.KeepWork}
}

// shmFlag says where the shim puts its rings.
type shmFlag struct {
	Shm string `help:"Directory for the ranks' ring buffers, on a memory file system (default: ${default})." placeholder:"DIR" type:"path" env:"MORIENS_SHM" default:"/dev/shm"`
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
		return usage(errors.New("--dims, --by, --min-duration and --resolution are options of the collector"), "an agent takes them only with --cells, with the same values as the collector")
	}
	return measure.Agent(measure.AgentConfig{
		Dir: a.Dir, Shm: a.Shm, Wait: a.Wait, Idle: a.Idle, Spool: a.spool(), Cells: kept, Options: options, Program: program(), Log: log,
	})
}
