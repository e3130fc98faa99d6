package main

import (
	"cmp"
	"fmt"
	"log/slog"

	"moriens/internal/mpix"
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
	_, err := fmt.Printf("moriens %s, commit %s, run directory format %d (%s %d, %s %d), shared memory layout %d, MPI %s\n",
		p.Version, p.Commit, rundir.ManifestFormat, rundir.ClustersFile, rundir.ClustersFormat, rundir.StructureFile, rundir.StructureFormat, shmabi.Version,
		cmp.Or(mpix.Library(), "none"))
	return err
}

func program() rundir.Program {
	return rundir.Program{Version: version, Commit: commit}
}
