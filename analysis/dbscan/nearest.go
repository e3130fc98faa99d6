package dbscan

import "math"

// A ranking finds the k-th nearest point of a tree, again and again.
type ranking struct {
	*tree
	nodes []ranked
	spare []ranked
	list  []weighed
}

// ranked is a node, whose points are at distances from least to most, squared.
type ranked struct {
	node        int32
	least, most float64
	weight      int64
}

// weighed is how many points are at a distance.
type weighed struct {
	distance2 float64
	weight    int64
}

// neighbour2 returns the squared distance to the k-th nearest point, p itself counted. There must be k.
func (r *ranking) neighbour2(p []float64, k int64) float64 {
	const few = 64
	if r.tree.before == nil && k <= few {
		s := nearest{tree: r.tree, p: p, k: int(k)}
		s.search(0)
		return s.best[k-1]
	}
	// Keeping many neighbours in order costs more than bounding the answer by whole nodes: those that are
	// nearer throughout are counted, those that are farther are left out, the others are split.
	var least, most float64 // of the answer
	nodes, next := append(r.nodes[:0], r.rank(p, 0)), r.spare
	for split := true; split; {
		least, most = r.bounds(nodes, k)
		next, split = next[:0], false
		for _, x := range nodes {
			nd := &r.tree.nodes[x.node]
			switch {
			case x.least > most:
			case x.most < least:
				k -= x.weight
			case nd.right == 0:
				next = append(next, x)
			default:
				next = append(next, r.rank(p, x.node+1), r.rank(p, nd.right))
				split = true
			}
		}
		nodes, next = next, nodes
	}
	r.nodes, r.spare, r.list = nodes, next, r.list[:0]
	for _, x := range nodes {
		nd := &r.tree.nodes[x.node]
		if x.least == x.most {
			r.list = append(r.list, weighed{x.most, x.weight})
			continue
		}
		for i := nd.begin; i < nd.end; i++ {
			switch v, weight := r.tree.distance2(p, r.point(i)), int64(r.weight(i, i+1)); {
			case v > most:
			case v < least:
				k -= weight
			default:
				r.list = append(r.list, weighed{v, weight})
			}
		}
	}
	return selectLeast(r.list, k)
}

func (r *ranking) rank(p []float64, nd int32) ranked {
	least, most := r.nodeDistances2(p, nd)
	x := &r.tree.nodes[nd]
	return ranked{nd, least, most, int64(r.weight(x.begin, x.end))}
}

// bounds returns bounds of the squared distance of the k-th nearest point of some nodes.
func (r *ranking) bounds(nodes []ranked, k int64) (least, most float64) {
	r.list = r.list[:0]
	for i := range nodes {
		r.list = append(r.list, weighed{nodes[i].least, nodes[i].weight})
	}
	least = selectLeast(r.list, k)
	r.list = r.list[:0]
	for i := range nodes {
		r.list = append(r.list, weighed{nodes[i].most, nodes[i].weight})
	}
	return least, selectLeast(r.list, k)
}

// selectLeast returns the k-th smallest distance of a list, which it reorders (Hoare's quickselect, with
// the equal ones set apart).
func selectLeast(list []weighed, k int64) float64 {
	for {
		pivot := middleOf(list[0].distance2, list[len(list)/2].distance2, list[len(list)-1].distance2)
		below, nearer := partition(list, pivot)
		if k <= nearer {
			list = list[:below]
			continue
		}
		k -= nearer
		list = list[below:]
		if math.IsInf(pivot, 1) {
			return pivot
		}
		upTo, equal := partition(list, math.Nextafter(pivot, math.Inf(1)))
		if k <= equal {
			return pivot
		}
		k -= equal
		list = list[upTo:]
	}
}

// partition puts the distances below a bound first and returns how many elements these are, and points.
func partition(list []weighed, bound float64) (below int, points int64) {
	for i, x := range list {
		list[i] = list[below]
		list[below] = x
		var is int
		if x.distance2 < bound {
			is = 1 // no branch: it would be guessed wrong half of the time
		}
		below += is
		points += x.weight & -int64(is)
	}
	return below, points
}

func middleOf(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

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
		l, r := s.least2(pointBox(s.p), s.box(left)), s.least2(pointBox(s.p), s.box(right))
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
		v := s.distance2(s.p, s.point(i))
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
