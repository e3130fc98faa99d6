package retention

import (
	"context"

	"moriens/conclude/pairing"
	"moriens/internal/stage"
	"moriens/trace/rundir"
)

// pairsOfBudget is the part of the budget that the table of pairs may take.
const pairsOfBudget = 1. / 8

// pair finds out who exchanged messages with whom, and what that cost. It is collective.
func (r *Reduction) pair(ctx context.Context, s *stage.Stages, c *rundir.Content, o Options) {
	p := pairing.Options{Blame: r.blame, Scheduling: c.Manifest.Scheduling, SumsAlone: o.Sums != nil, Workers: o.Workers}
	if w := r.Levels.Waits; r.blame == nil {
		p.Unwaited = "waits were not computed"
		if w != nil && len(w.Why) > 0 {
			p.Unwaited = w.Why[0]
			p.Unclear = unknown(c.Run, o) == "" // else clocks would be the reason
		}
	}
	switch {
	case c.Run.Windows != nil:
		p.Unknown = "the trace has only windows of a run: what ranks exchanged outside of them is not known"
	case c.Manifest.Trace != "" && lacksMessages(c.Run):
		p.Unknown = "the trace has no messages, though ranks send some"
	}
	if r.classes != nil {
		p.Class = r.classes.Of
	}
	if !o.All {
		p.Room = int64(float64(o.Budget) * pairsOfBudget)
	}
	found := try(ctx, r, s, stage.Pairs, rundir.PairsFile+" is missing", func(context.Context) (_ *pairing.Pairing, err error) {
		if p.Main, err = r.mainOf(c.Run); err != nil {
			return nil, err
		}
		return pairing.Measure(c.Run, r.owners, p)
	})
	if found != nil {
		r.Levels.Pairs, r.Levels.PairsRows = found.File, found.Rows
	}
}
