package dbscan

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/cell"
)

// A Weighting is the clustering of points of which only cells are known.
type Weighting struct {
	// Exact says that the answer is that of the points themselves, whichever they are: it is the same for
	// the smallest and for the largest distances that the cells allow.
	Exact bool
	// Labels, if the answer is exact, holds one label per cell, for all of its points.
	Labels   []int32
	Clusters int
	// Questions, if it is not, are the cells, ascending, whose points the answer may depend on. With
	// those replaced by their points (cell.Of), there is less in question: it takes a few rounds at most.
	Questions []int32

	asked weightedAsk
}

// weightedAsk is what Weighted was asked.
type weightedAsk struct {
	dims            int
	cells           []cell.Cell
	eps             float64
	minPts, threads int
}

// Weighted clusters cells as Cluster would cluster their points, on up to threads threads. Boxes need not
// come from one set of cells. eps and minPts are as for Cluster. Cells without points and boxes that are
// not finite or the wrong way round are errors. cells must not change before AtMeans is asked for.
func Weighted(dims int, cells []cell.Cell, eps float64, minPts, threads int) (*Weighting, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if err := checkCells(cells, dims); err != nil {
		return nil, err
	}
	ask := weightedAsk{dims, cells, eps, minPts, max(1, threads)}
	w := newWeighted(&ask)
	w.findCores()
	if len(w.questions()) == 0 {
		w.link()
	}
	number, clusters, known := w.numbers()
	if len(w.questions()) > 0 || !known {
		return &Weighting{Questions: w.questions(), asked: ask}, nil
	}
	labels := w.label(number)
	if q := w.questions(); len(q) > 0 {
		return &Weighting{Questions: q, asked: ask}, nil
	}
	return &Weighting{Exact: true, Labels: labels, Clusters: clusters}, nil
}

func checkCells(cells []cell.Cell, dims int) error {
	if dims < 1 || dims > MaxDims {
		return fmt.Errorf("dbscan: %d dimensions: want 1 to %d", dims, MaxDims)
	}
	for i := range cells {
		if err := checkCell(&cells[i], dims); err != nil {
			return fmt.Errorf("dbscan: cell %d: %w", i, err)
		}
	}
	return nil
}

func checkCell(c *cell.Cell, dims int) error {
	if c.Count < 1 {
		return fmt.Errorf("%d points", c.Count)
	}
	for j := range dims {
		if lo, hi := c.Lo[j], c.Hi[j]; !(lo <= hi) || lo-lo != 0 || hi-hi != 0 {
			return fmt.Errorf("dimension %d: from %v to %v", j, lo, hi)
		}
	}
	return nil
}

type weighted struct {
	dims    int
	cells   []cell.Cell
	eps2    float64 // in the scale of the tree
	minPts  int
	threads int
	tree    *tree   // of the low corners
	widest  float64 // the longest diagonal, in its scale
	core    []verdict
	surely  forest // of cells linked for sure
	asked   []bool
}

func newWeighted(ask *weightedAsk) *weighted {
	dims, cells, eps, minPts, threads := ask.dims, ask.cells, ask.eps, ask.minPts, ask.threads
	scale := scaleFor(eps, 0)
	w := &weighted{dims: dims, cells: cells, eps2: eps * scale * (eps * scale), minPts: minPts, threads: threads}
	lows := Points{Dims: dims, Coords: make([]float64, 0, len(cells)*dims)}
	for i := range cells {
		lows.Coords = append(lows.Coords, cells[i].Lo[:dims]...)
	}
	w.tree = newTree(lows, smallLeaf, threads).scaled(scale)
	for i := range cells {
		w.widest = max(w.widest, math.Sqrt(w.tree.distance2(cells[i].Hi[:dims], cells[i].Lo[:dims])))
	}
	w.core = make([]verdict, len(cells))
	w.asked = make([]bool, len(cells))
	return w
}

func (w *weighted) box(i int32) box {
	c := &w.cells[i]
	return box{c.Lo[:w.dims], c.Hi[:w.dims]}
}

// each calls f for every cell with those, itself included, that may hold points within Eps of its own,
// from several threads at once.
func (w *weighted) each(f func(i int32, near []int32)) {
	// Low corners of boxes that are Eps apart are no farther from each other than that and both diagonals.
	reach := (math.Sqrt(w.eps2) + 2*w.widest) * (1 + 0x1p-40)
	inBatches(len(w.cells), fewAtATime, w.threads, func(next func() (int, int, bool)) {
		var near []int32
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := int32(begin); i < int32(end); i++ {
				near = w.tree.within(near[:0], 0, w.cells[i].Lo[:w.dims], reach*reach)
				near = slices.DeleteFunc(near, func(b int32) bool { return w.tree.least2(w.box(i), w.box(b)) > w.eps2 })
				f(i, near)
			}
		}
	})
}

