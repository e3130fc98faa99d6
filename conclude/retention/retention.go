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
	"fmt"
	"slices"

	"moriens/analysis/loops"
	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/conclude/blame"
	"moriens/conclude/levels"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Reduction is what is kept of a run.
type Reduction struct {
	Kept   *trace.Run // nil: everything is kept. Where several have the run, it is whole at the first, and so are the others of these
	Rows   *trace.Run // with the bursts of Kept, and the sample
	Levels *rundir.Levels

	owners   team.Threads
	names    []string // of threads
	missing  []string // what could not be done or got, and why
	lacking  []string // what of Kept could not be got
	unwaited string   // why its waits are not known; empty: they are, or are those of the whole run
	lost     int64    // transfers of those
	givenUp  []string // those of them for lack of time, or by fault of the analysis
	notes    []string
	chosen   []string // notes on the latest choice
	meetings meetings
	table    *levels.Table
	periods  *period.Result   // like all below nil where that could not be done
	times    []trace.Span     // of the phases of periods
	exact    *profile.Profile // level 1 by kinds
	// Whether the instances of single threads are kept; nil: no instances are.
	instancesByThread *bool
	instanceBytes     int64           // of instances.parquet
	byClass           *rundir.ByClass // what of the profile is by classes; nil: nothing
	structure         *loops.Structure
	fidelity          *rundir.Fidelity
	blame             *blame.Blame
	classes           *represent.Classes
	bursts            []int // of each thread; nil = not known
	found             *represent.Selection
	sizes             sizes
	parts             []part // that are kept, by importance
	order             []int  // for each window of Kept the number of its part
	dropped           []represent.Part
	sampledOf         int64 // bursts that those of the sample stand for
}

// A Detail gets what nodes alone have of the windows that are kept: what their calls sent and received.
//
// Where several members have the run, each has one, and calls of it are collective: Fetch is given the spans of all
// threads, and what Add returns has the transfers of the member's own threads, and all messages at all members.
type Detail interface {
	// Fetch adds the available detail of spans of threads to what was fetched before, and says what has kept it from that,
	// each a sentence without a full stop. It returns when ctx ends at the latest.
	Fetch(ctx context.Context, kept [][]trace.Span) (missing []string)
	// Lacking says how many transfers of spans of threads have not been fetched, and of whom, each a sentence without a
	// full stop.
	Lacking(kept [][]trace.Span) (transfers int64, missing []string)
	// Add returns a run that has the transfers and messages that were fetched, in the place of its own.
	Add(run *trace.Run) *trace.Run
}

// phases are the phases of iterations; nil where none are known.
func (r *Reduction) phases() []period.Phase {
	if r.periods == nil {
		return nil
	}
	return r.periods.Phases
}

// name names a thread.
func (r *Reduction) name(thread int) string { return r.names[thread] }

// alike says for each thread which others it stands for, and is stood for by: those of its class, outliers apart, which
// stand for themselves alone.
func (r *Reduction) alike() []int32 {
	list := slices.Clone(r.classes.Of)
	for i := range r.classes.Outliers {
		list[r.classes.Outliers[i].Thread] = int32(len(r.classes.Classes) + i)
	}
	return list
}

// ended says why no time is left, if any member has none.
func (r *Reduction) ended(ctx context.Context) error {
	return team.Explain(r.owners, context.Cause(ctx))
}

// try does a stage, and says what is missing without it where it fails or takes too long.
func try[T any](ctx context.Context, r *Reduction, s *stage.Stages, step stage.Step, without string, work func(context.Context) (*T, error)) *T {
	made, err := stage.Try(ctx, s, step, work)
	if err != nil {
		r.miss(step.Name, without, err)
		return nil
	}
	return made
}

func (r *Reduction) miss(name, without string, err error) {
	text := missed(name, without, err.Error())
	r.missing, r.givenUp = append(r.missing, text), append(r.givenUp, text)
}

// missed says what is missing without a stage, and why.
func missed(name, without, why string) string { return fmt.Sprintf("%s: %s: %s", without, name, why) }
