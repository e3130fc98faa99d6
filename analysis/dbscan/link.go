package dbscan

// Evidence is what two cells with core points are linked by, and what is done where it does not
// suffice.
type evidence uint8

const (
	byCells   evidence = iota // sure cells, and samples of full cells
	bySamples                 // samples, and points of open cells that are known to be core
	asking                    // as bySamples; asks for the points that are missing
	byPoints                  // all points
)

// link joins the sets of cells that hold core points within Eps of each other. Each pair is looked at
// from the later cell; what has been found to be in one set stays so.
func (g *grid) link(by evidence) {
	g.eachCell(func(c int32, sure, near []span) {
		if !g.core[c] || g.linked[c] {
			return
		}
		for _, s := range sure {
			for b := s.begin; b < min(s.end, c); b++ {
				if g.core[b] {
					g.sets.union(c, b)
				}
			}
		}
		root, apart := g.sets.find(c), false
		for _, s := range near {
			for b := s.begin; b < min(s.end, c); b++ {
				if !g.core[b] || g.sets.parent(b) == root {
					continue
				}
				if root = g.sets.find(c); g.sets.find(b) == root {
					continue
				}
				if g.touch(c, b, by) == yes {
					g.sets.union(c, b)
				} else {
					apart = true
				}
			}
		}
		g.linked[c] = by != byCells && !apart
	})
}

// touch judges whether two cells hold core points within Eps of each other.
func (g *grid) touch(a, b int32, by evidence) verdict {
	switch {
	case g.full[a] && g.full[b]:
		return g.fullTouch(a, b, by)
	case by == byCells:
		return perhaps
	case g.full[a]:
		return g.openTouches(b, a, by)
	case g.full[b]:
		return g.openTouches(a, b, by)
	}
	if g.open.len(g.index[a]) > g.open.len(g.index[b]) {
		a, b = b, a
	}
	k, l := g.index[a], g.index[b]
	for i := g.open.first[k]; i < g.open.first[k+1]; i++ {
		if g.state[i] == isCore && g.openCoreNear(g.open.coords[int(i)*g.dims:][:g.dims], l) {
			return yes
		}
	}
	return no
}

// openCoreNear reports whether an open cell, by its number, holds a core point within Eps of p.
func (g *grid) openCoreNear(p []float64, l int32) bool {
	d := g.dims
	for i := g.open.first[l]; i < g.open.first[l+1]; i++ {
		if g.state[i] == isCore && distance2(p, g.open.coords[int(i)*d:int(i)*d+d]) <= g.eps2 {
			return true
		}
	}
	return false
}

func (g *grid) fullTouch(a, b int32, by evidence) verdict {
	d, k, l := g.dims, g.index[a], g.index[b]
	if by == byPoints {
		if g.shut.len(k) > g.shut.len(l) {
			k, l = l, k
		}
		for i := int(g.shut.first[k]); i < int(g.shut.first[k+1]); i++ {
			if g.shut.countNear(g.shut.coords[i*d:i*d+d], l, g.eps2, 1) > 0 {
				return yes
			}
		}
		return no
	}
	for p := g.samples.of(k); len(p) > 0; p = p[d:] {
		if countNear(p[:d], g.samples.of(l), g.eps2, 1) > 0 {
			return yes
		}
	}
	if by == asking {
		lo, hi := g.cellBox(b)
		g.ask(a, &lo, &hi)
		lo, hi = g.cellBox(a)
		g.ask(b, &lo, &hi)
	}
	return perhaps
}

// openTouches is touch for an open and a full cell.
func (g *grid) openTouches(a, b int32, by evidence) verdict {
	k := g.index[a]
	answer := no
	for i := g.open.first[k]; i < g.open.first[k+1]; i++ {
		if g.state[i] != isCore {
			continue
		}
		p := g.place(g.open.coords[int(i)*g.dims:][:g.dims])
		switch g.near(&p, b, by) {
		case yes:
			return yes
		case perhaps:
			answer = perhaps
		}
	}
	return answer
}

// near judges whether a full cell holds points within Eps of p.
func (g *grid) near(p *place, b int32, by evidence) verdict {
	v := g.reaches(p, g.keys[b])
	if v != perhaps {
		return v
	}
	k := g.index[b]
	if by == byPoints {
		if countNear(p.at, g.samples.of(k), g.eps2, 1) > 0 || g.shut.countNear(p.at, k, g.eps2, 1) > 0 {
			return yes
		}
		return no
	}
	if countNear(p.at, g.samples.of(k), g.eps2, 1) > 0 {
		return yes
	}
	if by == asking {
		g.ask(b, &p.relative, &p.relative)
	}
	return perhaps
}

// askForBorders asks for the points of full cells which decide whether points that are known not to
// be core are in their clusters. Of one cluster it takes one core point within Eps to know that.
func (g *grid) askForBorders() {
	g.eachOpen(func(c int32, sure, near []span) {
		k := g.index[c]
		var reached, open []int32
		for i := g.open.first[k]; i < g.open.first[k+1]; i++ {
			if g.state[i] != notCore {
				continue
			}
			reached, open = reached[:0], open[:0]
			p := g.place(g.open.coords[int(i)*g.dims:][:g.dims])
			for _, s := range sure {
				for b := s.begin; b < s.end; b++ {
					if g.full[b] {
						reached = append(reached, g.sets.find(b))
					}
				}
			}
			for _, s := range near {
				for b := s.begin; b < s.end; b++ {
					if !g.full[b] {
						continue
					}
					switch g.near(&p, b, bySamples) {
					case yes:
						reached = append(reached, g.sets.find(b))
					case perhaps:
						open = append(open, b)
					}
				}
			}
			for _, b := range open {
				if !contains(reached, g.sets.find(b)) {
					g.ask(b, &p.relative, &p.relative)
				}
			}
		}
	})
}

func contains(list []int32, v int32) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