// all judges whether all points of two cells are within Eps of each other, given that some may be.
func (w *weighted) all(a, b int32) bool {
	_, most := w.tree.distances2(w.box(a), w.box(b))
	return most <= w.eps2
}

func (w *weighted) ask(cells ...int32) {
	for _, i := range cells {
		w.asked[i] = true
	}
}

// questions are the cells asked for whose points are not known: those of one place are.
func (w *weighted) questions() []int32 {
	var list []int32
	for i, asked := range w.asked {
		if asked && w.extended(int32(i)) {
			list = append(list, int32(i))
		}
	}
	return list
}

func (w *weighted) extended(i int32) bool {
	b := w.box(i)
	return !slices.Equal(b.lo, b.hi)
}

// findCores tells cells of core points from those without; where it depends on the points it asks.
func (w *weighted) findCores() {
	open := make([][]int32, len(w.cells))
	w.each(func(i int32, near []int32) {
		least, most := int64(0), int64(0)
		var uncertain []int32
		for _, b := range near {
			most += w.cells[b].Count
			if w.all(i, b) {
				least += w.cells[b].Count
				continue
			}
			uncertain = append(uncertain, b)
			if b == i {
				least++ // each point is near itself
			}
		}
		switch {
		case least >= int64(w.minPts):
			w.core[i] = yes
		case most >= int64(w.minPts):
			w.core[i] = perhaps
			open[i] = append(uncertain, i)
		}
	})
	for _, list := range open {
		w.ask(list...)
	}
}

// link joins cells with core points; where it depends on the points whether clusters are one, it asks.
func (w *weighted) link() {
	w.surely = newForest(len(w.cells))
	open := make([][]int32, len(w.cells))
	w.each(func(i int32, near []int32) {
		if w.core[i] != yes {
			return
		}
		for _, b := range near {
			if w.core[b] != yes {
				continue
			}
			if w.all(i, b) {
				w.surely.union(i, b)
			} else {
				open[i] = append(open[i], b)
			}
		}
	})
	for i, list := range open {
		for _, b := range list {
			// A cell wider than Eps may itself be in pieces.
			if int32(i) == b || w.surely.find(int32(i)) != w.surely.find(b) {
				w.ask(int32(i), b)
			}
		}
	}
}

// numbers numbers the clusters by their smallest core points. Of these the cells tell the first coordinate;
// where that is the same in two clusters, known is false and it asks.
func (w *weighted) numbers() (number []int32, clusters int, known bool) {
	if w.surely == nil {
		return nil, 0, false
	}
	smallest := make(map[int32]int32) // per root: the cell
	first := func(i int32) float64 { return w.cells[i].Lo[0] }
	for i := range w.cells {
		if w.core[i] != yes {
			continue
		}
		root := w.surely.find(int32(i))
		if at, ok := smallest[root]; !ok || w.compare(int32(i), at) < 0 {
			smallest[root] = int32(i)
		}
	}
	roots := make([]int32, 0, len(smallest))
	for root := range smallest {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b int32) int { return w.compare(smallest[a], smallest[b]) })
	number = make([]int32, len(w.cells))
	for k, root := range roots {
		number[root] = int32(k)
		if k > 0 && first(smallest[root]) == first(smallest[roots[k-1]]) {
			w.askSmallest(roots[k-1], first(smallest[root]))
			w.askSmallest(root, first(smallest[root]))
		}
	}
	return number, len(roots), true
}

// compare compares the low corners of two cells.
func (w *weighted) compare(a, b int32) int { return slices.Compare(w.box(a).lo, w.box(b).lo) }

// askSmallest asks for the cells of a cluster whose points begin with this coordinate.
func (w *weighted) askSmallest(root int32, first float64) {
	for i := range w.cells {
		if w.core[i] == yes && w.cells[i].Lo[0] == first && w.surely.find(int32(i)) == root {
			w.ask(int32(i))
		}
	}
}

// label gives each cell its number; where it depends on the points which cluster a border point joins, it
// asks.
func (w *weighted) label(number []int32) []int32 {
	labels := make([]int32, len(w.cells))
	open := make([][]int32, len(w.cells))
	w.each(func(i int32, near []int32) {
		if w.core[i] == yes {
			labels[i] = number[w.surely.find(i)]
			return
		}
		best := Noise // for sure
		better := func(k int32) bool { return best == Noise || k < best }
		for _, b := range near {
			if w.core[b] == yes && w.all(i, b) && better(number[w.surely.find(b)]) {
				best = number[w.surely.find(b)]
			}
		}
		for _, b := range near {
			if w.core[b] == yes && better(number[w.surely.find(b)]) {
				open[i] = append(open[i], i, b)
			}
		}
		labels[i] = best
	})
	for _, list := range open {
		w.ask(list...)
	}
	return labels
}
