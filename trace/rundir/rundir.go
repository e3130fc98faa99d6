// Package rundir writes and reads the run directory: a measured run comes in as a trace.Run with a Manifest and
// Clusters, and goes out as the files that docs/format describes. Times are nanoseconds or seconds, as each field's
// name says.
//
// Each file appears whole or not at all, manifest.json last, so that a directory with a manifest is complete. The
// package never deletes or replaces files that it did not write.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a run directory.
const (
	ManifestFile  = "manifest.json"
	ClustersFile  = "clusters.json"
	CallPathsFile = "callpaths.json" // frames of all call paths
	BurstsFile    = "bursts.parquet"
	ProfileFile   = "profile.parquet"   // level 1 of all ranks
	InstancesFile = "instances.parquet" // what each instance of each phase took
	StructureFile = "structure.json"    // level 2 of all ranks
	PhasesFile    = "phases.parquet"    // where there are phases
	EventsFile    = "events.parquet"    // where there are events
	TraceFile     = "trace.prv"
	TransfersFile = "transfers.parquet" // where calls are known to move something
	LabelsFile    = "trace.pcf"
	NamesFile     = "trace.row"
	ScatterFile   = "scatter.svg"
	TimelineFile  = "timeline.svg"
	OverviewFile  = "overview.pack.gz" // all threads over time, on a grid
	ReportFile    = "report.html"      // the page; its size is in no manifest, and it may be written again
)

// ViewsDir is the folder of a run directory that holds configurations for Paraver.
const ViewsDir = "views"

// JournalDir is the folder of a run directory in which a collector keeps what it holds until the results are written.
const JournalDir = "journal"

// A CreateError says why a run directory cannot be made, and what to do about it.
type CreateError struct {
	Err  error
	Text string // the hint
}

func (e *CreateError) Error() string { return e.Err.Error() }
func (e *CreateError) Unwrap() error { return e.Err }

// Hint says what the user can do.
func (e *CreateError) Hint() string { return e.Text }

// begun reports whether all that is in a directory is an empty journal: a collector was killed at its very beginning.
func begun(dir string, entries []os.DirEntry) bool {
	if len(entries) != 1 || entries[0].Name() != JournalDir || !entries[0].IsDir() {
		return false
	}
	journal, err := os.ReadDir(filepath.Join(dir, JournalDir))
	return err == nil && len(journal) == 0
}

// Create makes the run directory with its parents, or takes an empty one that exists, or one in which nothing has got
// further than an empty journal. Every error is a *CreateError.
func Create(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0 && !begun(dir, entries):
		return &CreateError{
			fmt.Errorf("run directory %s: %w and is not empty", dir, fs.ErrExist),
			"name another with --out, or remove it first",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a directory with --out"}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a writable directory with --out"}
	}
	// Permission bits do not show: the file system may be read-only or full.
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a writable directory with --out"}
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a writable directory with --out"}
	}
	return nil
}
