package conclude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/collector/cells"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/relay"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// CellsOptions are for a run whose bursts stay on their nodes, where agents keep them as micro-cells.
type CellsOptions struct {
	Agents CellsAgents   // nil = there are none to ask
	Centre *cells.Centre // that has asked them before; nil = none has
	Log    *slog.Logger
}

// CellsAgents can be asked about micro-cells, and for all that they hold of processes, as collector/windows.Desk can.
type CellsAgents interface {
	cells.Agents
	FetchAll(ctx context.Context, processes ...uint64) []windows.Fetched
}

// untilCellsRefined is the part of the limit of the end of such a run, 0 to 1, after which clusters are refined no further.
const untilCellsRefined = .22

// attempts is how often a clustering is begun anew because agents have left on the way.
const attempts = 8

// An account is what agents that keep the bursts have told of a run.
type account struct {
	end     *End
	frozen  *store.Frozen
	centre  *cells.Centre
	lineup  lineup
	set     *microcell.Set    // nil: no agent has told its micro-cells
	result  *microcell.Result // nil: they are not clustered
	sums    map[uint64]*ringSums
	filled  store.Filled
	labels  map[uint64][]cells.Labelled // by ring of those that stay: the labels of its rows on its node
	classes *sumClasses                 // nil: threads are not told apart
	cells   rundir.Cells
	notes   []string
	missing []string // what there was no time for, or what agents did not tell, and why
	err     error    // why the bursts are in no clusters
}

// A lineup is who the threads of the run are, before anything of them came.
type lineup struct {
	worlds []*world
	rings  []*store.Ring // in the order of the run's threads
	names  []string      // of the threads
}

// lineUp finds out who the threads are.
func lineUp(f store.Frozen, workers int) (l lineup) {
	c := readClocks(f)
	// Where clocks do not go together the recount says so.
	_ = c.solve(team.Solo{}, noCauses().told, nil, workers)
	l.worlds, _ = c.worlds(f)
	for i, w := range l.worlds {
		for _, p := range w.ranks() {
			for _, r := range threadsOf(p) {
				l.rings = append(l.rings, r)
				l.names = append(l.names, rundir.ThreadName{World: i, Rank: int(p.Info.Rank), Thread: int(r.Info.Thread)}.Short(len(l.worlds) > 1))
			}
		}
	}
	return l
}

// tell asks the agents what is to be known of all ranks, and fetches those ranks that are to stay in detail: from then on the store has these as if they had come by
// themselves. What does not come is said, and the rest is made of what did.
func (e *End) tell(ctx context.Context) *account {
	a := &account{end: e, frozen: &e.Frozen, sums: make(map[uint64]*ringSums), labels: make(map[uint64][]cells.Labelled)}
	e.Stages.Must(stage.LineUp, func() { a.lineup = lineUp(e.Frozen, e.Options.Workers) })
	if e.Cells.Agents != nil {
		if a.centre = e.Cells.Centre; a.centre == nil {
			a.centre = cells.New(e.Cells.Agents, cmp.Or(e.Cells.Log, slog.New(slog.DiscardHandler)))
		}
		if len(a.lineup.worlds) > 1 {
			a.centre.Worlds()
		}
		e.Stages.Within(ctx, stage.Cells, a.cluster)
		e.Stages.Within(ctx, stage.Sums, a.sum)
		e.Stages.Within(ctx, stage.FetchRanks, a.fetch)
	} else {
		a.err = errors.New("there are no agents to ask for micro-cells")
	}
	a.frozen.Renumber()
	a.describe()
	return a
}

// cluster clusters what the agents have. When one leaves on the way it is done anew with those that are left.
func (a *account) cluster(ctx context.Context) {
	for range attempts {
		if a.set, a.err = a.centre.Survey(ctx, paths{a.frozen}); a.err != nil {
			a.set = nil
			break
		}
		o := a.end.Options
		o.Dims, o.By, o.JobThreads = a.set.Dims, by(a.set, o), len(a.lineup.rings)
		o.Stop = func() bool { return a.end.Stages.Over(untilCellsRefined) || ctx.Err() != nil }
		o.Halt = func() bool { return stage.Gone(ctx, partOfAll) }
		if a.result, a.err = a.compute(ctx, o); a.err == nil {
			return
		}
		a.result = nil
		if !errors.Is(a.err, cells.ErrLeft) {
			break
		}
	}
	if ctx.Err() != nil {
		a.err = context.Cause(ctx)
	}
}

