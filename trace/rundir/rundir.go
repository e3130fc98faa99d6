// Package rundir writes and reads the run directory: a measured run comes in as a trace.Run with a Manifest
// and Clusters, and leaves as the files that docs/format describes. Times are nanoseconds or seconds as each field's name says.
//
// Each file appears whole or not at all, manifest.json last of all, so that a directory that has one is complete.
// The package never deletes or replaces what it did not write.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// The files of a run directory.
const (
	ManifestFile = "manifest.json"
	ClustersFile = "clusters.json"
	BurstsFile   = "bursts.parquet"
	PhasesFile   = "phases.parquet" // where there are phases
	EventsFile   = "events.parquet" // where there are events
	TraceFile    = "trace.prv"
	LabelsFile   = "trace.pcf"
	NamesFile    = "trace.row"
	ScatterFile  = "scatter.svg"
	TimelineFile = "timeline.svg"
)

// JournalDir is the folder of a run directory in which a collector keeps what it holds until the results are written.
const JournalDir = "journal"

// A CreateError says why a run directory cannot be made, and what to do about it.
type CreateError struct {
	Err  error
	Text string // the hint
}

func (e *CreateError) Error() string { return e.Err.Error() }
func (e *CreateError) Unwrap() error { return e.Err }

// Hint tells the user what to do.
func (e *CreateError) Hint() string { return e.Text }

// Create makes the run directory with its parents, or takes an empty one that exists. Every error is a *CreateError.
func Create(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return &CreateError{
			fmt.Errorf("run directory %s: %w and is not empty", dir, fs.ErrExist),
			"name another with --out, or remove it first",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a directory with --out"}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a directory that you may write to with --out"}
	}
	// Permission bits do not tell: the file system may be read-only or full.
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a directory that you may write to with --out"}
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return &CreateError{fmt.Errorf("run directory: %w", err), "name a directory that you may write to with --out"}
	}
	return nil
}
