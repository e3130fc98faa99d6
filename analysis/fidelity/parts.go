package fidelity

import (
	"errors"
	"fmt"
	"math"

	"moriens/analysis/profile"
)

// A part is the core of a kind, one of its variants, or what of it was disturbed as far as density puts that into one
// other cluster, or into none.
type part struct{ kind, cluster int32 }

// labels are the kinds of a run, in the order of profile.Kinds, and their parts.
type labels struct {
	ofSymbol  []int32 // kind; -1: one that is not in the profile
	durations []profile.Histogram
	rulers    []profile.Ruler
	counters  int
	parts     []part
	number    map[part]int32
	of        [][]int32 // by kind: its parts
}

func newLabels(in *Input) *labels {
	l := &labels{durations: in.Exact.Kinds, counters: in.Counters, number: make(map[part]int32), of: make([][]int32, len(in.Exact.Kinds))}
	kinds := make(map[int32]int32)
	for k := range l.durations {
		kinds[l.durations[k].Cluster] = int32(k)
		l.rulers = append(l.rulers, l.durations[k].Ruler())
	}
	for _, label := range in.Clusters {
		k, ok := kinds[label]
		if !ok {
			k = -1
		}
		l.ofSymbol = append(l.ofSymbol, k)
	}
	for i := range in.Exact.Rows {
		row := &in.Exact.Rows[i]
		if row.Kind != profile.Computation {
			continue
		}
		p := part{kinds[row.OfKind], row.Cluster}
		if _, known := l.number[p]; !known {
			l.number[p] = int32(len(l.parts))
			l.of[p.kind] = append(l.of[p.kind], int32(len(l.parts)))
			l.parts = append(l.parts, p)
		}
	}
	return l
}

// alike reports whether the bursts of a kind are: they are of one.
func (l *labels) alike(kind int32) bool { return l.durations[kind].Cluster > 0 }

// kind gives that of a symbol.
func (l *labels) kind(symbol uint32) (int32, error) {
	if int(symbol) >= len(l.ofSymbol) || l.ofSymbol[symbol] < 0 {
		return 0, fmt.Errorf("symbol %d is of no cluster in the profile", symbol)
	}
	return l.ofSymbol[symbol], nil
}

func (l *labels) newSource() *source { return &source{counters: make([]count, l.counters)} }

func (l *labels) newSums() []*source {
	sums := make([]*source, len(l.durations))
	for k := range sums {
		sums[k] = l.newSource()
	}
	return sums
}

// fill adds the bursts of a thread to the sources of several stocks: its own, those of its class and those of the run.
func (l *labels) fill(b *Bursts, sampled bool, thread, class int32, to ...stock) error {
	n := len(b.Symbol)
	if len(b.DurationNS) != n || b.Cluster != nil && len(b.Cluster) != n || b.Weight != nil && len(b.Weight) != n || len(b.Counters) != l.counters && n > 0 {
		return errors.New("columns of the kept bursts differ in length")
	}
	for _, column := range b.Counters {
		if len(column) != n {
			return errors.New("columns of the kept bursts differ in length")
		}
	}
	for k, symbol := range b.Symbol {
		kind, err := l.kind(symbol)
		if err != nil {
			return err
		}
		cluster := l.durations[kind].Cluster
		if b.Cluster != nil {
			cluster = b.Cluster[k]
		}
		number, known := l.number[part{kind, cluster}]
		if !known {
			return fmt.Errorf("burst %d is of cluster %d, which the profile has none of in kind %d", k, cluster, l.durations[kind].Cluster)
		}
		weight := 1.
		if b.Weight != nil {
			weight = b.Weight[k]
		}
		if !(weight > 0) || math.IsInf(weight, 1) {
			return fmt.Errorf("burst %d has weight %v: want one above 0 and finite", k, weight)
		}
		bucket := int32(l.rulers[kind].Bucket(b.DurationNS[k]))
		for _, in := range to {
			for _, o := range []owner{{ofThread, thread}, {ofClass, class}, {ofRun, 0}} {
				for _, s := range []int32{int32(symbol), anySymbol} {
					at := place{o, s, number}
					if in[at] == nil {
						in[at] = l.newSource()
					}
					in[at].add(b, k, weight, bucket)
					in[at].sampled = in[at].sampled || sampled
				}
			}
		}
	}
	return nil
}
