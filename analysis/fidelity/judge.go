package fidelity

import (
	"fmt"
	"math"

	"moriens/analysis/profile"
)

// Judge rebuilds the run and compares it. Columns of unequal length, a symbol of a cluster that the profile does not know and iterations outside a
// sequence are errors that name the thread.
func Judge(in Input) (*Result, error) {
	l := newLabels(&in)
	r := &rebuilder{labels: l, kept: newStock(), sampled: newStock(), both: newStock(), counts: make(map[place]int64), sums: l.newSums()}
	for i := range in.Threads {
		t := &in.Threads[i]
		err := l.fill(&t.Kept, false, int32(i), t.Class, r.kept, r.both)
		if err == nil {
			err = l.fill(&t.Sample, true, int32(i), t.Class, r.sampled, r.both)
		}
		if err == nil {
			err = r.count(int32(i), t)
		}
		if err != nil {
			return nil, fmt.Errorf("fidelity: thread %d: %w", i, err)
		}
	}
	r.exact = newExact(in.Exact, l)
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
	weighted := l.newSums()
	inside := 0.
	for k := range l.exact {
		run := place{owner{ofRun, 0}, int32(k)}
		if s := r.both.clusters[run]; s != nil {
			weighted[k] = s
		}
		if s := r.kept.clusters[run]; s != nil {
			inside += s.timeNS
		}
	}
	result := &Result{
		Windows: r.exact.compare(r.sums), Weighted: r.exact.compare(weighted), Sources: r.sources, Inside: part(inside, r.exact.total),
	}
	result.Windows.Curves = curves.compare(in.Exact)
	return result, nil
}

// A rebuilder adds up the rebuilt times of all threads.
type rebuilder struct {
	*labels
	kept, sampled, both stock
	counts              map[place]int64 // bursts that are not alike by owner and label, of level 2
	exact               *exact
	sums                []*source // by cluster
	sources             Sources
}

func (l *labels) newSums() []*source {
	sums := make([]*source, len(l.exact))
	for k := range sums {
		sums[k] = l.newSource()
	}
	return sums
}

// count counts a thread's bursts that are not alike.
func (r *rebuilder) count(thread int32, t *Thread) error {
	counts := make([]int64, len(r.labels.exact))
	for _, symbol := range t.Sequence {
		cluster, err := r.cluster(symbol)
		if err != nil {
			return err
		}
		counts[cluster]++
	}
	for k, n := range counts {
		if cluster := int32(k); n > 0 && !r.alike[cluster] {
			r.counts[place{owner{ofThread, thread}, cluster}] += n
			r.counts[place{owner{ofClass, t.Class}, cluster}] += n
			r.counts[place{owner{ofRun, 0}, cluster}] += n
		}
	}
	return nil
}

// thread rebuilds a thread and returns what stands for its bursts in curves, by symbol; 0 where nothing was kept.
func (r *rebuilder) thread(number int32, t *Thread) (typicalNS []float64) {
	counts := make([]int64, len(r.ofSymbol))
	clusters := make([]int64, len(r.labels.exact))
	for _, symbol := range t.Sequence {
		counts[symbol]++
		clusters[r.ofSymbol[symbol]]++
	}
	typicalNS = make([]float64, len(counts))
	for symbol, n := range counts {
		if n == 0 {
			continue
		}
		cluster := r.ofSymbol[symbol]
		find := r.fromWindows
		if !r.alike[cluster] {
			find = r.byWeights
		}
		s, share := find(number, t.Class, int32(symbol), cluster)
		*share += part(r.exact.threads[place{owner{ofThread, number}, cluster}], r.exact.total) * float64(n) / float64(clusters[cluster])
		if s == nil {
			continue
		}
		r.sums[cluster].take(s, float64(n))
		if typicalNS[symbol] = s.meanNS(); !r.alike[cluster] {
			if own, _ := r.from(r.both.symbols, number, t.Class, int32(symbol)); own != nil {
				s = own
			}
			typicalNS[symbol] = s.typicalNS()
		}
	}
	return typicalNS
}

