// Package conclude is the end of a run: everything that the ranks have sent comes in, and the run
// directory's content goes out.
//
//	store.Frozen ─ recount ─▶ trace.Run ─ clustering ─▶ labels, clusters ─ retention ─▶ what stays of it, manifest, clusters.json
//	                                                                          │ ▲
//	                                                                    windows ▼ │ their detail
//	                                                                       agents
//
// It writes no file itself: trace/rundir does.
package conclude

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"moriens/analysis/grouping"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/clustering"
	"moriens/conclude/retention"
	"moriens/internal/anchor"
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
	Desk    Desk          // asks the agents for windows; nil = there are none to ask
	Cells   *CellsOptions // of a run whose bursts stay on their nodes; nil = they came
	Team    team.Team     // of collectors of the run, each with agents of its own, nil = there is one: Job, Options and Keep are the same at all
}

// A Desk asks agents for windows, as collector/windows has it.
type Desk interface {
	// Fetch is asked for no window, which means the transfers of all.
	Fetch(ctx context.Context, windows []anchor.ID, processes ...uint64) []windows.Fetched
	// FetchCalls gets the windows that calls are in.
	FetchCalls(ctx context.Context, calls []windows.Calls) []windows.Fetched
}

// A Result is a run, ready to be written.
type Result struct {
	rundir.Content
	Advice string // where Manifest.Empty says that there is no burst: what to do about it, as far as known
}

// untilRefined is the part of the limit of the end of a run, 0 to 1, after which clusters are refined no further.
const untilRefined = .35

// untilBegun is the part of the limit, 0 to 1, after which it is too late to begin to cluster all bursts.
const untilBegun = .45

// partOfAll is the part of the time for clusters, 0 to 1, in which all bursts are clustered; if they are not by then, there has to be time for a sample and for giving all bursts its clusters.
const partOfAll = .6

// collectAt is by how many percent what is held may grow before what is no more needed is collected. Most of it are columns without pointers, through which
// the collector does not have to look: to collect four times as often as usual costs little, and keeps the end of a run to two thirds of the memory.
const collectAt = 25

// Conclude clusters the bursts of a run, describes it, and decides what of it stays. What the stages have no time for is left out, and the manifest says
// so; when ctx ends there is no time for any. With an error there is a result too, in which the bursts are in no cluster.
//
// With a Team it is collective: the collectors of a run conclude it together, each with what came to it, and the Stages are shared. What comes out is the same as if
// all had come to one. Each has a result; that of the first one is whole, and rundir.Write makes the directory of it alone. There is no result where the team has broken: a
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

// A BrokenError is why there is no result: the collectors of the run could not go on together.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string {
	return "the collectors of the run cannot analyse it together: " + e.Err.Error()
}

// Unwrap returns what ended the team.
func (e *BrokenError) Unwrap() error { return e.Err }

