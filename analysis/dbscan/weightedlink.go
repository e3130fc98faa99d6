package dbscan

import "slices"

// link joins cells of core points whose points are all within Eps of each other. Those of a node no wider than Eps are
// one run, and joined without a look.
func (w *weighted) link() {
	w.of = make([]int32, len(w.core))
	w.cut(0)
	w.surely = newForest(len(w.runs))
	inBatches(len(w.runs), fewAtATime, w.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				if w.coresIn(w.runs[i].begin, w.runs[i].end) {
					w.linkRun(int32(i), 0)
				}
			}
		}
	})
	w.set = slices.Repeat([]int32{noSet}, len(w.core))
	for i, core := range w.core {
		if core == yes {
			w.set[i] = w.surely.find(w.of[i])
		}
	}
}

func (w *weighted) coresIn(begin, end int32) bool { return w.cores[end] > w.cores[begin] }

// cut makes the runs of a node.
func (w *weighted) cut(nd int32) {
	x := &w.nodes[nd]
	add := func(begin, end, node int32) {
		for i := begin; i < end; i++ {
			w.of[i] = int32(len(w.runs))
		}
		w.runs = append(w.runs, run{begin: begin, end: end, node: node})
	}
	switch {
	case w.width[nd] <= w.eps2:
		add(x.begin, x.end, nd)
	case x.right != 0:
		w.cut(nd + 1)
		w.cut(x.right)
	default:
		for i := x.begin; i < x.end; i++ {
			add(i, i+1, -1)
		}
	}
}

func (w *weighted) boxOf(x *run) box {
	if x.node < 0 {
		return w.cell(x.begin)
	}
	return w.box(x.node)
}

// linkRun joins a run with those of the runs behind it, below a node, that it touches.
func (w *weighted) linkRun(i, nd int32) {
	x, y := &w.runs[i], &w.nodes[nd]
	if y.end <= x.end || !w.coresIn(y.begin, y.end) || w.least2(w.boxOf(x), w.box(nd)) > w.eps2 {
		return
	}
	if y.right != 0 && w.width[nd] > w.eps2 {
		w.linkRun(i, nd+1)
		w.linkRun(i, y.right)
		return
	}
	for j := w.of[y.begin]; j <= w.of[y.end-1]; j++ {
		if j > i && w.surely.find(i) != w.surely.find(j) && w.touch(x, &w.runs[j]) {
			w.surely.union(i, j)
		}
	}
}

// touch reports whether two runs have cells of core points that are within Eps of each other as a whole. It halves the
// larger until boxes decide.
func (w *weighted) touch(x, y *run) bool {
	if !w.coresIn(x.begin, x.end) || !w.coresIn(y.begin, y.end) {
		return false
	}
	least, most := w.distances2(w.boxOf(x), w.boxOf(y))
	switch {
	case least > w.eps2:
		return false
	case most <= w.eps2:
		return true
	case x.node < 0 && y.node < 0:
		return false
	case y.node < 0 || x.node >= 0 && w.width[x.node] > w.width[y.node]:
		return w.anyPart(x, func(part *run) bool { return w.touch(part, y) })
	}
	return w.anyPart(y, func(part *run) bool { return w.touch(x, part) })
}

// anyPart reports whether f is true of any part of a run: the halves of its node, or its cells.
func (w *weighted) anyPart(x *run, f func(*run) bool) bool {
	half := func(nd int32) run { return run{begin: w.nodes[nd].begin, end: w.nodes[nd].end, node: nd} }
	if right := w.nodes[x.node].right; right != 0 {
		a, b := half(x.node+1), half(right)
		return f(&a) || f(&b)
	}
	for i := x.begin; i < x.end; i++ {
		if f(&run{begin: i, end: i + 1, node: -1}) {
			return true
		}
	}
	return false
}

// attach puts cells that may hold core points to the cluster that all their points are near for sure: be they core or
// border points, that is where they are, if they reach no other. Where there is no such cluster, or several, it asks.
func (w *weighted) attach() {
	sets, own := w.setsIn(), make([]int32, len(w.core))
	inBatches(len(w.core), fewAtATime, w.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := int32(begin); i < int32(end); i++ {
				if w.core[i] != perhaps {
					continue
				}
				if own[i] = w.sureSet(w.cell(i), 0, sets, noSet); own[i] < 0 {
					w.doubt(i)
				}
			}
		}
	})
	for i, set := range own {
		if w.core[i] == perhaps && set >= 0 {
			w.set[i] = set
		}
	}
}