// from gives the sources of a thread, else of its class, else of the run, and whose share they are; nil where there are none.
func (r *rebuilder) from(in map[place]*source, thread, class, what int32) (*source, *float64) {
	for _, o := range []struct {
		owner
		share *float64
	}{{owner{ofThread, thread}, &r.sources.Thread}, {owner{ofClass, class}, &r.sources.Class}, {owner{ofRun, 0}, &r.sources.Run}} {
		if s := in[place{o.owner, what}]; s != nil {
			return s, o.share
		}
	}
	return nil, &r.sources.Nothing
}

// fromWindows gives the bursts from which those of a symbol, which are alike, are rebuilt, nil where there are none, and the share that they belong to.
func (r *rebuilder) fromWindows(thread, class, symbol, cluster int32) (*source, *float64) {
	s, share := r.from(r.kept.symbols, thread, class, symbol)
	if s == nil {
		s, share = r.from(r.kept.clusters, thread, class, cluster)
	}
	if s == nil {
		if s, _ = r.from(r.sampled.clusters, thread, class, cluster); s != nil {
			share = &r.sources.Sample
		}
	}
	return s, share
}

// byWeights is fromWindows for bursts that are not alike.
func (r *rebuilder) byWeights(thread, class, _, cluster int32) (*source, *float64) {
	run := place{owner{ofRun, 0}, cluster}
	s, share := r.both.clusters[run], &r.sources.Run
	if s == nil {
		return nil, &r.sources.Nothing
	}
	for _, o := range []struct {
		owner
		share *float64
	}{{owner{ofThread, thread}, &r.sources.Thread}, {owner{ofClass, class}, &r.sources.Class}} {
		at := place{o.owner, cluster}
		// Weights are whole numbers, or close to.
		if own := r.both.clusters[at]; own != nil && math.Abs(own.bursts-float64(r.counts[at])) < .5 {
			s, share = own, o.share
			break
		}
	}
	if s.sampled {
		share = &r.sources.Sample
	}
	return s, share
}

// exact are the sums that are compared with.
type exact struct {
	*labels
	total   float64 // ns
	threads map[place]float64
	sums    [][]float64 // of counters, by cluster and counter
	timeNS  []int64     // by cluster
}

func newExact(p *profile.Profile, l *labels) *exact {
	e := &exact{labels: l, threads: make(map[place]float64), sums: make([][]float64, len(l.exact)), timeNS: make([]int64, len(l.exact))}
	number := make(map[int32]int32)
	for k := range e.sums {
		e.sums[k] = make([]float64, l.counters)
		number[l.exact[k].Cluster] = int32(k)
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		if row.Kind != profile.Computation {
			continue
		}
		k := number[row.Cluster]
		e.timeNS[k] += row.Time.Total
		e.total += float64(row.Time.Total)
		e.threads[place{owner{ofThread, row.Thread}, k}] += float64(row.Time.Total)
		for c := range row.Counters {
			e.sums[k][c] += float64(row.Counters[c].Total)
		}
	}
	return e
}

// compare judges sums by cluster.
func (e *exact) compare(rebuilt []*source) Errors {
	var r Errors
	exactSums, rebuiltSums := make([]float64, e.counters), make([]float64, e.counters)
	for k, s := range rebuilt {
		c := Cluster{Label: e.exact[k].Cluster, ExactNS: e.timeNS[k], RebuiltNS: s.timeNS, Time: relative(s.timeNS, float64(e.timeNS[k]))}
		for n := range s.counters {
			c.Counters = append(c.Counters, relative(s.counters[n].sum, e.sums[k][n]))
			exactSums[n] += e.sums[k][n]
			rebuiltSums[n] += s.counters[n].sum
		}
		c.Wasserstein, c.Kolmogorov = distances(&e.exact[k], s)
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

func part(of, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return of / whole
}
