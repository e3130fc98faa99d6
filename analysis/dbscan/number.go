package dbscan

import "slices"

// numbers numbers the clusters by their smallest core points. The first result holds the number of
// each set at the set's first cell.
func (c *cells) numbers() (number []int32, clusters int) {
	number, roots, least := c.leastCores()
	order := make([]int32, len(roots))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(c.point(least[a]), c.point(least[b])) })
	for i, k := range order {
		number[roots[k]] = int32(i)
	}
	return number, len(roots)
}

// leastCores lists the sets with core points by their first cells, roots, with the smallest core point of each. place
// holds at each root its place in the list.
func (c *cells) leastCores() (place, roots, least []int32) {
	place = slices.Repeat([]int32{Noise}, len(c.runs))
	for i := range c.runs {
		x := &c.runs[i]
		if !c.coresIn(x.begin, x.end) {
			continue
		}
		root := c.sets.find(int32(i))
		k := place[root]
		for p := x.begin; p < x.end; p++ {
			if !c.core[p] {
				continue
			}
			if k == Noise {
				k = int32(len(roots))
				place[root] = k
				roots, least = append(roots, root), append(least, p)
			} else if slices.Compare(c.point(p), c.point(least[k])) < 0 {
				least[k] = p
			}
		}
	}
	return place, roots, least
}

// label writes what is known of a cell's points to the result.
func (c *cells) label(i int32, number []int32, f *finder, r *Result) {
	x := &c.runs[i]
	inside := Noise
	if c.coresIn(x.begin, x.end) {
		inside = number[c.sets.find(i)]
	}
	f.nodes = f.nodes[:0]
	if !x.allCore {
		c.nearCores(f, 0, c.boxOfRun(x))
	}
	for p := x.begin; p < x.end; p++ {
		row := c.rows[p]
		r.Core[row] = c.core[p]
		if c.core[p] {
			r.Labels[row] = inside
		} else {
			r.Labels[row] = c.border(p, number, inside, f.nodes)
		}
	}
}

// nearCores collects cliques and leaves with core points that may be within Eps of some of the box.
func (c *cells) nearCores(f *finder, nd int32, b box) {
	x := &c.nodes[nd]
	if !c.coresIn(x.begin, x.end) || c.least2(b, c.box(nd)) > c.eps2 {
		return
	}
	if x.right == 0 || c.clique[nd] {
		f.nodes = append(f.nodes, nd)
		return
	}
	c.nearCores(f, nd+1, b)
	c.nearCores(f, x.right, b)
}

// border returns the smallest number among the clusters with a core point within Eps of p, given
// that of the core points in its own cell.
func (c *cells) border(p int32, number []int32, inside int32, near []int32) int32 {
	best := inside
	at := c.point(p)
	for _, nd := range near {
		y := &c.nodes[nd]
		for j := c.of[y.begin]; j <= c.of[y.end-1]; j++ {
			cell := &c.runs[j]
			if !c.coresIn(cell.begin, cell.end) {
				continue
			}
			k := number[c.sets.find(j)]
			if best != Noise && k >= best {
				continue
			}
			if cell.node < 0 && c.distance2(at, c.point(cell.begin)) <= c.eps2 || cell.node >= 0 && c.reaches(at, cell.node) {
				best = k
			}
		}
	}
	return best
}