// sureSet adds to a set, or noSet or someSets, those of a node's cells that are within Eps of a box as a whole.
func (w *weighted) sureSet(b box, nd int32, sets []int32, set int32) int32 {
	if sets[nd] == noSet || sets[nd] == set || set == someSets {
		return set
	}
	x := &w.nodes[nd]
	least, most := w.distances2(b, w.box(nd))
	switch {
	case least > w.eps2:
		return set
	case most <= w.eps2:
		return eitherSet(set, sets[nd])
	case x.right != 0:
		return w.sureSet(b, x.right, sets, w.sureSet(b, nd+1, sets, set))
	}
	for k := x.begin; k < x.end; k++ {
		if w.set[k] != noSet && w.distanceWithin(b, k) {
			set = eitherSet(set, w.set[k])
		}
	}
	return set
}

// distanceWithin reports whether a cell is within Eps of a box as a whole.
func (w *weighted) distanceWithin(b box, i int32) bool {
	_, most := w.distances2(b, w.cell(i))
	return most <= w.eps2
}

// split asks for what it depends on whether clusters are one: cells that are near in part to those of another cluster,
// and cells so wide that they may themselves be in pieces.
func (w *weighted) split() {
	sets := w.setsIn()
	parts := w.parts(nil, 0)
	inBatches(len(parts), 1, w.threads, func(next func() (int, int, bool)) {
		s := splits{weighted: w, sets: sets, list: []int32{0}}
		for at, _, ok := next(); ok; at, _, ok = next() {
			s.node(parts[at], 0, 1)
		}
	})
}

// What is in no set, or in several.
const (
	noSet    int32 = -1
	someSets int32 = -2
)

func eitherSet(a, b int32) int32 {
	switch {
	case a == noSet || a == b:
		return b
	case b == noSet:
		return a
	}
	return someSets
}

// setsIn says for each node in which set its cells are, those apart that are in none.
func (w *weighted) setsIn() []int32 {
	sets := slices.Repeat([]int32{noSet}, len(w.nodes))
	for nd := len(w.nodes) - 1; nd >= 0; nd-- {
		x := &w.nodes[nd]
		if x.right != 0 {
			sets[nd] = eitherSet(sets[nd+1], sets[x.right])
			continue
		}
		for _, set := range w.set[x.begin:x.end] {
			sets[nd] = eitherSet(sets[nd], set)
		}
	}
	return sets
}

// splits looks for cells near those of other sets, as a gauge does.
type splits struct {
	*weighted
	sets []int32
	list []int32
}

func (s *splits) node(nd int32, begin, end int) {
	x, first := &s.nodes[nd], len(s.list)
	if s.sets[nd] == noSet {
		return
	}
	for k := begin; k < end; k++ {
		s.narrow(nd, s.list[k])
	}
	last := len(s.list)
	if x.right != 0 {
		s.node(nd+1, first, last)
		s.node(x.right, first, last)
	} else {
		for i := x.begin; i < x.end; i++ {
			if s.core[i] == yes && s.wide(i) || s.set[i] != noSet && s.nearOther(i, s.list[first:last]) {
				s.doubt(i)
			}
		}
	}
	s.list = s.list[:first]
}

// narrow lists the nodes, no wider than a node, with cells that may be near those of it and are in other sets.
func (s *splits) narrow(nd, other int32) {
	y := &s.nodes[other]
	switch {
	case s.sets[other] == noSet || s.sets[other] == s.sets[nd] && s.sets[nd] != someSets || s.least2(s.box(nd), s.box(other)) > s.eps2:
	case y.right != 0 && s.width[other] > s.width[nd]:
		s.narrow(nd, other+1)
		s.narrow(nd, y.right)
	default:
		s.list = append(s.list, other)
	}
}

// nearOther reports whether a cell is near one of another set below some nodes.
func (s *splits) nearOther(i int32, nodes []int32) bool {
	own, b := s.set[i], s.cell(i)
	var below func(nd int32) bool
	below = func(nd int32) bool {
		y := &s.nodes[nd]
		switch {
		case s.sets[nd] == noSet || s.sets[nd] == own || s.least2(b, s.box(nd)) > s.eps2:
			return false
		case y.right != 0:
			return below(nd+1) || below(y.right)
		}
		for k := y.begin; k < y.end; k++ {
			if s.set[k] != noSet && s.set[k] != own && s.least2(b, s.cell(k)) <= s.eps2 {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(nodes, below)
}
