package dbscan

// cells cuts the points into runs whose points are all within Eps of each other: the highest nodes
// of the tree with a diagonal ≤ Eps, and single points where a leaf is wider. What holds for a whole
// cell needs no distance at all, which is what makes clustering bursts cheap: they crowd.
// The idea is that of the grid cells of Gunawan, TU Eindhoven 2013, and of Wang, Gu and Shun,
// SIGMOD'20, without a grid, so that neither tiny Eps nor many dimensions need tables.
type cells struct {
	*tree
	eps2   float64
	minPts int
	runs   []run
	of     []int32 // per point in the tree's order: its cell
	clique []bool  // per node: a cell
	core   []bool  // per point in the tree's order
	cores  []int32 // how many of the points before this one are core points; one more than points
	sets   forest  // of cells with core points
}

type run struct {
	begin, end int32
	node       int32 // -1 for a single point of a wide leaf
	allCore    bool
}

func (t *tree) cluster(eps float64, minPts, threads int) *Result {
	n := len(t.rows)
	if n == 0 {
		return &Result{Labels: []int32{}, Core: []bool{}}
	}
	c := t.newCells(eps, minPts)
	c.findAllCores(func(*run) bool { return true }, threads)
	c.linkAll(threads)
	number, clusters := c.numbers()
	return c.labelAll(number, clusters, threads)
}

// newCells cuts the points, of which there must be some.
func (t *tree) newCells(eps float64, minPts int) *cells {
	n := len(t.rows)
	t = t.scaled(scaleFor(eps, 0))
	c := &cells{tree: t, eps2: eps * t.scale * (eps * t.scale), minPts: minPts, of: make([]int32, n), core: make([]bool, n)}
	c.clique = make([]bool, len(t.nodes))
	c.cut(0)
	return c
}

// findAllCores finds the core points of the cells for which it is wanted.
func (c *cells) findAllCores(wanted func(*run) bool, threads int) {
	inBatches(len(c.runs), fewAtATime, threads, func(next func() (int, int, bool)) {
		var f finder
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				if wanted(&c.runs[i]) {
					c.findCores(&c.runs[i], &f)
				}
			}
		}
	})
}

// linkAll links the cells by their core points.
func (c *cells) linkAll(threads int) {
	c.cores = make([]int32, len(c.core)+1)
	for i, core := range c.core {
		c.cores[i+1] = c.cores[i]
		if core {
			c.cores[i+1]++
		}
	}
	c.sets = newForest(len(c.runs))
	inBatches(len(c.runs), fewAtATime, threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				if c.coresIn(c.runs[i].begin, c.runs[i].end) {
					c.link(int32(i), 0)
				}
			}
		}
	})
}

// labelAll labels all points, given the number of each set at its first cell.
func (c *cells) labelAll(number []int32, clusters, threads int) *Result {
	n := len(c.core)
	r := &Result{Labels: make([]int32, n), Core: make([]bool, n), Clusters: clusters}
	inBatches(len(c.runs), fewAtATime, threads, func(next func() (int, int, bool)) {
		var f finder
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				c.label(int32(i), number, &f, r)
			}
		}
	})
	return r
}

// cut makes the cells of a node.
func (c *cells) cut(nd int32) {
	x := &c.nodes[nd]
	b := c.box(nd)
	switch {
	case c.distance2(b.hi, b.lo) <= c.eps2:
		c.clique[nd] = true
		for i := x.begin; i < x.end; i++ {
			c.of[i] = int32(len(c.runs))
		}
		c.runs = append(c.runs, run{begin: x.begin, end: x.end, node: nd})
	case x.right != 0:
		c.cut(nd + 1)
		c.cut(x.right)
	default:
		for i := x.begin; i < x.end; i++ {
			c.of[i] = int32(len(c.runs))
			c.runs = append(c.runs, run{begin: i, end: i + 1, node: -1})
		}
	}
}

func (c *cells) boxOfRun(x *run) box {
	if x.node < 0 {
		return pointBox(c.point(x.begin))
	}
	return c.box(x.node)
}

// A finder collects the nodes near a box: sure counts the points that are within Eps of all of it.
type finder struct {
	sure, unsure int
	nodes        []int32 // cliques and leaves whose points may be within Eps of some of it
}

