package dbscan

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

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
// come from one set of cells. eps and minPts are as for Cluster. Cells without points or with more than 1<<48 together,
// and boxes that are not finite or the wrong way round, are errors. cells must not change before AtMeans is asked for.
func Weighted(dims int, cells []cell.Cell, eps float64, minPts, threads int) (*Weighting, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if err := checkCells(cells, dims); err != nil {
		return nil, err
	}
	ask := weightedAsk{dims, cells, eps, minPts, max(1, threads)}
	if len(cells) == 0 {
		return &Weighting{Exact: true, Labels: []int32{}}, nil
	}
	w := newWeighted(&ask)
	var number, labels []int32
	var clusters int
	for _, step := range []func(){
		func() { w.findCores(); w.link(); w.attach(); w.split(); number, clusters = w.numbers() },
		func() { labels = w.label(number) },
	} {
		step()
		if q := w.questions(); len(q) > 0 {
			return &Weighting{Questions: q, asked: ask}, nil
		}
	}
	return &Weighting{Exact: true, Labels: labels, Clusters: clusters}, nil
}

func checkCells(cells []cell.Cell, dims int) error {
	if dims < 1 || dims > MaxDims {
		return fmt.Errorf("dbscan: %d dimensions: want 1 to %d", dims, MaxDims)
	}
	var sum int64
	for i := range cells {
		c := &cells[i]
		if err := checkCell(c, dims); err != nil {
			return fmt.Errorf("dbscan: cell %d: %w", i, err)
		}
		if c.Count > mostWeight-sum {
			return fmt.Errorf("dbscan: cell %d: %d points: want at most %d in all cells together", i, c.Count, int64(mostWeight))
		}
		sum += c.Count
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

// weighted looks for the answer in a tree of the cells, by their low corners; the boxes of its nodes are round the
// whole cells, and each cell has its place in the tree's order. What holds for two nodes holds for all cells in them,
// so that few are compared with each other.
type weighted struct {
	*tree
	his     []float64 // high corners, by place
	eps2    float64   // in the scale of the tree
	minPts  int
	threads int
	width   []float64 // per node: the square of its box's diagonal
	core    []verdict // by place
	cores   []int32   // how many of the places before this one are cells of core points for sure; one more than places
	runs    []run
	of      []int32       // by place: its run
	surely  forest        // of runs linked for sure
	set     []int32       // by place: the first run of the set that its core points are in, if it has any, or noSet
	asked   []atomic.Bool // by place
	around  []atomic.Bool // by place: the cells that are near it in part are asked for
}

func newWeighted(ask *weightedAsk) *weighted {
	n, d := len(ask.cells), ask.dims
	lows, weights := Points{Dims: d, Coords: make([]float64, 0, n*d)}, make([]int64, n)
	for i := range ask.cells {
		c := &ask.cells[i]
		lows.Coords, weights[i] = append(lows.Coords, c.Lo[:d]...), c.Count
	}
	const fewCells = 4 // in a leaf: looking at a cell costs as much as looking at a node
	scale := scaleFor(ask.eps, 0)
	w := &weighted{
		tree: newTree(lows, fewCells, ask.threads).weighed(weights).scaled(scale),
		eps2: ask.eps * scale * (ask.eps * scale), minPts: ask.minPts, threads: ask.threads,
		core: make([]verdict, n), asked: make([]atomic.Bool, n), around: make([]atomic.Bool, n),
	}
	for _, row := range w.rows {
		w.his = append(w.his, ask.cells[row].Hi[:d]...)
	}
	w.widen()
	return w
}

// widen makes the boxes of nodes hold the cells as a whole.
func (w *weighted) widen() {
	w.boxes = slices.Clone(w.boxes)
	w.width = make([]float64, len(w.nodes))
	for nd := len(w.nodes) - 1; nd >= 0; nd-- {
		x, b := &w.nodes[nd], w.box(int32(nd))
		take := func(hi []float64) {
			for j := range hi {
				b.hi[j] = max(b.hi[j], hi[j])
			}
		}
		if x.right != 0 {
			take(w.box(int32(nd + 1)).hi)
			take(w.box(x.right).hi)
		}
		for i := x.begin; x.right == 0 && i < x.end; i++ {
			take(w.cell(i).hi)
		}
		w.width[nd] = w.distance2(b.hi, b.lo)
	}
}

// cell is the box of the cell at a place.
func (w *weighted) cell(i int32) box { return box{w.point(i), w.his[int(i)*w.dims:][:w.dims]} }

// wide reports whether points of the cell at a place may be farther than Eps from each other.
func (w *weighted) wide(i int32) bool {
	b := w.cell(i)
	return w.distance2(b.hi, b.lo) > w.eps2
}

func (w *weighted) ask(i int32) {
	if !w.asked[i].Load() { // most are asked for again and again
		w.asked[i].Store(true)
	}
}

// questions are the cells asked for whose points are not known: those of one place are.
func (w *weighted) questions() []int32 {
	var list []int32
	for i := range w.asked {
		if b := w.cell(int32(i)); w.asked[i].Load() && !slices.Equal(b.lo, b.hi) {
			list = append(list, w.rows[i])
		}
	}
	slices.Sort(list)
	return list
}

// numbers numbers the clusters by their smallest core points. The first result holds the number of each at its first
// run. Cells bound the first coordinates of these points. If the bounds leave the order of clusters open, it requests
// the points.
func (w *weighted) numbers() (number []int32, clusters int) {
	number = slices.Repeat([]int32{Noise}, len(w.runs))
	var smallest []int32 // per cluster: the place, of those that are core for sure
	for i := range w.core {
		if w.core[i] != yes {
			continue
		}
		root := w.set[i]
		if k := number[root]; k == Noise {
			number[root] = int32(len(smallest))
			smallest = append(smallest, int32(i))
		} else if w.compare(int32(i), smallest[k]) < 0 {
			smallest[k] = int32(i)
		}
	}
	slices.SortFunc(smallest, w.compare)
	for k, i := range smallest {
		number[w.set[i]] = int32(k)
	}
	w.askSmallest(number, smallest)
	return number, len(smallest)
}

// askSmallest asks for the cells of clusters that may hold points as small as those of the cluster before, or, if that
// is all that their first coordinates say, of that behind.
func (w *weighted) askSmallest(number, smallest []int32) {
	first := func(k int32) float64 { return w.point(smallest[k])[0] }
	for i, set := range w.set {
		if set == noSet {
			continue
		}
		k, at := number[set], w.point(int32(i))[0]
		if k > 0 && at <= first(k-1) || int(k)+1 < len(smallest) && first(k) == first(k+1) && at <= first(k) {
			w.doubt(int32(i))
		}
	}
}

// compare compares the low corners of two cells.
func (w *weighted) compare(a, b int32) int { return slices.Compare(w.point(a), w.point(b)) }

// label gives each cell its number; where it depends on the points which cluster a border point joins, it
// asks.
func (w *weighted) label(number []int32) []int32 {
	labels := make([]int32, len(w.core))
	sure := w.leastNumbers(number, func(i int32) bool { return w.core[i] == yes })
	maybe := w.leastNumbers(number, func(i int32) bool { return w.set[i] != noSet })
	inBatches(len(w.core), fewAtATime, w.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := int32(begin); i < int32(end); i++ {
				row := w.rows[i]
				if w.set[i] != noSet {
					labels[row] = number[w.set[i]]
					continue
				}
				b := border{weighted: w, number: number, sure: sure, maybe: maybe, at: w.cell(i), best: unnumbered}
				b.find(0)
				if b.open(0) {
					w.ask(i)
				}
				if labels[row] = b.best; b.best == unnumbered {
					labels[row] = Noise
				}
			}
		}
	})
	return labels
}

