// Package retention decides at the end of a run what of it is kept in full detail, and computes the reconstruction
// error.
//
//	whole run ─ levels ─ periods ─ classes ─▶ candidates ─ budget ─▶ parts
//	parts ─ detail of their nodes ─▶ kept run ─ error ─▶ reconstruction error
//
// In comes a trace.Run whose bursts are clustered; it is not changed. Out come a run that holds the chosen windows
// alone, the bursts of bursts.parquet (theirs, and a weighted sample of the others), levels 1 and 2 of all threads, and
// the manifest's description of these. Times are nanoseconds, sizes bytes of files.
//
// A stage that cannot finish in its time is left out and reported: later stages work with what there is.
//
// The threads may be spread over a team: each member has the columns of its own threads, and everything else of the
// run. All members call Reduce. Decisions are equal at all of them, and the same as those of one process with
// everything; what is written is gathered at the first.
package retention

import (
	"context"

	"moriens/analysis/loops"
	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Options say how much is kept.
type Options struct {
	All      bool        // everything does, and the rest does not matter
	Budget   units.Bytes // of the whole run directory
	Windows  int         // consecutive iterations that stand for a phase; 0 = represent.DefaultWindows
	Outliers int         // threads that are unlike their class, at most; below 0: in proportion to the classes
	Workers  int         // threads to compute with; below 1 means 1
	Totals   *Totals     // what is known of all threads beside what the run has of some; nil = the run has all of all
	Outline  *Outline    // nil = none was made
	// Unclustered says that nothing has clustered the bursts.
	Unclustered bool
}

// DefaultBudget is that of the command line.
const DefaultBudget = units.Bytes(64 << 20)

// A Reduction is what is kept of a run.
type Reduction struct {
	Kept   *trace.Run // nil: everything stays. Where several have the run, it is whole at the first, and so are the others of these
	Rows   *trace.Run // with the bursts of Kept, and the sample
	Levels *rundir.Levels

	owners    team.Threads
	names     []string // of threads
	missing   []string // what could not be done or got, and why
	lacking   []string // what of Kept could not be got
	lost      int64    // transfers of those
	givenUp   []string // what of that is for want of time, or the analysis is to blame for
	notes     []string
	chosen    []string // notes on the latest choice
	meetings  meetings
	table     *levels.Table
	periods   *period.Result   // like all below nil where that could not be done
	times     []trace.Span     // of the phases of periods
	exact     *profile.Profile // level 1 by kinds
	structure *loops.Structure
	fidelity  *rundir.Fidelity
	classes   *represent.Classes
	found     *represent.Selection
	sizes     sizes
	parts     []part // that are kept, by importance
	order     []int  // for each window of Kept the number of its part
	dropped   []represent.Part
	sampledOf int64 // bursts that those of the sample stand for
}

// A Detail gets what nodes alone have of the windows that are kept: what their calls sent and received.
//
// Where several members have the run, each has one, and calls of it are collective: Fetch is given the spans of all threads, and what Add returns has the transfers of the member's own
// threads, and all messages at all members.
type Detail interface {
	// Fetch adds what there is of spans of threads to what was fetched before, and says what has kept it from that, each a sentence without a full
	// stop. It returns when ctx ends at the latest.
	Fetch(ctx context.Context, kept [][]trace.Span) (missing []string)
	// Lacking says how many transfers of spans of threads have not been fetched, and of whom, each a sentence without a full stop.
	Lacking(kept [][]trace.Span) (transfers int64, missing []string)
	// Add returns a run that has the transfers and messages that were fetched, in the place of its own.
	Add(run *trace.Run) *trace.Run
}
