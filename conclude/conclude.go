// Package conclude is the end of a run: all that the ranks have sent comes in, and the content of the run directory goes out. Times are nanoseconds since the run's first
// MPI call, amounts are bytes.
//
//	store.Frozen ─ freeze ─▶ rebuild ─▶ trace.Run, facts ─ cluster ─▶ labels, clusters ─ reduce ─▶ kept part, levels ─ finish ─▶ Result
//	                 ▲                                                                     ▲
//	                 └───────────────────────── windows of the agents ─────────────────────┘
//
// It writes no file itself: trace/rundir does.
package conclude

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"moriens/conclude/cells"
	"moriens/conclude/fetch"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/rundir"
)

// collectAt is by how many percent what is held may grow before what is no more needed is collected. Most of it are columns without pointers, through which
// the collector does not have to look: to collect four times as often as usual costs little, and keeps the end of a run to two thirds of the memory.
const collectAt = 25

// Conclude clusters the bursts of a run, describes it, and decides what of it stays. What the stages have no time for is left out, and the manifest says
// so; when ctx ends there is no time for any. With an error there is a result too, in which the bursts are in no cluster.
//
// With a Team it is collective: the collectors of a run conclude it together, each with what it has received, and the Stages are shared. The result is the same as if
// one had received all. Each has a result; that of the first one is whole, and rundir.Write makes the directory of it alone. There is no result where the team has broken: a
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
	return d.Result, c.err
}

// A frozen is what is here of a run when it is over.
type frozen struct {
	asks    bool             // agents can be asked for windows, by some member
	cells   *cells.Collected // of a run whose bursts stay on their nodes; nil = they are in the store
	missing []string         // what agents have not given, each a sentence without a full stop
}

// freeze is collective: it fetches from the agents what the store lacks.
func freeze(ctx context.Context, e *End) (f frozen, err error) {
	if f.asks, err = team.Any(e.Team, e.Windows != nil); err != nil {
		return f, err
	}
	if e.Cells != nil {
		if e.Team.Size() > 1 {
			return f, errors.New("bursts that stay on their nodes: want one collector")
		}
		f.asks = false
		f.cells = cells.Collect(ctx, cells.Input{
			Frozen: &e.Frozen, Agents: e.Cells.Agents, Asked: e.Cells.Centre, Log: e.Cells.Log, Stages: e.Stages, Options: e.Options, Keep: e.Keep,
		})
	}
	if e.Keep.All && f.asks {
		e.Stages.Within(ctx, stage.FetchAll, func(ctx context.Context) { f.missing, err = fetch.Transfers(ctx, e.Team, &e.Frozen, e.Windows) })
	}
	return f, err
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
	})
	return r, err
}

// outline makes levels 1 and 2 without clusters, for the case that there is no time for clusters. Without a limit there always is.
func outline(ctx context.Context, e *End, r *rebuild.Rebuilt) *retention.Outline {
	if e.Stages.Limit() == 0 {
		return nil
	}
	return retention.Outlined(ctx, e.Stages, r.Run, r.Team, e.Options.Workers)
}

// A described is a run with its manifest, and how much of it is to be kept.
type described struct {
	*Result
	keep retention.Options
}

// describe is collective: it says in the manifest what is known before the run is reduced.
func describe(e *End, f frozen, r *rebuild.Rebuilt, c clustered) (d described, broken error) {
	m := manifestOf(r, e.Frozen, e.Job)
	d.keep, d.Result = e.Keep, &Result{Content: rundir.Content{Run: r.Run, Team: r.Team, Manifest: m, Clusters: c.Clusters}}
	m.Notes = append(m.Notes, f.missing...)
	if e.Keep.All {
		for _, p := range e.Frozen.Processes {
			m.Losses.TransfersLost += int64(e.Frozen.Lacks(p))
		}
	}
	m.Reduction.Missing, m.Reduction.GivenUp = r.Missing, slices.Clone(r.Missing)
	if d.keep.Unclustered = c.err != nil; c.err != nil {
		m.Unclustered = c.why
		m.Notes = append(m.Notes, "the bursts are in no clusters: "+c.why)
	}
	m.Filtered, m.Speed = c.Filtered, c.Speed
	if m.Empty, d.Advice, broken = whyEmpty(r, e.Frozen); broken != nil {
		return d, broken
	}
	if f.cells != nil {
		d.keep.Told = f.cells.Describe(r, c.located, &d.Content)
		if bursts, why, advice := f.cells.Empty(); bursts || m.Empty != "" && why != "" {
			m.Empty, d.Advice = why, advice
		}
	}
	if m.Empty != "" {
		d.keep.All = true
	} else {
		m.Notes = append(m.Notes, c.Notes...)
	}
	return d, nil
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
