package conclude

import (
	"context"
	"errors"
	"fmt"

	"moriens/analysis/grouping"
	"moriens/conclude/cells"
	"moriens/conclude/clustering"
	"moriens/conclude/rebuild"
	"moriens/internal/stage"
	"moriens/internal/team"
)

// untilRefined is the part of the limit of the end of a run, 0 to 1, after which clusters are refined no further.
const untilRefined = .35

// untilBegun is the part of the limit, 0 to 1, after which it is too late to begin to cluster all bursts.
const untilBegun = .45

// A clustered is the clusters of a run. They are written into it.
type clustered struct {
	*clustering.Result
	located clustering.Located // the origin of the labels, for bursts that are kept on their nodes
	err     error              // that has kept the bursts from being clustered
	why     string             // its text for the manifest
}

// cluster gives the bursts of a run clusters and labels; kept has the micro-cells of one whose bursts are kept on their
// nodes.
func cluster(ctx context.Context, e *End, r *rebuild.Rebuilt, kept *cells.Collected) (c clustered, broken error) {
	crowded, broken := team.Any(r.Team, rebuild.Crowded(r.Scheduling))
	if broken != nil {
		return c, broken
	}
	var found *clustering.Proposal
	if kept != nil {
		var labelled *cells.Labelled
		labelled, c.err = stage.Try(ctx, e.Stages, stage.Label, func(context.Context) (*cells.Labelled, error) { return kept.Label(r, e.Options) })
		if c.err == nil {
			found, c.located = labelled.Proposal, labelled.Located
		}
	} else {
		found, c.err = e.find(ctx, r, crowded)
	}
	if c.err != nil {
		c.why = c.err.Error()
	}
	if found == nil {
		found, c.err = clustering.None(r.Run, e.Options), fmt.Errorf("cluster the bursts: %w", c.err)
	}
	c.Result = found.Adopt(r.Run)
	return c, nil
}

// find clusters the bursts of a run, or a sample of them where time is short.
func (e *End) find(ctx context.Context, r *rebuild.Rebuilt, crowded bool) (*clustering.Proposal, error) {
	options := e.Options
	options.Team, options.Crowded = r.Team, crowded
	late, err := team.Any(e.Team, e.Stages.Over(untilBegun))
	if err != nil {
		return nil, err
	}
	if late { // what time there is, is for a sample
		return e.sample(ctx, r, options)
	}
	found, err := stage.Try(ctx, e.Stages, stage.Cluster, func(ctx context.Context) (*clustering.Proposal, error) {
		own := options
		own.Stop = func() bool { return e.Stages.Over(untilRefined) || stage.Gone(ctx, clustering.PartOfAll) }
		own.Halt = func() bool { return stage.Gone(ctx, clustering.PartOfAll) }
		own.Fallback = grouping.DefaultSample
		return clustering.Find(r.Run, &r.Columns, own)
	})
	if wants, broken := team.Any(e.Team, wantsSample(err)); broken != nil || !wants {
		return found, errors.Join(err, broken)
	}
	sampled, sampleErr := e.sample(ctx, r, options)
	if sampleErr != nil {
		return nil, fmt.Errorf("%w; clustering a sample failed too: %w", err, sampleErr)
	}
	return sampled, nil
}

// sample clusters a sample of the bursts, and gives all its clusters.
func (e *End) sample(ctx context.Context, r *rebuild.Rebuilt, options grouping.Options) (*clustering.Proposal, error) {
	return stage.Try(ctx, e.Stages, stage.Sample, func(ctx context.Context) (*clustering.Proposal, error) {
		options.Sample, options.Halt = grouping.DefaultSample, func() bool { return ctx.Err() != nil }
		return clustering.Find(r.Run, &r.Columns, options)
	})
}

// wantsSample says whether bursts are in no clusters for lack of time.
func wantsSample(err error) bool {
	var late *stage.LateError
	return errors.As(err, &late) || errors.Is(err, grouping.ErrHalted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
