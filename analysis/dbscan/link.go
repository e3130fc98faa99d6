package dbscan

import "slices"

// Evidence is what two cells with core points are linked by, and what is done where it does not
// suffice.
type evidence uint8

const (
	byCells   evidence = iota // sure cells, and samples of full cells
	bySamples                 // samples, and points of open cells that are known to be core
	asking                    // as bySamples; asks for the points that are missing
	byPoints                  // all points
)

// link joins the sets of cells that hold core points within Eps of each other. Each pair is looked at from the later
// cell. Cells that are in one set are never parted again.
func (g *grid) link(by evidence) {
	g.findRuns()
	g.eachCell(func(c int32, sure, near []span) {
		if !g.core[c] || g.linked[c] {
			return
		}
		for _, s := range sure {
			for b := g.runs.first(s); b < min(s.end, c); b = g.runs.next[b] {
				g.sets.union(c, b)
			}
		}
		root, open := g.sets.find(c), false
		for _, s := range near {
			for b := g.runs.first(s); b < min(s.end, c); {
				if g.sets.parent(b) == root {
					b = g.runs.next[b]
					continue
				}
				if root = g.sets.find(c); g.sets.find(b) != root {
					if v := g.touch(c, b, by); v != yes {
						open = open || v == perhaps
						b = g.runs.core[b+1]
						continue
					}
					g.sets.union(c, b)
				}
				b = g.runs.next[b]
			}
		}
		g.linked[c] = by != byCells && !open
	})
}

// runs lead from one core cell to the next, and over those that are in one set.
type runs struct {
	core []int32 // per cell, and behind the last: the first core cell from there on
	next []int32 // per core cell: the first one behind it that is in another set
}

// first is the first core cell of a span, or one behind it.
func (r *runs) first(s span) int32 { return r.core[s.begin] }

// findRuns sums up what is known of cells and sets. No other thread may change them while it runs.
func (g *grid) findRuns() {
	g.sets.flatten(g.threads)
	n := int32(len(g.keys))
	if g.runs.core == nil {
		g.runs = runs{make([]int32, n+1), make([]int32, n)}
	}
	core, next := g.runs.core, g.runs.next
	core[n] = n
	for c := n - 1; c >= 0; c-- {
		core[c] = core[c+1]
		if !g.core[c] {
			continue
		}
		if b := core[c]; b < n && g.sets[b] == g.sets[c] {
			next[c] = next[b]
		} else {
			next[c] = b
		}
		core[c] = c
	}
}

// touch decides whether two cells hold core points within Eps of each other.
func (g *grid) touch(a, b int32, by evidence) verdict {
	switch {
	case g.apart(g.keys[a], g.keys[b]):
		return no
	case g.full[a] && g.full[b]:
		return g.fullTouch(a, b, by)
	case by == byCells:
		return perhaps
	case g.full[a]:
		return g.openTouches(b, a, by)
	case g.full[b]:
		return g.openTouches(a, b, by)
	}
	for i, end := g.openIn(span{a, a + 1}); i < end; i++ {
		if g.state[i] == isCore && g.openCoreNear(g.openAt(i), b) {
			return yes
		}
	}
	return no
}

// openCoreNear reports whether an open cell holds a core point within Eps of p.
func (g *grid) openCoreNear(p []float64, b int32) bool {
	for i, end := g.openIn(span{b, b + 1}); i < end; i++ {
		if g.state[i] == isCore && distance2(p, g.openAt(i)) <= g.eps2 {
			return true
		}
	}
	return false
}

func (g *grid) fullTouch(a, b int32, by evidence) verdict {
	d := g.dims
	if by == byPoints {
		k, l := g.fullIndex(a), g.fullIndex(b)
		if g.shut.len(k) > g.shut.len(l) {
			k, l = l, k
		}
		for p := g.shut.pointsOf(d, k); len(p) > 0; p = p[d:] {
			if g.shut.countNear(p[:d], l, g.eps2, 1) > 0 {
				return yes
			}
		}
		return no
	}
	for p := g.samplesOf(a); len(p) > 0; p = p[d:] {
		if countNear(p[:d], g.samplesOf(b), g.eps2, 1) > 0 {
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
	answer := no
	for i, end := g.openIn(span{a, a + 1}); i < end; i++ {
		if g.state[i] != isCore {
			continue
		}
		p := g.place(g.openAt(i))
		switch g.near(&p, b, by) {
		case yes:
			return yes
		case perhaps:
			answer = perhaps
		}
	}
	return answer
}

// near decides whether a full cell holds points within Eps of p.
func (g *grid) near(p *place, b int32, by evidence) verdict {
	v := g.reaches(p, g.keys[b])
	switch {
	case v != perhaps:
		return v
	case countNear(p.at, g.samplesOf(b), g.eps2, 1) > 0:
		return yes
	case by == byPoints && g.shut.countNear(p.at, g.fullIndex(b), g.eps2, 1) > 0:
		return yes
	case by == byPoints:
		return no
	case by == asking:
		g.ask(b, &p.relative, &p.relative)
	}
	return perhaps
}

// askForBorders asks for the points of full cells which decide whether points that are known not to
// be core are in their clusters. Of one cluster it takes one core point within Eps to know that.
func (g *grid) askForBorders() {
	g.eachOpen(func(c int32, sure, near []span) {
		var reached, open []int32
		for i, end := g.openIn(span{c, c + 1}); i < end; i++ {
			if g.state[i] != notCore {
				continue
			}
			reached, open = reached[:0], open[:0]
			p := g.place(g.openAt(i))
			for _, s := range sure {
				for _, b := range g.fullsIn(s) {
					reached = append(reached, g.sets.find(b))
				}
			}
			for _, s := range near {
				for _, b := range g.fullsIn(s) {
					switch g.near(&p, b, bySamples) {
					case yes:
						reached = append(reached, g.sets.find(b))
					case perhaps:
						open = append(open, b)
					}
				}
			}
			for _, b := range open {
				if !slices.Contains(reached, g.sets.find(b)) {
					g.ask(b, &p.relative, &p.relative)
				}
			}
		}
	})
}
