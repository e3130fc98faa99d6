package program

import (
	"cmp"
	"slices"
)

// compute says before which item of which body each burst stands.
func (s *solver) compute() {
	l := s.lay
	turns := l.turns(s.figures.Pairs)
	type waiting struct {
		burst *burstSum
		turn  turn
	}
	var entering []waiting
	put := func(at [2]int32, b *burstSum) {
		x := s.busy[at]
		if x == nil {
			x = &burstSum{}
			s.busy[at] = x
		}
		x.merge(b)
		s.round[at] = append(s.round[at], [2]int{s.input.number(b.Before), s.input.number(b.After)})
	}
	for i := range s.figures.Bursts {
		b := &s.figures.Bursts[i]
		p, q := &l.paths[b.Before], &l.paths[b.After]
		if q.leaf < 0 {
			put([2]int32{-1, -1}, b)
			continue
		}
		t := turns.find(b.Before, b.After)
		if t == nil {
			if p.leaf < 0 { // what was before it is not known
				put([2]int32{l.items[q.leaf].body, q.leaf}, b)
				continue
			}
			made := l.turn(b.Before, b.After)
			t = &made
		}
		if t.keep == 0 { // polls in a row are one call: computing between them is before the next one
			put([2]int32{l.items[q.leaf].body, q.leaf}, b)
			continue
		}
		if l.items[t.first].loop >= 0 {
			entering = append(entering, waiting{b, *t})
			continue
		}
		put([2]int32{l.items[t.first].body, t.first}, b)
	}
	// What is done before a loop is entered is what each of its trips begins with, if that is of one cluster; else it
	// stands before the loop.
	for _, w := range entering {
		q := &l.paths[w.burst.After]
		item := w.turn.first
		for k := int(w.turn.keep); l.items[item].loop >= 0; k++ {
			next := q.leaf
			if k+1 < len(q.links) {
				next = q.links[k+1].item
			}
			inner := s.busy[[2]int32{l.items[next].body, next}]
			if l.items[next].loop < 0 && (inner == nil || !inner.alike(w.burst)) {
				break
			}
			if l.items[next].loop < 0 {
				item = next
				break
			}
			if !s.anyAlike(q, k+1, w.burst) {
				break
			}
			item = next
		}
		put([2]int32{l.items[item].body, item}, w.burst)
	}
}

// anyAlike reports whether a loop further in has computing like that of a burst before what the path goes on with.
func (s *solver) anyAlike(q *path, level int, b *burstSum) bool {
	for k := level; k < len(q.links); k++ {
		next := q.leaf
		if k+1 < len(q.links) {
			next = q.links[k+1].item
		}
		if s.lay.items[next].loop < 0 {
			x := s.busy[[2]int32{s.lay.items[next].body, next}]
			return x != nil && x.alike(b)
		}
	}
	return false
}

// alike reports whether most of two sums is of one cluster, or their bursts last about as long.
func (b *burstSum) alike(o *burstSum) bool {
	if x := b.main(); x > 0 && x == o.main() {
		return true
	}
	m, n := b.Duration.Mean(), o.Duration.Mean()
	return m <= 1.5*n && n <= 1.5*m
}

func (b *burstSum) main() int32 {
	best := clusterSum{}
	for _, c := range b.Clusters {
		if c.NS > best.NS {
			best = c
		}
	}
	return best.Cluster
}

// busyNode is the computing before an item of a body.
func (s *solver) busyNode(b, i int32) []*Node {
	key := [2]int32{b, i}
	x := s.busy[key]
	if x == nil || x.Duration.N == 0 {
		return nil
	}
	node := &Node{Kind: KindCompute, Count: x.Duration.N, ComputeNS: x.Duration.Total, MeanNS: x.Duration.Mean(), StdNS: x.Duration.Std(), Around: s.round[key]}
	list := slices.Clone(x.Clusters)
	slices.SortStableFunc(list, func(a, b clusterSum) int { return cmp.Compare(b.NS, a.NS) })
	for _, c := range list {
		if c.Cluster > 0 {
			node.Clusters = append(node.Clusters, ClusterShare{c.Cluster, c.Bursts, float64(c.NS) / float64(max(1, x.Duration.Total))})
		}
	}
	for k, c := range x.Counters {
		if c.N > 0 {
			node.Counters = append(node.Counters, CounterMean{s.input.Counters[k], float64(c.Total) / float64(c.N), c.N})
		}
	}
	return []*Node{node}
}
