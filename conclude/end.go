package conclude

import (
	"log/slog"
	"time"

	"moriens/analysis/grouping"
	agentcells "moriens/collector/cells"
	"moriens/collector/store"
	"moriens/conclude/cells"
	"moriens/conclude/fetch"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/rundir"
)

// A Job is what only the launcher of the job knows.
type Job struct {
	Program    rundir.Program
	Run        string
	Command    []string
	ExitStatus int
	Started    time.Time
	Ended      time.Time
	EndedBy    string   // what ended the run before its ranks did; empty = nothing
	Notes      []string // what the user should know of it
}

// An End is all that the end of a run is made of.
type End struct {
	Frozen  store.Frozen
	Job     Job
	Options grouping.Options
	Keep    retention.Options
	Stages  *stage.Stages // of the whole end; those of a Team are shared
	Windows fetch.Agents  // that can be asked for windows; nil = there are none
	Cells   *CellsOptions // of a run whose bursts are kept on their nodes; nil = they are in Frozen
	Team    team.Team     // of collectors of the run, each with agents of its own, nil = there is one: Job, Options and Keep are the same at all

	functions []rundir.PhaseFunction // that are phases, as they were found
}

// CellsOptions are for a run whose bursts are kept on their nodes, where agents hold them as micro-cells.
type CellsOptions struct {
	Agents      cells.Agents            // nil = there are none to ask
	Coordinator *agentcells.Coordinator // that has asked them before; nil = none has
	Log         *slog.Logger
}

// A Result is a run, ready to be written.
type Result struct {
	rundir.Content
	Advice string // where Manifest.Empty says that there is no burst: what to do about it, as far as known
}

// A BrokenError is why there is no result: the collectors of the run could not continue together.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string {
	return "the collectors of the run cannot analyse it together: " + e.Err.Error()
}

// Unwrap returns what ended the team.
func (e *BrokenError) Unwrap() error { return e.Err }
