package dbscan

import (
	"cmp"
	"slices"
)

// numbers numbers the clusters by their smallest core points. The first result holds the number of each set at its
// root. The root is the first cell of its set, and cells are in order: so roots give the order of the smallest points,
// except for those that share a column.
func (g *grid) numbers() (number []int32, clusters int) {
	number = make([]int32, len(g.keys))
	var roots []int32
	for c := range number {
		number[c] = Noise
		if g.core[c] && g.sets[c] == int32(c) {
			roots = append(roots, int32(c))
		}
	}
	tied := make([]int32, len(g.keys)) // per root: 1 + its place in smallest
	var smallest [][]float64
	for i, root := range roots {
		column := g.column(g.keys[root])
		if i > 0 && g.column(g.keys[roots[i-1]]) == column || i+1 < len(roots) && g.column(g.keys[roots[i+1]]) == column {
			smallest = append(smallest, nil)
			tied[root] = int32(len(smallest))
		}
	}
	if len(smallest) > 0 {
		g.findSmallest(tied, smallest)
		slices.SortFunc(roots, func(a, b int32) int {
			if ca, cb := g.column(g.keys[a]), g.column(g.keys[b]); ca != cb {
				return cmp.Compare(ca, cb)
			}
			return slices.Compare(smallest[tied[a]-1], smallest[tied[b]-1])
		})
	}
	for i, root := range roots {
		number[root] = int32(i)
	}
	return number, len(roots)
}

// findSmallest finds the smallest core points of tied sets. They are in the column of the root.
func (g *grid) findSmallest(tied []int32, smallest [][]float64) {
	candidate := make([]int32, len(g.keys)) // per full cell that has to be looked through: tied of its root
	some := false
	for c := range g.keys {
		if !g.core[c] {
			continue
		}
		root := g.sets[c]
		if tied[root] == 0 || g.column(g.keys[c]) != g.column(g.keys[root]) {
			continue
		}
		if g.full[c] {
			candidate[c], some = tied[root], true
			continue
		}
		for i, end := g.openIn(span{int32(c), int32(c) + 1}); i < end; i++ {
			if g.state[i] == isCore {
				takeSmaller(&smallest[tied[root]-1], g.openAt(i))
			}
		}
	}
	if !some {
		return
	}
	g.supply.smallest(g, candidate, smallest)
}

func takeSmaller(smallest *[]float64, p []float64) {
	if *smallest == nil || slices.Compare(p, *smallest) < 0 {
		*smallest = p
	}
}

// label gives all points their labels.
func (g *grid) label(number []int32, clusters int) *Result {
	cells := make([]int32, len(g.keys)) // twice the label, plus one for core points
	for c := range cells {
		if g.full[c] {
			cells[c] = number[g.sets[c]]<<1 | 1
		}
	}
	n := g.points.Len()
	r := &Result{Core: make([]bool, n), Clusters: clusters}
	g.supply.label(g, cells, r)
	g.labelOpen(number, r)
	return r
}

// labelOpen gives the points of open cells their labels.
func (g *grid) labelOpen(number []int32, r *Result) {
	g.eachOpen(func(c int32, sure, near []span) {
		for i, end := g.openIn(span{c, c + 1}); i < end; i++ {
			row := g.open.rows[i]
			if g.state[i] == isCore {
				r.Labels[row], r.Core[row] = number[g.sets[c]], true
			} else {
				r.Labels[row], r.Core[row] = g.border(c, i, sure, near, number), false
			}
		}
	})
}

// border returns the smallest number among the clusters with a core point within Eps of a point of
// the open cell c.
func (g *grid) border(c, i int32, sure, near []span, number []int32) int32 {
	best := Noise
	if g.core[c] {
		best = number[g.sets[c]]
	}
	for _, s := range sure {
		for b := g.runs.first(s); b < s.end; b = g.runs.next[b] {
			if k := number[g.sets[b]]; best == Noise || k < best {
				best = k
			}
		}
	}
	p := g.place(g.openAt(i))
	for _, s := range near {
		for b := g.runs.first(s); b < s.end; {
			k := number[g.sets[b]]
			switch {
			case best != Noise && k >= best:
				b = g.runs.next[b]
			case g.full[b] && g.near(&p, b, byPoints) == yes || !g.full[b] && g.openCoreNear(p.at, b):
				best = k
			default:
				b = g.runs.core[b+1]
			}
		}
	}
	return best
}
