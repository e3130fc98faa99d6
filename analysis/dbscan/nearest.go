package dbscan

import (
	"math"
	"slices"
)

// neighbour2 returns the squared distance to the k-th nearest point, p itself counted.
func (t *tree) neighbour2(p []float64, k int) float64 {
	if k <= 64 {
		s := nearest{tree: t, p: p, k: k}
		s.search(0)
		return s.best[k-1]
	}
	// Keeping many neighbours in order costs more than counting a ball a few times: bisect on the
	// bits of the radius, which as integers are in the order of the floats, until few points are left.
	const few = 64
	_, most := t.nodeDistances2(p, 0)
	lo, hi := uint64(0), math.Float64bits(most) // the answer is in lo … hi
	nearer, upTo := 0, len(t.rows)              // points nearer than lo; at most at hi, or enough
	for lo < hi && upTo-nearer > few {
		middle := lo + (hi-lo)/2
		if found := t.count(0, p, math.Float64frombits(middle), k+few); found >= k {
			hi, upTo = middle, found
		} else {
			lo, nearer = middle+1, found
		}
	}
	if lo == hi {
		return math.Float64frombits(lo)
	}
	ring := t.ring(nil, 0, p, math.Float64frombits(lo), math.Float64frombits(hi))
	slices.Sort(ring)
	return ring[k-nearer-1]
}

// ring appends the squared distances from p that are in least … most.
func (t *tree) ring(dst []float64, nd int32, p []float64, least, most float64) []float64 {
	x := &t.nodes[nd]
	if l, m := t.nodeDistances2(p, nd); l > most || m < least {
		return dst
	}
	if x.right != 0 {
		return t.ring(t.ring(dst, nd+1, p, least, most), x.right, p, least, most)
	}
	for i := x.begin; i < x.end; i++ {
		if v := distance2(p, t.point(i)); v >= least && v <= most {
			dst = append(dst, v)
		}
	}
	return dst
}

// nearest holds the squared distances to the nearest points seen, ascending.
type nearest struct {
	*tree
	p    []float64
	k    int
	best []float64
}

func (s *nearest) search(nd int32) {
	x := &s.nodes[nd]
	if x.right != 0 {
		left, right := nd+1, x.right
		l, r := pointBox(s.p).least2(s.box(left)), pointBox(s.p).least2(s.box(right))
		if r < l {
			left, right, l, r = right, left, r, l
		}
		if s.wants(l) {
			s.search(left)
		}
		if s.wants(r) {
			s.search(right)
		}
		return
	}
	for i := x.begin; i < x.end; i++ {
		v := distance2(s.p, s.point(i))
		if !s.wants(v) {
			continue
		}
		if len(s.best) < s.k {
			s.best = append(s.best, 0)
		}
		at := len(s.best) - 1
		for ; at > 0 && s.best[at-1] > v; at-- {
			s.best[at] = s.best[at-1]
		}
		s.best[at] = v
	}
}

func (s *nearest) wants(v float64) bool { return len(s.best) < s.k || v < s.best[s.k-1] }
