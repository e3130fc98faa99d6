package main

import (
	"log/slog"
	"time"

	"moriens/internal/measure"
)

type agentCommand struct {
	Dir  string        `help:"Run directory of the collector." placeholder:"DIR" type:"path" env:"MORIENS_DIR" required:""`
	Wait time.Duration `help:"How long to wait for the collector to appear." default:"60s"`
	Idle time.Duration `help:"End when no rank has run here for this long after the last." default:"5s"`
	shmFlag
}

// shmFlag says where the shim puts its rings.
type shmFlag struct {
	Shm string `help:"Directory on a memory file system for the ranks' rings." placeholder:"DIR" type:"path" env:"MORIENS_SHM" default:"/dev/shm"`
}

func (a *agentCommand) Run(log *slog.Logger) error {
	return measure.Agent(measure.AgentConfig{
		Dir: a.Dir, Shm: a.Shm, Wait: a.Wait, Idle: a.Idle, Program: program(), Log: log,
	})
}
