package main

import (
	"cmp"
	"fmt"

	"github.com/alecthomas/kong"

	"moriens/agent/spool"
	"moriens/collector/journal"
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

func (versionCommand) Run(app *kong.Kong) error {
	p := program()
	_, err := fmt.Fprintf(app.Stdout, "moriens %s, commit %s, run directory format %d (%s %d, %s %d), journal format %d, spool format %d, shared memory layout %d, MPI %s\n",
		p.Version, p.Commit, rundir.ManifestFormat, rundir.ClustersFile, rundir.ClustersFormat, rundir.StructureFile, rundir.StructureFormat, journal.Format, spool.Format, shmabi.Version,
		cmp.Or(mpix.Library(), "none"))
	return err
}

// A versionFlag is that command as a flag, as which other programs have it.
type versionFlag bool

// BeforeReset is called where the flag is given, before the rest of the command line is looked at.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if err := (versionCommand{}).Run(app); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

func program() rundir.Program {
	return rundir.Program{Version: version, Commit: commit}
}