// unnumbered is above all numbers of clusters.
const unnumbered int32 = math.MaxInt32

// leastNumbers are the least numbers of the clusters that some cells of each node are in, or unnumbered.
func (w *weighted) leastNumbers(number []int32, of func(i int32) bool) []int32 {
	least := slices.Repeat([]int32{unnumbered}, len(w.nodes))
	for nd := len(w.nodes) - 1; nd >= 0; nd-- {
		x := &w.nodes[nd]
		if x.right != 0 {
			least[nd] = min(least[nd+1], least[x.right])
			continue
		}
		for i := x.begin; i < x.end; i++ {
			if of(i) {
				least[nd] = min(least[nd], number[w.set[i]])
			}
		}
	}
	return least
}

// A border looks for the clusters that the points of a cell without core points may join.
type border struct {
	*weighted
	number      []int32
	sure, maybe []int32 // per node: the least number of those with core points, and of those that may have some
	at          box
	best        int32 // the least of the clusters that they are near for sure
}

func (b *border) find(nd int32) {
	if b.sure[nd] >= b.best {
		return
	}
	x := &b.nodes[nd]
	least, most := b.distances2(b.at, b.box(nd))
	switch {
	case least > b.eps2:
	case most <= b.eps2:
		b.best = b.sure[nd]
	case x.right != 0:
		b.find(nd + 1)
		b.find(x.right)
	default:
		for i := x.begin; i < x.end; i++ {
			if b.core[i] == yes && b.distanceWithin(b.at, i) {
				b.best = min(b.best, b.number[b.set[i]])
			}
		}
	}
}

// open asks for the cells of clusters with a lesser number that the points may be near, and reports whether there are
// any.
func (b *border) open(nd int32) bool {
	if b.maybe[nd] >= b.best || b.least2(b.at, b.box(nd)) > b.eps2 {
		return false
	}
	x := &b.nodes[nd]
	if x.right != 0 {
		left := b.open(nd + 1)
		return b.open(x.right) || left
	}
	some := false
	for i := x.begin; i < x.end; i++ {
		if b.set[i] != noSet && b.number[b.set[i]] < b.best && b.least2(b.at, b.cell(i)) <= b.eps2 {
			b.doubt(i)
			some = true
		}
	}
	return some
}
