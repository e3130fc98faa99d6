package main

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"moriens/internal/shmabi"
	"moriens/trace/rundir"
)

// version is set at build time.
var version = "development"

type versionCommand struct{}

func (versionCommand) Run(*slog.Logger) error {
	p := program()
	_, err := fmt.Printf("moriens %s, commit %s, run directory format %d, shared memory layout %d\n",
		p.Version, p.Commit, rundir.FormatVersion, shmabi.Version)
	return err
}

func program() rundir.Program {
	p := rundir.Program{Version: version, Commit: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				p.Commit = s.Value
			}
		}
	}
	return p
}
