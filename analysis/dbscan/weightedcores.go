package dbscan

// findCores distinguishes cells of core points from those without, and from those of which it depends on the points.
func (w *weighted) findCores() {
	parts := w.parts(nil, 0)
	inBatches(len(parts), 1, w.threads, func(next func() (int, int, bool)) {
		g := gauge{weighted: w, list: []int32{0}}
		for at, _, ok := next(); ok; at, _, ok = next() {
			g.node(parts[at], 0, 1, 0)
		}
	})
	w.cores = make([]int32, len(w.core)+1)
	for i, core := range w.core {
		w.cores[i+1] = w.cores[i]
		if core == yes {
			w.cores[i+1]++
		}
	}
}

// parts appends the nodes below one that are pieces of work of a good size.
func (w *weighted) parts(dst []int32, nd int32) []int32 {
	x := &w.nodes[nd]
	if x.right == 0 || int(x.end-x.begin) <= max(fewAtATime, len(w.core)/256) {
		return append(dst, nd)
	}
	return w.parts(w.parts(dst, nd+1), x.right)
}

// A gauge counts what is within Eps of all cells of a node at once, then of the halves of the node: for these, nodes
// that were found to be near or far as a whole need not be looked at again.
type gauge struct {
	*weighted
	list []int32 // nodes that are near in part: a stack
}

// node classifies the cells of a node. sure points are within Eps of all of it; others may be in the nodes of a part of
// the list.
func (g *gauge) node(nd int32, begin, end, sure int) {
	x, first, unsure := &g.nodes[nd], len(g.list), 0
	for k := begin; k < end && sure < g.minPts; k++ {
		sure, unsure = g.narrow(nd, g.list[k], sure, unsure)
	}
	last := len(g.list)
	switch {
	case sure >= g.minPts:
		for i := x.begin; i < x.end; i++ {
			g.core[i] = yes
		}
	case sure+unsure < g.minPts:
	case x.right != 0:
		g.node(nd+1, first, last, sure)
		g.node(x.right, first, last, sure)
	default:
		for i := x.begin; i < x.end; i++ {
			g.classify(i, first, last, sure)
		}
	}
	g.list = g.list[:first]
}

// narrow counts the points of another node that are within Eps of all of a node for sure, and those that may be near
// some of it, which it lists in nodes no wider than that one.
func (g *gauge) narrow(nd, other int32, sure, unsure int) (int, int) {
	least, most := g.distances2(g.box(nd), g.box(other))
	y := &g.nodes[other]
	switch {
	case least > g.eps2:
	case most <= g.eps2:
		sure += g.weight(y.begin, y.end)
	case y.right != 0 && g.width[other] > g.width[nd]:
		sure, unsure = g.narrow(nd, other+1, sure, unsure)
		sure, unsure = g.narrow(nd, y.right, sure, unsure)
	default:
		unsure += g.weight(y.begin, y.end)
		g.list = append(g.list, other)
	}
	return sure, unsure
}

// classify classifies a cell.
func (g *gauge) classify(i int32, begin, end, sure int) {
	unsure := 0
	for k := begin; k < end && sure < g.minPts; k++ {
		sure, unsure = g.look(i, g.list[k], sure, unsure)
	}
	if g.wide(i) { // each of its points is near itself
		sure, unsure = sure+1, unsure-1
	}
	switch {
	case sure >= g.minPts:
		g.core[i] = yes
	case sure+unsure >= g.minPts:
		g.core[i] = perhaps
	}
}

// look is narrow for a cell.
func (g *gauge) look(i, other int32, sure, unsure int) (int, int) {
	b := g.cell(i)
	least, most := g.distances2(b, g.box(other))
	y := &g.nodes[other]
	switch {
	case least > g.eps2:
	case most <= g.eps2:
		sure += g.weight(y.begin, y.end)
	case y.right != 0:
		sure, unsure = g.look(i, other+1, sure, unsure)
		sure, unsure = g.look(i, y.right, sure, unsure)
	default:
		for k := y.begin; k < y.end; k++ {
			switch least, most := g.distances2(b, g.cell(k)); {
			case least > g.eps2:
			case most <= g.eps2:
				sure += g.weight(k, k+1)
			default:
				unsure += g.weight(k, k+1)
			}
		}
	}
	return sure, unsure
}

// doubt asks for a cell; if it depends on the points whether its own are core points, for all that decide it.
func (w *weighted) doubt(i int32) {
	w.ask(i)
	if w.core[i] == perhaps && w.around[i].CompareAndSwap(false, true) {
		w.askAround(w.cell(i), 0)
	}
}

// askAround asks for the cells of a node that are near a box in part.
func (w *weighted) askAround(b box, nd int32) {
	least, most := w.distances2(b, w.box(nd))
	if least > w.eps2 || most <= w.eps2 {
		return
	}
	x := &w.nodes[nd]
	if x.right != 0 {
		w.askAround(b, nd+1)
		w.askAround(b, x.right)
		return
	}
	for k := x.begin; k < x.end; k++ {
		if least, most := w.distances2(b, w.cell(k)); least <= w.eps2 && most > w.eps2 {
			w.ask(k)
		}
	}
}