// compute clusters the micro-cells. What is equal otherwise has the order of the run's numbers of call paths; the store's, which the result has, are in no order.
func (a *account) compute(ctx context.Context, o grouping.Options) (*microcell.Result, error) {
	a.frozen.Renumber()
	set, numbers := *a.set, make(map[uint32]uint32) // the store's by the run's
	path := func(number uint32) uint32 {
		now := a.frozen.Path(number)
		numbers[now] = number
		return now
	}
	set.Groups = make([]microcell.Group, len(a.set.Groups))
	for i, g := range a.set.Groups {
		set.Groups[i] = microcell.Group{Before: path(g.Before), After: path(g.After)}
	}
	var r *microcell.Result
	var err error
	if o.Fixed != nil {
		r, err = microcell.Compute(set, a.centre.Source(ctx, o.Workers), o)
	} else {
		scheduling := describeScheduling(a.lineup.worlds, a.frozen.Agents)
		o.Crowded = crowds(scheduling)
		r, err = a.centre.Kinds(ctx, set, a.threads(), o, func(c relay.Calls) int64 {
			number := func(site [2]uint32) int64 { return int64(path(a.frozen.Number(c.Process, site[0], site[1]))) }
			return number(c.Before)<<32 | number(c.After)
		})
	}
	if err != nil {
		return nil, err
	}
	return between(r, func(number uint32) uint32 { return numbers[number] }), nil
}

// threads are those of the run, and behind them such as are in no world, whose bursts agents have too.
func (a *account) threads() (list []cells.Thread) {
	add := func(r *store.Ring) {
		list = append(list, cells.Thread{Agent: r.Process.Agent.Hello.Agent, Ring: r.Info.Ring})
	}
	known := make(map[*store.Ring]bool)
	for _, r := range a.lineup.rings {
		known[r] = true
		add(r)
	}
	for _, p := range a.frozen.Processes {
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

// Path implements cells.Paths.
func (p paths) Path(process uint64, function, path uint32) uint32 {
	return p.Number(process, function, path)
}

// sum has the agents take the labels, and asks them what all threads did by these.
func (a *account) sum(ctx context.Context) {
	if a.set == nil {
		return
	}
	if a.result != nil && a.result.Labels != nil {
		if err := a.centre.Label(ctx, a.result.Labels); err != nil && !errors.Is(err, cells.ErrLeft) {
			a.missing = append(a.missing, fmt.Sprintf("sums of ranks by clusters: %v", err))
			return
		}
	}
	err := a.centre.Sums(ctx, a.takeSums)
	if err != nil && !errors.Is(err, cells.ErrLeft) {
		a.missing = append(a.missing, fmt.Sprintf("sums of ranks: %v", err))
	}
	for _, l := range a.centre.Left() { // what they have told is not whole
		a.forget(l.Agent)
	}
	a.classify()
}

// forget drops the sums of an agent.
func (a *account) forget(agent uint64) {
	for id := range a.sums {
		if r := a.frozen.Ring(id); r.Process.Agent.Hello.Agent == agent {
			delete(a.sums, id)
		}
	}
}

// fetch gets all that nodes hold of the ranks that are to stay.
func (a *account) fetch(ctx context.Context) {
	chosen := a.choose()
	if len(chosen) == 0 || len(a.centre.Told()) == 0 { // nobody answers
		return
	}
	var ids []uint64
	for _, p := range chosen {
		ids = append(ids, p.Info.Process)
	}
	var messages []*moriensv1.ReportRequest
	for _, answer := range a.end.Cells.Agents.FetchAll(ctx, ids...) {
		if answer.Err != nil && a.asked(answer.Agent, chosen) {
			a.missing = append(a.missing, unanswered("everything to be kept", a.frozen, answer))
		}
		for _, part := range answer.Parts {
			messages = append(messages, part.Messages...)
		}
	}
	filled := a.frozen.Fill(messages)
	a.filled = filled
	a.label(ctx, chosen)
	a.cells.CallsEvicted, a.cells.Stretches = int64(filled.Missing), filled.Holes
	said := make(map[string]bool)
	for _, err := range filled.Refused {
		if text := err.Error(); !said[text] && len(said) < mostRefused {
			said[text] = true
			a.notes = append(a.notes, "data of a rank from its node was refused: "+text)
		}
	}
	if n := len(filled.Refused); n > len(said) {
		a.notes = append(a.notes, fmt.Sprintf("data of ranks from their nodes was refused: %s in total", units.Count(n, "message")))
	}
}

// label asks for the labels of the bursts of the ranks that stay.
func (a *account) label(ctx context.Context, chosen []*store.Process) {
	if a.result == nil || a.result.Labels != nil {
		return
	}
	rings := make(map[uint64][]uint64) // by agent
	for _, p := range chosen {
		for _, r := range p.Rings {
			rings[p.Agent.Hello.Agent] = append(rings[p.Agent.Hello.Agent], r.Info.Ring)
		}
	}
	for agent, list := range rings {
		rows, err := a.centre.Rows(ctx, agent, list, len(a.result.Clusters))
		if err != nil {
			a.missing = append(a.missing, fmt.Sprintf("clusters of the bursts of ranks in full: %v", err))
			continue
		}
		maps.Copy(a.labels, rows)
	}
}

// mostRefused is how many reasons are told for what is refused of fetched windows.
const mostRefused = 8

// asked says whether an agent is that of some processes.
func (a *account) asked(agent uint64, processes []*store.Process) bool {
	return slices.ContainsFunc(processes, func(p *store.Process) bool { return p.Agent.Hello.Agent == agent })
}
