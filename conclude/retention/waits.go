package retention

import (
	"context"
	"math"
	"slices"

	"moriens/analysis/represent"
	"moriens/analysis/waits"
	"moriens/conclude/blame"
	"moriens/conclude/factors"
	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// wait finds out what calls waited for, who caused it, and the critical path, and puts them into the run and its
// levels. It is collective.
func (r *Reduction) wait(ctx context.Context, s *stage.Stages, c *rundir.Content, o Options) {
	run := c.Run
	if why := unknown(run, o); why != "" {
		r.Levels.Waits = &rundir.Waits{Format: rundir.WaitsFormat, Why: []string{why}}
		return
	}
	type found struct {
		*blame.Blame
		file *rundir.Waits
		rows []parquet.WaitsRow
	}
	f := try(ctx, r, s, stage.Waits, rundir.WaitsFile+" is missing", func(context.Context) (*found, error) {
		uncertaintyNS, clock := clocksOf(run, c.Manifest)
		main, err := r.mainOf(run)
		if err != nil {
			return nil, err
		}
		b, err := blame.Measure(run, r.owners, blame.Options{
			Phases: r.phases(), UncertaintyNS: uncertaintyNS, Clock: clock, MovedNS: c.Manifest.Order.TotalNS, Main: main,
			NoMessages: c.Manifest.Trace != "" && lacksMessages(run), Skipped: c.Manifest.Losses.LinesSkipped, Workers: o.Workers,
		})
		if err != nil {
			return nil, err
		}
		file, rows, err := b.Describe(run, r.owners)
		return &found{b, file, rows}, err
	})
	if f == nil {
		return
	}
	r.Levels.Waits, r.Levels.WaitsRows = f.file, f.rows
	if f.file.WholeRun != nil { // else they are given up
		r.blame = f.Blame
		f.Apply(run)
	}
}

// lacksMessages says that calls of a run send messages, and there are none.
func lacksMessages(run *trace.Run) bool {
	return len(run.Messages) == 0 && slices.ContainsFunc(run.CallPaths, func(p trace.CallPath) bool { return waits.Sends(p.Function) })
}

// mainOf is collective: it is the stretch main of a run. Several worlds each have their own, and waits none.
func (r *Reduction) mainOf(run *trace.Run) (waits.Span, error) {
	if len(run.Worlds) > 1 {
		return waits.Span{}, nil
	}
	main, err := factors.MainOf(run, r.owners)
	return waits.Span{BeginNS: main.BeginNS, EndNS: main.EndNS}, err
}

// unknown says why it cannot be found out what calls waited for; empty: it can.
func unknown(run *trace.Run, o Options) string {
	switch {
	case o.Sums != nil:
		return "with --cells calls stay on the nodes, and the times of all ranks at a call are nowhere together"
	case run.Windows != nil:
		return "the trace has only windows of a run: which collectives of its ranks belong together depends on those outside of them"
	}
	return ""
}

// clocksOf are how far the clocks of nodes may be off, and which clock each has; nil where there is one, or nothing is
// said.
func clocksOf(run *trace.Run, m *rundir.Manifest) (uncertaintyNS []int64, clock []int32) {
	uncertaintyNS, clock = make([]int64, len(run.Nodes)), make([]int32, len(run.Nodes))
	several := false
	for i := range uncertaintyNS {
		for k := range m.Clocks {
			c := &m.Clocks[k]
			if c.Host != run.NodeName(i) {
				continue
			}
			several = several || c.Clock != m.Clocks[0].Clock
			clock[i], uncertaintyNS[i] = int32(c.Clock), math.MaxInt64
			if ns := float64(c.UncertaintyNS); ns >= 0 && ns < math.MaxInt64/4 {
				uncertaintyNS[i] = int64(math.Ceil(ns))
			}
		}
	}
	if !several {
		return nil, nil
	}
	return uncertaintyNS, clock
}

// atCollectives are how long each thread was waited for, and has waited, at collectives; 0 where that is not known.
func (r *Reduction) atCollectives(run *trace.Run) (causedNS, sufferedNS []int64, err error) {
	if r.blame == nil {
		return make([]int64, len(run.Threads)), make([]int64, len(run.Threads)), nil
	}
	return r.blame.AtCollectives(run, r.owners)
}

// onPath says which threads the critical path is on in a window; nil where it is not known.
func (r *Reduction) onPath() func(w *represent.Window) map[int32]int64 {
	if r.blame == nil {
		return nil
	}
	return func(w *represent.Window) map[int32]int64 { return r.blame.OnPath(w.BeginNS, w.EndNS) }
}
