package retention

import (
	"cmp"
	"context"

	"moriens/analysis/period"
	"moriens/analysis/represent"
	"moriens/conclude/carry"
	"moriens/conclude/levels"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Reduce decides what of a run is kept, gets its detail, and computes the reconstruction error. detail is nil where the
// run has all of it. c describes the whole run; its levels, what is kept and what the manifest says of that are filled
// in. With an error the members of c.Team have lost each other, and nothing may be written; one process has none.
func Reduce(ctx context.Context, s *stage.Stages, c *rundir.Content, o Options, detail Detail) error {
	if err := c.Team.Check(len(c.Run.Threads)); err != nil {
		return err
	}
	r := &Reduction{names: namer(c.Run), owners: c.Team}
	if err := r.summarise(ctx, s, c.Run, o); err != nil {
		return err
	}
	c.Levels = r.Levels
	r.wait(ctx, s, c, o)
	r.findProgram(ctx, s, c.Run, o)
	if !o.All {
		r.classes, r.bursts = r.findClasses(ctx, s, c.Run, o)
	}
	r.pair(ctx, s, c, o)
	r.measure(ctx, s, c.Run, o)
	if !o.All {
		r.choose(ctx, s, c, o, detail)
		c.Kept, c.Rows = r.Kept, r.Rows
	}
	r.describe(c, o)
	return r.complete(c, o)
}

// complete gives the first of several members everything to write.
func (r *Reduction) complete(c *rundir.Content, o Options) error {
	if r.owners.Size() == 1 {
		return nil
	}
	if !o.All {
		return c.Complete(o.Workers)
	}
	whole, err := carry.Run(r.owners, c.Run)
	if err == nil {
		c.Run, c.Team = cmp.Or(whole, c.Run), team.Threads{}
	}
	return err
}

// summarise finds periods, and makes levels 1 and 2, of all threads.
func (r *Reduction) summarise(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) (err error) {
	s.Must(stage.Symbols, func() { r.table, err = levels.Symbols(run, r.owners, o.Workers) })
	if err != nil {
		return err
	}
	if r.meetings, err = findMeetings(run, r.owners); err != nil {
		return err
	}
	table, before := r.table, r.meetings.before() // this stage may go on when it has been given up
	r.periods = try(ctx, r, s, stage.Periods, "iterations are not known", func(context.Context) (*period.Result, error) {
		return findPeriods(run, r.owners, table, before, o.Workers)
	})
	if r.periods != nil {
		r.notes = append(r.notes, r.periods.Warnings...)
	}
	if r.times, err = timesOf(run, r.owners, r.phases()); err != nil {
		return err
	}
	r.Levels = new(rundir.Levels)
	if o.Outline == nil {
		o.Outline = new(Outline)
	}
	r.findInstances(ctx, s, run, o, r.findProfile(ctx, s, run, o))
	return r.findStructure(ctx, s, run, o)
}

// findClasses groups the threads; where that fails all are alike.
func (r *Reduction) findClasses(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) (_ *represent.Classes, bursts []int) {
	if o.Sums != nil && o.Sums.Classes != nil {
		return o.Sums.Classes, nil
	}
	found := try(ctx, r, s, stage.Classes, "ranks are not distinguished", func(context.Context) (*grouped, error) {
		return r.classify(run, o)
	})
	if found == nil {
		return oneClass(len(run.Threads)), nil
	}
	return found.classes, found.bursts
}

// choose decides which windows are kept, and gets what nodes have of them.
func (r *Reduction) choose(ctx context.Context, s *stage.Stages, c *rundir.Content, o Options, detail Detail) {
	run := c.Run
	b := &budget{reduction: r, content: c, options: o, detail: detail, scale: 1}
	s.Within(ctx, stage.Size, b.measure)
	if !b.known {
		s.Lack(stage.Size.Name)
	}
	room := b.room // which changes when this stage has been given up
	r.found = try(ctx, r, s, stage.Windows, "no windows in full detail", func(context.Context) (*represent.Selection, error) {
		return r.find(run, room, o)
	})
	if r.found == nil {
		r.found = new(represent.Selection)
	}
	r.notes = append(r.notes, r.found.Warnings...)
	whole := run
	s.Must(stage.Choose, func() {
		if detail == nil {
			b.neighbours = neighboursOf(run)
		}
		b.choose()
	})
	if detail != nil {
		s.Within(ctx, stage.Fetch, func(ctx context.Context) { whole = b.fetch(ctx) })
	}
	s.Within(ctx, stage.Fit, func(ctx context.Context) { b.fit(ctx, whole) })
	if r.exact == nil || r.structure == nil {
		return
	}
	r.fidelity = try(ctx, r, s, stage.Error, "the reconstruction error is not known", func(context.Context) (*rundir.Fidelity, error) {
		return team.First(r.owners, func() (*rundir.Fidelity, error) {
			return levels.Evaluate(run, levels.Kept{
				Bursts: burstsOf(r.Rows), Spans: b.standing(), Classes: r.alike(), Exact: r.exact, Structure: r.structure, Table: r.table, Phases: r.phases(), Workers: o.Workers,
			})
		})
	})
}

// burstsOf are those of all threads; nil of no run.
func burstsOf(run *trace.Run) []trace.Bursts {
	if run == nil {
		return nil
	}
	list := make([]trace.Bursts, len(run.Threads))
	for i := range list {
		list[i] = run.Threads[i].Bursts
	}
	return list
}

// oneClass stands for classes where none are known: what is alike in nothing has its first thread for all.
func oneClass(threads int) *represent.Classes {
	c := &represent.Classes{Of: make([]int32, threads)}
	if threads == 0 {
		return c
	}
	all := represent.Class{Reason: "the first one, because they are not distinguished"}
	for i := range threads {
		all.Threads = append(all.Threads, int32(i))
	}
	c.Classes = []represent.Class{all}
	return c
}

// disturbedOften is from which share of a kind's bursts on it is usual that one is disturbed, or of a variant.
const disturbedOften = .01

// disturbed says which bursts are longer than their kind is, or of its variants, as others of it often are; nil where
// kinds are clusters. They are summed by kind, and none is unusual by itself. One of few is.
func disturbed(clusters []trace.Cluster, b *trace.Bursts) []bool {
	if b.Kind == nil {
		return nil
	}
	all, off := make([]int, len(clusters)), make([]int, len(clusters))
	for i := range clusters {
		if c := &clusters[i]; c.VariantOf == 0 {
			all[i], off[i] = c.KindBursts, c.KindBursts-c.Bursts
		}
	}
	list := make([]bool, b.Len())
	for k, kind := range b.Kind {
		list[k] = kind > 0 && b.Cluster[k] != kind && float64(off[kind-1]) >= disturbedOften*float64(all[kind-1])
	}
	return list
}

// find looks for windows of which each fits a share of the room.
func (r *Reduction) find(run *trace.Run, left int64, o Options) (*represent.Selection, error) {
	const (
		windowsAtLeast = 8 // for which there must be room
		// A noisy machine has something unusual in every tenth iteration. What is kept of that must not outweigh what stands
		// for the rest.
		iterationsPerAnomaly = 250
		leastAnomalies       = 4
	)
	iterations := 0
	in := represent.Run{Phases: phasesOf(r.periods), Name: r.name}
	before := r.meetings.before()
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		in.Threads = append(in.Threads, represent.Thread{
			Cluster: b.Kinds(), Disturbed: disturbed(run.Clusters, b), BeginNS: b.StartNS, DurationNS: b.DurationNS, Anchors: before[i],
		})
	}
	for _, p := range in.Phases {
		iterations += p.Iterations
	}
	find := represent.FindOptions{Windows: o.Windows, MaxBursts: r.sizes.bursts(left / windowsAtLeast), Workers: o.Workers, Team: r.owners}
	for i := range r.classes.Classes {
		find.Show = append(find.Show, int32(r.classes.Classes[i].Exemplar))
	}
	for i := range r.classes.Outliers {
		find.Show = append(find.Show, int32(r.classes.Outliers[i].Thread))
	}
	if iterations > 0 {
		find.Near = max(leastNear, r.sizes.bursts(int64(nearOfAnomalies*float64(r.sizes.part(anomaliesOfFull)))))
		find.Anomalies = min(max(iterations/iterationsPerAnomaly, leastAnomalies), represent.DefaultAnomalies)
	}
	return represent.Find(in, find)
}
