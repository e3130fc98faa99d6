package fidelity

import (
	"fmt"
	"math"

	"moriens/analysis/profile"
)

// Evaluate rebuilds the run and compares it. Columns of unequal length, a symbol of a cluster that the profile does not
// know and iterations outside a sequence are errors that name the thread.
func Evaluate(in Input) (*Result, error) {
	l := newLabels(&in)
	r := &rebuilder{labels: l, exact: newExact(&in, l), kept: make(stock), both: make(stock), sums: l.newSums()}
	for i := range in.Threads {
		t := &in.Threads[i]
		err := l.fill(&t.Kept, false, int32(i), t.Class, r.kept, r.both)
		if err == nil {
			err = l.fill(&t.Sample, true, int32(i), t.Class, r.both)
		}
		if err == nil {
			err = r.count(t)
		}
		if err != nil {
			return nil, fmt.Errorf("fidelity: thread %d: %w", i, err)
		}
	}
	r.any = l.newSums()
	inside := 0.
	for number, p := range l.parts {
		run := place{owner{ofRun, 0}, anySymbol, int32(number)}
		if s := r.both[run]; s != nil {
			r.any[p.kind].take(s, s.bursts)
			r.any[p.kind].sampled = r.any[p.kind].sampled || s.sampled
		}
		if s := r.kept[run]; s != nil {
			inside += s.timeNS
		}
	}
	r.choose(in.Threads)
	curves, err := newCurves(&in)
	if err != nil {
		return nil, err
	}
	for i := range in.Threads {
		typical := r.thread(int32(i), &in.Threads[i])
		if err := curves.add(&in, i, typical); err != nil {
			return nil, fmt.Errorf("fidelity: thread %d: %w", i, err)
		}
	}
	result := &Result{
		Windows: r.exact.compare(r.sums), Weighted: r.exact.compare(r.any), Sources: r.sources, Inside: partOf(inside, r.exact.total),
	}
	result.Windows.Threads = r.threads
	result.Windows.Curves = curves.compare(in.Exact)
	return result, nil
}

// exact are the counts by which parts are weighed, and the sums that are compared with.
type exact struct {
	names    *labels
	total    float64          // ns
	amounts  map[place]amount // of parts, whatever the symbol
	threadNS []int64
	sums     [][]float64 // of counters, by kind and counter
	timeNS   []int64     // by kind
}

func newExact(in *Input, l *labels) *exact {
	e := &exact{names: l, amounts: make(map[place]amount), threadNS: make([]int64, len(in.Threads)), sums: make([][]float64, len(l.durations)), timeNS: make([]int64, len(l.durations))}
	kinds := make(map[int32]int32)
	for k := range e.sums {
		e.sums[k] = make([]float64, l.counters)
		kinds[l.durations[k].Cluster] = int32(k)
	}
	for i := range in.Exact.Rows {
		row := &in.Exact.Rows[i]
		if row.Kind != profile.Computation {
			continue
		}
		k := kinds[row.OfKind]
		e.timeNS[k] += row.Time.Total
		e.total += float64(row.Time.Total)
		e.threadNS[row.Thread] += row.Time.Total
		part := l.number[part{k, row.Cluster}]
		for _, o := range []owner{{ofThread, row.Thread}, {ofClass, in.Threads[row.Thread].Class}, {ofRun, 0}} {
			at := place{o, anySymbol, part}
			a := e.amounts[at]
			e.amounts[at] = amount{a.bursts + row.Count, a.ns + float64(row.Time.Total)}
		}
		for c := range row.Counters {
			e.sums[k][c] += float64(row.Counters[c].Total)
		}
	}
	return e
}

// compare evaluates sums by cluster.
func (e *exact) compare(rebuilt []*source) Errors {
	var r Errors
	exactSums, rebuiltSums := make([]float64, e.names.counters), make([]float64, e.names.counters)
	for k, s := range rebuilt {
		c := Cluster{Label: e.names.durations[k].Cluster, ExactNS: e.timeNS[k], RebuiltNS: s.timeNS, Time: relative(s.timeNS, float64(e.timeNS[k]))}
		for n := range s.counters {
			c.Counters = append(c.Counters, relative(s.counters[n].sum, e.sums[k][n]))
			exactSums[n] += e.sums[k][n]
			rebuiltSums[n] += s.counters[n].sum
		}
		c.Wasserstein, c.Kolmogorov = distances(&e.names.durations[k], s)
		r.ExactNS += c.ExactNS
		r.RebuiltNS += c.RebuiltNS
		if c.Label > 0 && (r.Worst == 0 || c.Time > r.WorstTime) {
			r.Worst, r.WorstTime = c.Label, c.Time
		}
		r.Clusters = append(r.Clusters, c)
	}
	r.Time = relative(r.RebuiltNS, float64(r.ExactNS))
	for n := range exactSums {
		r.Counters = append(r.Counters, relative(rebuiltSums[n], exactSums[n]))
	}
	return r
}

// distances compares how durations are distributed. Where nothing was kept they are as large as they can be.
func distances(h *profile.Histogram, s *source) (wasserstein, kolmogorov float64) {
	if s.bursts == 0 {
		return h.Step() * float64(len(h.Count)), 1
	}
	shape := make([]float64, len(h.Count))
	for _, b := range s.shape {
		shape[b.number] = b.bursts
	}
	n := int64(0)
	for _, count := range h.Count {
		n += count
	}
	f, g := 0., 0.
	for b, count := range h.Count {
		f += float64(count) / float64(n)
		g += shape[b] / s.bursts
		wasserstein += math.Abs(f-g) * h.Step()
		kolmogorov = max(kolmogorov, math.Abs(f-g))
	}
	return wasserstein, kolmogorov
}

func relative(rebuilt, exact float64) float64 {
	if exact == 0 {
		if rebuilt == 0 {
			return 0
		}
		return 1
	}
	return math.Abs(rebuilt-exact) / math.Abs(exact)
}

func partOf(of, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return of / whole
}
