package main

import (
	"fmt"
	"log/slog"

	"moriens/internal/shmabi"
	"moriens/trace/rundir"
)

// version and commit are set at build time.
var (
	version = "development"
	commit  = "unknown"
)

type versionCommand struct{}

func (versionCommand) Run(*slog.Logger) error {
	p := program()
	_, err := fmt.Printf("moriens %s, commit %s, run directory format %d, shared memory layout %d\n",
		p.Version, p.Commit, rundir.FormatVersion, shmabi.Version)
	return err
}

func program() rundir.Program {
	return rundir.Program{Version: version, Commit: commit}
}
