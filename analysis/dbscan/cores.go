package dbscan

// findCores finds the core points of open cells by counts, by points of open cells and by samples of full ones. It
// requests the points of full cells that the rest depends on.
func (g *grid) findCores() {
	g.eachOpen(func(c int32, sure, near []span) {
		found := g.pointsIn(sure)
		if found+g.pointsIn(near) < g.minPts {
			return
		}
		var asked []int32
		for i, end := g.openIn(span{c, c + 1}); i < end; i++ {
			asked = asked[:0]
			p := g.place(g.openAt(i))
			if g.state[i] = g.classify(c, &p, found, near, &asked); g.state[i] == unresolved {
				for _, b := range asked {
					g.ask(b, &p.relative, &p.relative)
				}
			} else if g.state[i] == isCore {
				g.core[c] = true
			}
		}
	})
}

// classify finds out whether a point of the open cell c is a core point. found points are within Eps for sure. If that
// leaves it open, it lists the full cells whose points it needs. If the point is core and points of full cells are
// within Eps, it joins their sets.
func (g *grid) classify(c int32, p *place, found int, near []span, needs *[]int32) pointState {
	var hits [4]int32
	hit := 0
	missing := 0 // points that may be within Eps besides those found
	for _, s := range near {
		found += countNear(p.at, g.openCoords(s), g.eps2, g.minPts-found)
		for _, b := range g.fullsIn(s) {
			if found >= g.minPts {
				break
			}
			here := 0
			switch all := g.population(b); g.reaches(p, g.keys[b]) {
			case yes:
				here = all
			case perhaps:
				here = countNear(p.at, g.samplesOf(b), g.eps2, g.minPts-found)
				missing += all - here
				*needs = append(*needs, b)
			}
			found += here
			if here > 0 && hit < len(hits) {
				hits[hit] = b
				hit++
			}
		}
		if found >= g.minPts {
			for _, b := range hits[:hit] {
				g.sets.union(c, b)
			}
			return isCore
		}
	}
	if found+missing < g.minPts {
		return notCore
	}
	return unresolved
}

// resolveCores decides on the points that findCores left, by the points that were gathered for them.
func (g *grid) resolveCores() {
	more := make([]bool, len(g.keys))
	g.eachOpen(func(c int32, sure, near []span) {
		for i, end := g.openIn(span{c, c + 1}); i < end; i++ {
			if g.state[i] != unresolved {
				continue
			}
			found := g.pointsIn(sure)
			p := g.place(g.openAt(i))
			g.state[i] = notCore
			if found+g.countAround(&p, near, g.minPts-found) >= g.minPts {
				g.state[i] = isCore
				more[c] = true
			}
		}
	})
	g.admit(more)
}

// admit makes core cells of those that hold more core points than was known. The pairs of cells that they are in, which
// the later cell looks at, have to be looked at again.
func (g *grid) admit(more []bool) {
	for c, is := range more {
		if !is {
			continue
		}
		g.core[c], g.linked[c] = true, false
		sure, near := g.around.of(int32(c))
		for _, spans := range [][]span{sure, near} {
			for _, s := range spans {
				for b := max(s.begin, int32(c)); b < s.end; b++ {
					g.linked[b] = false
				}
			}
		}
	}
}

func (g *grid) countAround(p *place, near []span, enough int) int {
	found := 0
	for _, s := range near {
		found += countNear(p.at, g.openCoords(s), g.eps2, enough-found)
		for _, b := range g.fullsIn(s) {
			if found >= enough {
				break
			}
			switch g.reaches(p, g.keys[b]) {
			case yes:
				found += g.population(b)
			case perhaps:
				found += g.shut.countNear(p.at, g.fullIndex(b), g.eps2, enough-found)
			}
		}
		if found >= enough {
			return found
		}
	}
	return found
}

// eachOpen calls f for every open cell, with the spans around it.
func (g *grid) eachOpen(f func(c int32, sure, near []span)) {
	g.eachCell(func(c int32, sure, near []span) {
		if !g.full[c] {
			f(c, sure, near)
		}
	})
}

// eachCell calls f for every cell that is looked after here, with the spans around it, from several threads at once.
func (g *grid) eachCell(f func(c int32, sure, near []span)) {
	inBatches(len(g.keys), fewAtATime, g.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for c := begin; c < end; c++ {
				if g.others != nil && g.others[c] {
					continue
				}
				sure, near := g.around.of(int32(c))
				f(int32(c), sure, near)
			}
		}
	})
}