// conclude returns no result where the team has broken.
func conclude(ctx context.Context, e *End) (*Result, error) {
	s := e.Stages
	desks, err := team.Any(e.Team, e.Desk != nil)
	if err != nil {
		return nil, err
	}
	var a *account // of a run whose bursts stay on their nodes
	recounted := stage.Recount
	if e.Cells != nil {
		if e.Team.Size() > 1 {
			return nil, errors.New("bursts kept on their nodes: want one collector")
		}
		a, desks, recounted = e.tell(ctx), false, stage.RecountRanks
	}
	var missing []string
	if e.Keep.All && desks {
		s.Within(ctx, stage.FetchAll, func(ctx context.Context) { missing, err = fetchAll(ctx, e.Team, &e.Frozen, e.Desk) })
		if err != nil {
			return nil, err
		}
	}
	var h *history
	s.Within(ctx, recounted, func(ctx context.Context) {
		if err = e.Frozen.Share(e.Team); err == nil {
			h, err = recount(ctx, e.Frozen, e.Team, e.Options.Workers)
		}
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Content: rundir.Content{Run: h.run, Team: h.team, Manifest: describeRun(h, e.Frozen, e.Job)}}
	m := r.Manifest
	m.Notes = append(m.Notes, missing...)
	if e.Keep.All {
		for _, p := range e.Frozen.Processes {
			m.Losses.TransfersLost += int64(e.Frozen.Lacks(p))
		}
	}
	m.Reduction.Missing = h.missing
	m.Reduction.GivenUp = slices.Clone(h.missing)

	if s.Limit() > 0 { // else all stages are done to their end
		e.Keep.Outline = retention.Outlined(ctx, s, h.run, h.team, e.Options.Workers)
	}
	crowded, err := team.Any(e.Team, crowds(m.Scheduling))
	if err != nil {
		return nil, err
	}
	found, err := e.find(ctx, h, a, crowded)
	if err != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("the bursts are in no clusters: %v", err))
	}
	if e.Keep.Unclustered = err != nil; err != nil {
		m.Unclustered = fmt.Sprint(err)
	}
	if found == nil {
		found, err = clustering.None(h.run, e.Options), fmt.Errorf("cluster the bursts: %w", err)
	}
	clusters := found.Adopt(h.run)
	r.Clusters, m.Filtered, m.Speed = clusters.Clusters, clusters.Filtered, clusters.Speed
	var broken error
	if m.Empty, r.Advice, broken = whyEmpty(h, e.Frozen); broken != nil {
		return nil, broken
	}
	if a != nil {
		e.Keep.Told = a.put(h, &r.Content)
		if bursts, why, advice := a.empty(); bursts || m.Empty != "" && why != "" {
			m.Empty, r.Advice = why, advice
		}
	}
	if m.Empty != "" {
		e.Keep.All = true
	} else {
		m.Notes = append(m.Notes, clusters.Notes...)
	}
	var d *detail
	var kept retention.Detail
	if desks {
		d = newDetail(h, e.Frozen, e.Desk)
		kept = d
	}
	if broken := retention.Reduce(ctx, s, &r.Content, e.Keep, kept); broken != nil {
		return nil, broken
	}
	if d != nil && d.broken != nil {
		return nil, d.broken
	}
	return r, err
}

// find clusters the bursts of a history, of ranks that were crowded or not, or gives them the labels of their micro-cells.
func (e *End) find(ctx context.Context, h *history, a *account, crowded bool) (*clustering.Proposal, error) {
	if a != nil {
		found, err := stage.Try(ctx, e.Stages, stage.Label, func(context.Context) (*labelled, error) { return a.found(h, e.Options) })
		if err != nil {
			return nil, err
		}
		a.cells.BurstsMoved, a.cells.BurstsAstray = found.Moved, found.Astray
		return found.Proposal, nil
	}
	options := e.Options
	options.Team, options.Crowded = h.team, crowded
	late, err := team.Any(e.Team, e.Stages.Over(untilBegun))
	if err != nil {
		return nil, err
	}
	if late { // what time there is, is for a sample
		return e.sample(ctx, h, options)
	}
	found, err := stage.Try(ctx, e.Stages, stage.Cluster, func(ctx context.Context) (*clustering.Proposal, error) {
		own := options
		own.Stop = func() bool { return e.Stages.Over(untilRefined) || stage.Gone(ctx, partOfAll) }
		own.Halt = func() bool { return stage.Gone(ctx, partOfAll) }
		own.Fallback = grouping.DefaultSample
		return clustering.Find(h.run, own)
	})
	if wants, broken := team.Any(e.Team, wantsSample(err)); broken != nil || !wants {
		return found, errors.Join(err, broken)
	}
	sampled, sampleErr := e.sample(ctx, h, options)
	if sampleErr != nil {
		return nil, fmt.Errorf("%w; clustering a sample failed too: %w", err, sampleErr)
	}
	return sampled, nil
}

// sample clusters a sample of the bursts, and gives all its clusters.
func (e *End) sample(ctx context.Context, h *history, options grouping.Options) (*clustering.Proposal, error) {
	return stage.Try(ctx, e.Stages, stage.Sample, func(ctx context.Context) (*clustering.Proposal, error) {
		options.Sample, options.Halt = grouping.DefaultSample, func() bool { return ctx.Err() != nil }
		return clustering.Find(h.run, options)
	})
}

// wantsSample says whether bursts are in no clusters for want of time.
func wantsSample(err error) bool {
	var late *stage.LateError
	return errors.As(err, &late) || errors.Is(err, grouping.ErrHalted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
