package levels

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/fidelity"
	"moriens/analysis/loops"
	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Kept is what is kept of a run, and what the whole run is compared by.
type Kept struct {
	Bursts    []trace.Bursts // by thread, as Keep has made them with Spans and Classes
	Spans     [][]trace.Span // by thread: kept in full
	Classes   []int32        // by thread; nil = all are of one
	Exact     *profile.Profile
	Structure *loops.Structure // of the symbols of Table
	Table     *Table
	Phases    []period.Phase
	Workers   int // threads to compute with
}

// Evaluate computes the error of a run that is rebuilt from its structure and the bursts that are kept.
func Evaluate(run *trace.Run, k Kept) (*rundir.Fidelity, error) {
	n := len(run.Threads)
	if len(k.Bursts) != n || len(k.Spans) != n || k.Classes != nil && len(k.Classes) != n || len(k.Structure.Of) != n {
		return nil, fmt.Errorf("bursts of %d threads, spans of %d, classes of %d, structure of %d, the run has %d", len(k.Bursts), len(k.Spans), len(k.Classes), len(k.Structure.Of), n)
	}
	in := fidelity.Input{Exact: k.Exact, Counters: len(run.Counters), Threads: make([]fidelity.Thread, n)}
	numbers := make(map[Symbol]uint32, len(k.Table.Symbols))
	for i, s := range k.Table.Symbols {
		in.Clusters = append(in.Clusters, s.Cluster)
		numbers[s] = uint32(i)
	}
	places := run.Places()
	sequences := make([][]uint32, len(k.Structure.Sequences))
	for i, of := range k.Structure.Of {
		if sequences[of] == nil {
			sequences[of] = k.Structure.Rebuild(int(of))
		}
		in.Threads[i].Sequence = sequences[of]
		if k.Classes != nil {
			in.Threads[i].Class = k.Classes[i]
		}
	}
	each(run, k.Workers, func(i int) {
		in.Threads[i].Kept, in.Threads[i].Sample = divide(&k.Bursts[i], k.Spans[i], places, numbers)
	})
	for i := range k.Phases {
		p := fidelity.Phase{Begins: make([][]int32, n)}
		for thread := range k.Phases[i].Threads {
			p.Begins[thread] = k.Phases[i].Threads[thread].Begins
		}
		in.Phases = append(in.Phases, p)
	}
	r, err := fidelity.Evaluate(in)
	if err != nil {
		return nil, err
	}
	return describeFidelity(run, r), nil
}

// divide distinguishes the bursts in spans from the sample.
func divide(b *trace.Bursts, spans []trace.Span, places []uint32, numbers map[Symbol]uint32) (kept, drawn fidelity.Bursts) {
	kept.Counters, drawn.Counters = make([][]int64, len(b.Counters)), make([][]int64, len(b.Counters))
	kinds := b.Kinds()
	add := func(to *fidelity.Bursts, from, until int) {
		for k := from; k < until; k++ {
			to.Symbol = append(to.Symbol, numbers[Symbol{kinds[k], places[b.Before[k]], places[b.After[k]]}])
		}
		to.Cluster = append(to.Cluster, b.Cluster[from:until]...)
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

// ratio and seconds have the decimals of the manifest: more than the figures are worth take room.
func ratio(x float64) rundir.Number { return rundir.Rounded(x, 9) }

func seconds(ns float64) rundir.Number { return rundir.Rounded(ns/1e9, 9) }

func describeFidelity(run *trace.Run, r *fidelity.Result) *rundir.Fidelity {
	number := func(list []float64) []rundir.CounterError {
		errors := make([]rundir.CounterError, len(list))
		for c, x := range list {
			errors[c] = rundir.CounterError{Name: run.Counters[c].Name, Error: ratio(x)}
		}
		return errors
	}
	describe := func(e *fidelity.Errors) rundir.Errors {
		d := rundir.Errors{
			ExactSeconds: seconds(float64(e.ExactNS)), RebuiltSeconds: seconds(e.RebuiltNS), Time: ratio(e.Time),
			WorstCluster: e.Worst, WorstTime: ratio(e.WorstTime), Counters: number(e.Counters),
			Clusters: []rundir.ClusterError{}, Curves: []rundir.CurveError{},
		}
		for _, c := range e.Clusters {
			d.Clusters = append(d.Clusters, rundir.ClusterError{
				ID: c.Label, ExactSeconds: seconds(float64(c.ExactNS)), RebuiltSeconds: seconds(c.RebuiltNS), Time: ratio(c.Time),
				Counters: number(c.Counters), Wasserstein: ratio(c.Wasserstein), Kolmogorov: ratio(c.Kolmogorov),
			})
		}
		for p, c := range e.Curves {
			if c.Points > 0 {
				d.Curves = append(d.Curves, rundir.CurveError{Phase: p, Points: c.Points, Mean: ratio(c.Mean), Worst: ratio(c.Worst), At: c.At})
			}
		}
		return d
	}
	s := r.Sources
	return &rundir.Fidelity{
		Windows: describe(&r.Windows), Weighted: describe(&r.Weighted), Represented: ratio(s.Represented()), Inside: ratio(r.Inside),
		Sources: rundir.Sources{
			Thread: ratio(s.Thread), Class: ratio(s.Class), Run: ratio(s.Run), Sample: ratio(s.Sample), Nothing: ratio(s.Nothing),
		},
		Ranks: rankErrors(run, r.Windows.Threads),
	}
}

// MostRanks is how many ranks' errors are reported.
const MostRanks = 256

// rankErrors adds up the threads of each rank.
func rankErrors(run *trace.Run, threads []fidelity.Time) rundir.RankErrors {
	type rank struct{ world, rank int }
	times := make(map[rank]fidelity.Time)
	for i, t := range threads {
		at := rank{run.Threads[i].World, run.Threads[i].Rank}
		sum := times[at]
		times[at] = fidelity.Time{ExactNS: sum.ExactNS + t.ExactNS, RebuiltNS: sum.RebuiltNS + t.RebuiltNS}
	}
	e := rundir.RankErrors{List: []rundir.RankError{}}
	byPlace := func(a, b rundir.RankError) int {
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank))
	}
	for at, t := range times {
		e.List = append(e.List, rundir.RankError{
			World: at.world, Rank: at.rank, Time: ratio(t.Error()), ExactSeconds: seconds(float64(t.ExactNS)), RebuiltSeconds: seconds(t.RebuiltNS),
		})
	}
	if len(e.List) == 0 {
		return e
	}
	slices.SortFunc(e.List, byPlace)
	for _, r := range e.List {
		e.Mean += r.Time / rundir.Number(len(e.List))
	}
	e.Mean = ratio(float64(e.Mean))
	slices.SortStableFunc(e.List, func(a, b rundir.RankError) int { return cmp.Compare(b.Time, a.Time) })
	worst := e.List[0]
	e.Worst = &worst
	e.More = max(0, len(e.List)-MostRanks)
	e.List = e.List[:len(e.List)-e.More]
	slices.SortFunc(e.List, byPlace)
	return e
}
