package dbscan

import (
	"math"
	"slices"
)

// Result returns the clustering of all points inserted so far, in the order of insertion, as Cluster would give it. ids
// holds a permanent id for each cluster: a cluster keeps its id as it grows. Where clusters merge, the oldest id is
// kept and the others never recur.
func (x *Incremental) Result() (r *Result, ids []int32) {
	number, roots := x.numbers()
	for _, root := range roots {
		ids = append(ids, x.ids[root])
	}
	r = &Result{Labels: make([]int32, x.Len()), Core: make([]bool, x.Len()), Clusters: len(roots)}
	label := make([]int32, len(x.cells))
	for c := range label {
		label[c] = number[x.sets.find(int32(c))]
	}
	for i := range r.Labels {
		r.Labels[i], r.Core[i] = label[x.rows.at(i)], true
	}
	for c := range x.cells {
		for i := range x.cells[c].waiting {
			w := &x.cells[c].waiting[i]
			r.Labels[w.row], r.Core[w.row] = x.border(int32(c), w.at[:x.dims], label), false
		}
	}
	return r, ids
}

// numbers numbers clusters by their smallest core points. None of those is in an interior cell: the
// cell before it along the first axis holds smaller ones.
func (x *Incremental) numbers() (number, roots []int32) {
	smallest := make([][]float64, len(x.cells))
	for c := range x.cells {
		cell := &x.cells[c]
		if !cell.core {
			continue
		}
		root := x.sets.find(int32(c))
		if smallest[root] == nil {
			roots = append(roots, root)
			smallest[root] = []float64{math.Inf(1)}
		}
		for _, p := range cell.cores.parts() {
			for ; len(p) > 0; p = p[x.dims:] {
				takeSmaller(&smallest[root], p[:x.dims])
			}
		}
	}
	slices.SortFunc(roots, func(a, b int32) int { return slices.Compare(smallest[a], smallest[b]) })
	number = make([]int32, len(x.cells))
	for c := range number {
		number[c] = Noise
	}
	for i, root := range roots {
		number[root] = int32(i)
	}
	return number, roots
}

func (x *Incremental) border(c int32, at []float64, label []int32) int32 {
	cell := &x.cells[c]
	best := Noise
	take := func(b int32, sure bool) {
		if !x.cells[b].core || best != Noise && label[b] >= best {
			return
		}
		if sure || x.coresNear(b, at, 1) > 0 {
			best = label[b]
		}
	}
	take(c, true)
	for _, b := range cell.sure {
		take(b, true)
	}
	for _, b := range cell.near {
		take(b, false)
	}
	return best
}
