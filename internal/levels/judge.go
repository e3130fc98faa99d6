package levels

import (
	"fmt"

	"moriens/analysis/fidelity"
	"moriens/analysis/loops"
	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/trace"
	"moriens/trace/rundir"
)

// mixedMuch is from which share on of a kind's time disturbed bursts and those of variants make its mean duration depend on which were kept.
const mixedMuch = .05

// unlike are the kinds of which that holds.
func unlike(clusters []trace.Cluster) (list []int32) {
	time, off := make([]float64, len(clusters)), make([]float64, len(clusters))
	for i := range clusters {
		c := &clusters[i]
		kind := c.Kind() - 1
		time[kind] += float64(c.TimeNS) + float64(c.DisturbedNS)
		off[kind] += float64(c.DisturbedNS)
		if c.VariantOf != 0 {
			off[kind] += float64(c.Bursts) * max(c.MeanNS, clusters[kind].MeanNS)
		}
	}
	for kind := range clusters {
		if off[kind] > mixedMuch*time[kind] {
			list = append(list, clusters[kind].ID)
		}
	}
	return list
}

// Judge says how wrong a run is that is rebuilt from its structure and the bursts that Keep has made with spans and classes. exact is
// the profile of ByKind, as structure and table are.
func Judge(run *trace.Run, kept []trace.Bursts, spans [][]trace.Span, classes []int32, exact *profile.Profile,
	structure *loops.Structure, table *Table, phases []period.Phase, threadsAtWork int,
) (*rundir.Fidelity, error) {
	n := len(run.Threads)
	if len(kept) != n || len(spans) != n || classes != nil && len(classes) != n || len(structure.Of) != n {
		return nil, fmt.Errorf("bursts of %d threads, spans of %d, classes of %d, structure of %d, the run has %d", len(kept), len(spans), len(classes), len(structure.Of), n)
	}
	in := fidelity.Input{Exact: exact, Counters: len(run.Counters), Unlike: unlike(run.Clusters), Threads: make([]fidelity.Thread, n)}
	numbers := make(map[Symbol]uint32, len(table.Symbols))
	for k, s := range table.Symbols {
		in.Clusters = append(in.Clusters, s.Cluster)
		numbers[s] = uint32(k)
	}
	sequences := make([][]uint32, len(structure.Sequences))
	for i, of := range structure.Of {
		if sequences[of] == nil {
			sequences[of] = structure.Rebuild(int(of))
		}
		in.Threads[i].Sequence = sequences[of]
		if classes != nil {
			in.Threads[i].Class = classes[i]
		}
	}
	each(run, threadsAtWork, func(i int) {
		in.Threads[i].Kept, in.Threads[i].Sample = divide(&kept[i], spans[i], numbers)
	})
	for k := range phases {
		p := fidelity.Phase{Begins: make([][]int32, n)}
		for i := range phases[k].Threads {
			p.Begins[i] = phases[k].Threads[i].Begins
		}
		in.Phases = append(in.Phases, p)
	}
	r, err := fidelity.Judge(in)
	if err != nil {
		return nil, err
	}
	return describeFidelity(run, r), nil
}

// divide tells the bursts in spans from the sample.
func divide(b *trace.Bursts, spans []trace.Span, numbers map[Symbol]uint32) (kept, drawn fidelity.Bursts) {
	kept.Counters, drawn.Counters = make([][]int64, len(b.Counters)), make([][]int64, len(b.Counters))
	kinds := b.Kinds()
	add := func(to *fidelity.Bursts, from, until int) {
		for k := from; k < until; k++ {
			to.Symbol = append(to.Symbol, numbers[Symbol{kinds[k], b.Before[k], b.After[k]}])
		}
		to.DurationNS = append(to.DurationNS, b.DurationNS[from:until]...)
		to.Weight = append(to.Weight, b.Weight[from:until]...)
		for c := range b.Counters {
			to.Counters[c] = append(to.Counters[c], b.Counters[c][from:until]...)
		}
	}
	from := 0
	for _, r := range within(b, spans) {
		add(&drawn, from, int(r.From))
		add(&kept, int(r.From), int(r.To))
		from = int(r.To)
	}
	add(&drawn, from, b.Len())
	return kept, drawn
}

func describeFidelity(run *trace.Run, r *fidelity.Result) *rundir.Fidelity {
	number := func(list []float64) []rundir.CounterError {
		errors := make([]rundir.CounterError, len(list))
		for c, x := range list {
			errors[c] = rundir.CounterError{Name: run.Counters[c].Name, Error: rundir.Number(x)}
		}
		return errors
	}
	describe := func(e *fidelity.Errors) rundir.Errors {
		d := rundir.Errors{
			ExactSeconds: rundir.Number(float64(e.ExactNS) / 1e9), RebuiltSeconds: rundir.Number(e.RebuiltNS / 1e9), Time: rundir.Number(e.Time),
			WorstCluster: e.Worst, WorstTime: rundir.Number(e.WorstTime), Counters: number(e.Counters),
			Clusters: []rundir.ClusterError{}, Curves: []rundir.CurveError{},
		}
		for _, c := range e.Clusters {
			d.Clusters = append(d.Clusters, rundir.ClusterError{
				ID: c.Label, ExactSeconds: rundir.Number(float64(c.ExactNS) / 1e9), RebuiltSeconds: rundir.Number(c.RebuiltNS / 1e9), Time: rundir.Number(c.Time),
				Counters: number(c.Counters), Wasserstein: rundir.Number(c.Wasserstein), Kolmogorov: rundir.Number(c.Kolmogorov),
			})
		}
		for p, c := range e.Curves {
			if c.Points > 0 {
				d.Curves = append(d.Curves, rundir.CurveError{Phase: p, Points: c.Points, Mean: rundir.Number(c.Mean), Worst: rundir.Number(c.Worst), At: c.At})
			}
		}
		return d
	}
	s := r.Sources
	return &rundir.Fidelity{
		Windows: describe(&r.Windows), Weighted: describe(&r.Weighted), Represented: rundir.Number(s.Represented()), Inside: rundir.Number(r.Inside),
		Sources: rundir.Sources{
			Thread: rundir.Number(s.Thread), Class: rundir.Number(s.Class), Run: rundir.Number(s.Run), Sample: rundir.Number(s.Sample), Nothing: rundir.Number(s.Nothing),
		},
	}
}