func (f *finder) find(c *cells, nd int32, b box) {
	if f.sure >= c.minPts {
		return
	}
	x := &c.nodes[nd]
	least, most := c.distances2(b, c.box(nd))
	switch {
	case least > c.eps2:
	case most <= c.eps2:
		f.sure += c.weight(x.begin, x.end)
	case x.right == 0 || c.clique[nd]:
		f.unsure += c.weight(x.begin, x.end)
		f.nodes = append(f.nodes, nd)
	default:
		f.find(c, nd+1, b)
		f.find(c, x.right, b)
	}
}

func (c *cells) findCores(x *run, f *finder) {
	x.allCore = c.weight(x.begin, x.end) >= c.minPts
	if !x.allCore {
		*f = finder{nodes: f.nodes[:0]}
		f.find(c, 0, c.boxOfRun(x))
		x.allCore = f.sure >= c.minPts
	}
	if x.allCore {
		for i := x.begin; i < x.end; i++ {
			c.core[i] = true
		}
		return
	}
	if f.sure+f.unsure < c.minPts {
		return
	}
	for i := x.begin; i < x.end; i++ {
		p := c.point(i)
		found := f.sure
		for _, nd := range f.nodes {
			if found >= c.minPts {
				break
			}
			found += c.count(nd, p, c.eps2, c.minPts-found)
		}
		c.core[i] = found >= c.minPts
	}
}

func (c *cells) coresIn(begin, end int32) bool { return c.cores[end] > c.cores[begin] }

// link joins a cell with those of the cells behind it, below a node, that hold a core point within
// Eps of one of its own. Each pair of cells is looked at from the earlier one.
func (c *cells) link(i, nd int32) {
	x, y := &c.runs[i], &c.nodes[nd]
	if y.end <= x.end || !c.coresIn(y.begin, y.end) || c.least2(c.boxOfRun(x), c.box(nd)) > c.eps2 {
		return
	}
	if y.right != 0 && !c.clique[nd] {
		c.link(i, nd+1)
		c.link(i, y.right)
		return
	}
	for j := c.of[y.begin]; j <= c.of[y.end-1]; j++ {
		if j > i && c.coresIn(c.runs[j].begin, c.runs[j].end) && c.sets.find(i) != c.sets.find(j) && c.touch(x, &c.runs[j]) {
			c.sets.union(i, j)
		}
	}
}

// touch reports whether two cells hold core points within Eps of each other.
func (c *cells) touch(x, y *run) bool {
	switch {
	case x.node < 0 && y.node < 0:
		return c.distance2(c.point(x.begin), c.point(y.begin)) <= c.eps2
	case x.node < 0:
		return c.reaches(c.point(x.begin), y.node)
	case y.node < 0:
		return c.reaches(c.point(y.begin), x.node)
	}
	return c.nodesTouch(x.node, y.node)
}

// reaches reports whether a node holds a core point within Eps of p.
func (c *cells) reaches(p []float64, nd int32) bool {
	x := &c.nodes[nd]
	if !c.coresIn(x.begin, x.end) {
		return false
	}
	least, most := c.nodeDistances2(p, nd)
	switch {
	case least > c.eps2:
		return false
	case most <= c.eps2:
		return true
	case x.right != 0:
		return c.reaches(p, nd+1) || c.reaches(p, x.right)
	}
	for i := x.begin; i < x.end; i++ {
		if c.core[i] && c.distance2(p, c.point(i)) <= c.eps2 {
			return true
		}
	}
	return false
}

// nodesTouch halves the larger of two nodes until their boxes decide.
func (c *cells) nodesTouch(a, b int32) bool {
	x, y := &c.nodes[a], &c.nodes[b]
	if !c.coresIn(x.begin, x.end) || !c.coresIn(y.begin, y.end) {
		return false
	}
	least, most := c.distances2(c.box(a), c.box(b))
	switch {
	case least > c.eps2:
		return false
	case most <= c.eps2:
		return true
	case x.right == 0 && y.right == 0:
		for i := x.begin; i < x.end; i++ {
			if c.core[i] && c.reaches(c.point(i), b) {
				return true
			}
		}
		return false
	case y.right == 0 || x.right != 0 && x.end-x.begin > y.end-y.begin:
		return c.nodesTouch(a+1, b) || c.nodesTouch(x.right, b)
	}
	return c.nodesTouch(a, b+1) || c.nodesTouch(a, y.right)
}
