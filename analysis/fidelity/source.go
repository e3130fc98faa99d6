package fidelity

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/profile"
)

// A source is kept bursts that are alike, from which others are rebuilt.
type source struct {
	bursts   float64 // that they stand for
	timeNS   float64
	logNS    float64 // sum of ln(duration)
	sampled  bool    // some are of the sample
	counters []count
	shape    []bucket
}

// A count is one counter over the bursts of a source.
type count struct{ bursts, sum float64 }

// A bucket is one of the cluster's histogram that has bursts. There are few in a source.
type bucket struct {
	number int32
	bursts float64
}

func (s *source) put(number int32, bursts float64) {
	for i := range s.shape {
		if s.shape[i].number == number {
			s.shape[i].bursts += bursts
			return
		}
	}
	s.shape = append(s.shape, bucket{number, bursts})
}

// add takes in one burst that stands for weight.
func (s *source) add(b *Bursts, k int, weight float64, number int32) {
	s.bursts += weight
	s.timeNS += weight * float64(b.DurationNS[k])
	s.logNS += weight * math.Log(float64(max(b.DurationNS[k], 1)))
	s.put(number, weight)
	for c := range s.counters {
		if v := b.Counters[c][k]; v != profile.NotRead {
			s.counters[c].bursts += weight
			s.counters[c].sum += weight * float64(v)
		}
	}
}

// take takes in so many bursts that are like those of another source.
func (s *source) take(o *source, bursts float64) {
	scale := bursts / o.bursts
	s.bursts += bursts
	s.timeNS += scale * o.timeNS
	for _, b := range o.shape {
		s.put(b.number, scale*b.bursts)
	}
	for c, n := range o.counters {
		s.counters[c].bursts += scale * n.bursts
		s.counters[c].sum += scale * n.sum
	}
}

func (s *source) meanNS() float64 { return s.timeNS / s.bursts }

// typicalNS is the geometric mean, which a few long bursts do not change much.
func (s *source) typicalNS() float64 { return math.Exp(s.logNS / s.bursts) }

// An owner is whose bursts a source has.
type owner struct {
	who uint8
	of  int32 // thread or class
}

// Values of owner.who. Symbols and clusters of one owner are sources of their own.
const (
	ofThread uint8 = iota
	ofClass
	ofRun
)

// A stock is the sources of kept windows, of the sample, or of both.
type stock struct {
	symbols, clusters map[place]*source
}

type place struct {
	owner
	what int32 // symbol, or cluster by its place in labels
}

func newStock() stock { return stock{make(map[place]*source), make(map[place]*source)} }

// labels are the clusters of a run, in the order of profile.Histograms.
type labels struct {
	ofSymbol []int32 // -1: of a cluster that is not in the profile
	alike    []bool  // by label: its bursts are
	exact    []profile.Histogram
	rulers   []profile.Ruler
	counters int
}

func newLabels(in *Input) *labels {
	l := &labels{exact: in.Exact.Histograms, counters: in.Counters}
	number := make(map[int32]int32)
	for k := range l.exact {
		number[l.exact[k].Cluster] = int32(k)
		l.rulers = append(l.rulers, l.exact[k].Ruler())
		l.alike = append(l.alike, l.exact[k].Cluster > 0 && !slices.Contains(in.Unlike, l.exact[k].Cluster))
	}
	for _, cluster := range in.Clusters {
		k, ok := number[cluster]
		if !ok {
			k = -1
		}
		l.ofSymbol = append(l.ofSymbol, k)
	}
	return l
}

// cluster gives the place of a symbol's cluster.
func (l *labels) cluster(symbol uint32) (int32, error) {
	if int(symbol) >= len(l.ofSymbol) || l.ofSymbol[symbol] < 0 {
		return 0, fmt.Errorf("symbol %d is of no cluster in the profile", symbol)
	}
	return l.ofSymbol[symbol], nil
}

func (l *labels) newSource() *source { return &source{counters: make([]count, l.counters)} }

// fill adds the bursts of a thread to the sources of several stocks: its own, those of its class and those of the run.
func (l *labels) fill(b *Bursts, sampled bool, thread, class int32, to ...stock) error {
	n := len(b.Symbol)
	if len(b.DurationNS) != n || b.Weight != nil && len(b.Weight) != n || len(b.Counters) != l.counters && n > 0 {
		return errors.New("columns of the kept bursts differ in length")
	}
	for _, column := range b.Counters {
		if len(column) != n {
			return errors.New("columns of the kept bursts differ in length")
		}
	}
	for k, symbol := range b.Symbol {
		cluster, err := l.cluster(symbol)
		if err != nil {
			return err
		}
		weight := 1.
		if b.Weight != nil {
			weight = b.Weight[k]
		}
		if !(weight > 0) || math.IsInf(weight, 1) {
			return fmt.Errorf("burst %d has weight %v: want one above 0 and finite", k, weight)
		}
		number := int32(l.rulers[cluster].Bucket(b.DurationNS[k]))
		put := func(in map[place]*source, at place) {
			if in[at] == nil {
				in[at] = l.newSource()
			}
			in[at].add(b, k, weight, number)
			in[at].sampled = in[at].sampled || sampled
		}
		for _, s := range to {
			for _, o := range []owner{{ofThread, thread}, {ofClass, class}, {ofRun, 0}} {
				put(s.symbols, place{o, int32(symbol)})
				put(s.clusters, place{o, cluster})
			}
		}
	}
	return nil
}
