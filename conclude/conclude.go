// Package conclude is the end of a run: all that the ranks have sent comes in, and the content of the run directory
// goes out. Times are nanoseconds since the run's first MPI call, amounts are bytes.
//
//	End ─ freeze ─▶ store.Frozen ─ rebuild ─▶ trace.Run ─ cluster ─▶ clusters ─ reduce ─▶ Result ─ write ─▶
//	        ▲ windows of agents                              windows of agents ▲
//
// Each takes the values of those before it. Two add to what an earlier one has made, outside the stages that can be
// given up: cluster puts its labels into the run, reduce the levels and what is kept into the content. The last is
// rundir.Write: no file is written here.
package conclude

import (
	"cmp"
	"context"
	"runtime/debug"

	"moriens/conclude/fetch"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/rundir"
)

// collectAt is by how many percent what is held may grow before what is no more needed is collected. Most of it are
// columns without pointers, of which the collector does not look through any: to collect twelve times as often as usual
// costs some percent of the time, and what a stage has left takes the place of what the next one needs.
const collectAt = 8

// Conclude clusters the bursts of a run, describes it, and decides what of it is kept. What the stages have no time for
// is left out, and the manifest says so; when ctx ends there is no time for any. With an error there is a result too,
// in which the bursts are in no cluster.
//
// With a Team it is collective: the collectors of a run conclude it together, each with what it has received, and the
// Stages are shared. The result is the same as if one had received all. Each has a result; that of the first one is
// whole, and rundir.Write makes the directory of it alone. There is no result where the team has broken: a
// *BrokenError.
func Conclude(ctx context.Context, e End) (*Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	if e.Team == nil {
		e.Team = team.Solo{}
	}
	r, err := conclude(ctx, &e)
	if r == nil {
		return nil, &BrokenError{err}
	}
	return r, err
}

// conclude returns no result where the team has broken.
func conclude(ctx context.Context, e *End) (*Result, error) {
	f, err := freeze(ctx, e)
	if err != nil {
		return nil, err
	}
	r, err := rebuildRun(ctx, e, f)
	if err != nil {
		return nil, err
	}
	outline := outline(ctx, e, r)
	c, err := cluster(ctx, e, r, f.cells)
	if err != nil {
		return nil, err
	}
	d, err := describe(e, f, r, c)
	if err != nil {
		return nil, err
	}
	d.keep.Outline = outline
	if err := reduce(ctx, e, f, r, d); err != nil {
		return nil, err
	}
	if f.cells != nil { // nodes count by places; the bursts that are kept show the callers
		kept := cmp.Or(d.Kept, d.Run)
		d.Run.TallyPaths(kept.Threads)
	}
	return d.Result, c.err
}

// rebuildRun is collective: it makes a run of what the stores of all members have.
func rebuildRun(ctx context.Context, e *End, f frozen) (r *rebuild.Rebuilt, err error) {
	name := stage.Recount
	if f.cells != nil {
		name = stage.RecountRanks
	}
	e.Stages.Within(ctx, name, func(ctx context.Context) {
		if err = e.Frozen.Share(e.Team); err == nil {
			r, err = rebuild.Rebuild(ctx, e.Frozen, e.Team, e.Options.Workers)
		}
		if err == nil {
			e.functions, err = addFunctions(r, e.Keep.Functions)
		}
	})
	return r, err
}

// addFunctions makes phases of functions. It is collective.
func addFunctions(r *rebuild.Rebuilt, names []string) ([]rundir.PhaseFunction, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return retention.AddFunctions(r.Run, r.Team, names)
}

// outline makes levels 1 and 2 without clusters, for the case that there is no time for clusters. Without a limit it is
// not needed.
func outline(ctx context.Context, e *End, r *rebuild.Rebuilt) *retention.Outline {
	if e.Stages.Limit() == 0 {
		return nil
	}
	return retention.Outlined(ctx, e.Stages, r.Run, r.Team, e.Options.Workers)
}

// reduce is collective: it picks what is kept, fetches its detail, and adds levels and what the manifest says of that.
func reduce(ctx context.Context, e *End, f frozen, r *rebuild.Rebuilt, d described) error {
	if !f.asks {
		return retention.Reduce(ctx, e.Stages, &d.Content, d.keep, nil)
	}
	windows := fetch.NewWindows(r, &e.Frozen, e.Windows)
	if err := retention.Reduce(ctx, e.Stages, &d.Content, d.keep, windows); err != nil {
		return err
	}
	return windows.Err()
}
