package retention

import (
	"context"

	"moriens/conclude/factors"
	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/rundir"
)

// measure computes the factors of the run. It is collective; the first member has the answer.
func (r *Reduction) measure(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) {
	r.Levels.Efficiency = try(ctx, r, s, stage.Efficiency, rundir.EfficiencyFile+" is missing", func(context.Context) (*rundir.Efficiency, error) {
		var classes []factors.Class
		if r.classes != nil {
			for i := range r.classes.Classes {
				c := &r.classes.Classes[i]
				classes = append(classes, factors.Class{Name: "like " + r.name(c.Exemplar), Threads: c.Threads})
			}
		}
		if o.Sums == nil {
			return factors.Measure(run, r.owners, factors.Options{Phases: r.phases(), Classes: classes, Workers: o.Workers})
		}
		if r.Levels.Profile == nil {
			return nil, nil
		}
		return factors.OfSums(r.Levels.Profile, run, classes), nil
	})
}
