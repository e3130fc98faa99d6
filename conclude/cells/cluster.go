package cells

import (
	"context"
	"errors"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	agentcells "moriens/collector/cells"
	"moriens/collector/store"
	"moriens/conclude/clustering"
	"moriens/conclude/rebuild"
	"moriens/internal/relay"
	"moriens/internal/stage"
)

// A clustered is a clustering of micro-cells.
type clustered struct {
	set    *microcell.Set    // nil: no agent has sent its micro-cells
	result *microcell.Result // nil: they are not clustered
	err    error             // why the bursts are in no clusters
}

// untilRefined is the part of the limit of the end of such a run, 0 to 1, after which clusters are refined no further.
const untilRefined = .22

// attempts is how often a clustering is restarted because agents have left on the way.
const attempts = 8

// cluster clusters what the agents have. When one leaves on the way it is restarted with those that are left.
func (a *asker) cluster(ctx context.Context) (c clustered) {
	for range attempts {
		if c.set, c.err = a.Asked.Survey(ctx, paths{a.Frozen}); c.err != nil {
			c.set = nil
			break
		}
		o := a.Options
		o.Dims, o.By, o.JobThreads = c.set.Dims, by(c.set, o), len(a.threads.Rings)
		o.Stop = func() bool { return a.Stages.Over(untilRefined) || ctx.Err() != nil }
		o.Halt = func() bool { return stage.Gone(ctx, clustering.PartOfAll) }
		if c.result, c.err = a.compute(ctx, *c.set, o); c.err == nil {
			return c
		}
		c.result = nil
		if !errors.Is(c.err, agentcells.ErrLeft) {
			break
		}
	}
	if ctx.Err() != nil {
		c.err = context.Cause(ctx)
	}
	return c
}

// compute clusters the micro-agentcells. What is equal otherwise has the order of the run's numbers of places; the
// store's numbers of call paths, which the result has, are in no order.
func (a *asker) compute(ctx context.Context, set microcell.Set, o grouping.Options) (*microcell.Result, error) {
	a.Frozen.Renumber()
	numbers := make(map[uint32]uint32) // one of the store's by the run's of its place
	path := func(number uint32) uint32 {
		now := a.Frozen.Place(number)
		numbers[now] = number
		return now
	}
	groups := set.Groups
	set.Groups = make([]microcell.Group, len(groups))
	for i, g := range groups {
		set.Groups[i] = microcell.Group{Before: path(g.Before), After: path(g.After)}
	}
	var r *microcell.Result
	var err error
	if o.Fixed != nil {
		r, err = microcell.Compute(set, a.Asked.Source(ctx, o.Workers), o)
	} else {
		scheduling := rebuild.Scheduling(a.threads.Worlds, a.Frozen.Agents)
		o.Crowded = rebuild.Crowded(scheduling)
		r, err = a.Asked.Kinds(ctx, set, a.allThreads(), o, func(c relay.Calls) int64 {
			number := func(site [2]uint32) int64 { return int64(path(a.Frozen.Number(c.Process, site[0], site[1]))) }
			return number(c.Before)<<32 | number(c.After)
		})
	}
	if err != nil {
		return nil, err
	}
	return between(r, func(number uint32) uint32 { return numbers[number] }), nil
}

// allThreads are those of the run, followed by those in no world, whose bursts agents have too.
func (a *asker) allThreads() (list []agentcells.Thread) {
	add := func(r *store.Ring) {
		list = append(list, agentcells.Thread{Agent: r.Process.Agent.Hello.Agent, Ring: r.Info.Ring})
	}
	known := make(map[*store.Ring]bool)
	for _, r := range a.threads.Rings {
		known[r] = true
		add(r)
	}
	for _, p := range a.Frozen.Processes {
		for _, r := range p.Rings {
			if !known[r] {
				add(r)
			}
		}
	}
	return list
}

// between is a result with other numbers of call paths.
func between(r *microcell.Result, path func(number uint32) uint32) *microcell.Result {
	other := *r
	other.Groups, other.Clusters = slices.Clone(r.Groups), slices.Clone(r.Clusters)
	for i := range other.Groups {
		g := &other.Groups[i]
		g.Before, g.After = path(g.Before), path(g.After)
	}
	for i := range other.Clusters {
		x := &other.Clusters[i]
		x.Before, x.After = renumbered(x.Before, path), renumbered(x.After, path)
	}
	return &other
}

func renumbered(counts []grouping.PathCount, path func(number uint32) uint32) []grouping.PathCount {
	list := slices.Clone(counts)
	for i := range list {
		list[i].Path = path(list[i].Path)
	}
	return list
}

// by is how bursts were split into groups; where there are none, how they were to be.
func by(s *microcell.Set, o grouping.Options) grouping.By {
	switch {
	case len(s.Units) == 0:
		o, _ = o.Choose(s.Counters)
		return o.By
	case slices.ContainsFunc(s.Groups, func(g microcell.Group) bool { return g != microcell.Group{} }):
		return grouping.ByCalls
	}
	return grouping.ByNone
}

// paths number call paths as the store does.
type paths struct{ *store.Frozen }

// Path implements agentcells.Paths.
func (p paths) Path(process uint64, function, path uint32) uint32 {
	return p.Number(process, function, path)
}
