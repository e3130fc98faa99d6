package dbscan

// findCores finds the core points of open cells, as far as counts, points of open cells and samples
// of full ones tell, and asks for the points of full cells that the others depend on.
func (g *grid) findCores() {
	g.eachOpen(func(c int32, sure, near []span) {
		found := g.population(c)
		if len(sure) > 0 {
			found = g.pointsIn(sure)
		}
		if found+g.pointsIn(near) < g.minPts {
			return
		}
		var asked []int32
		k := g.index[c]
		for i := g.open.first[k]; i < g.open.first[k+1]; i++ {
			asked = asked[:0]
			p := g.place(g.open.coords[int(i)*g.dims:][:g.dims])
			if g.state[i] = g.judge(c, &p, found, near, &asked); g.state[i] == unresolved {
				for _, b := range asked {
					g.ask(b, &p.relative, &p.relative)
				}
			} else if g.state[i] == isCore {
				g.core[c] = true
			}
		}
	})
}

// judge finds out whether a point of the open cell c is a core point, found points being within Eps
// for sure. Where it cannot tell it lists the full cells whose points it needs. Where the point is
// core and points of full cells are within Eps, it joins their sets.
func (g *grid) judge(c int32, p *place, found int, near []span, needs *[]int32) pointState {
	var hits [4]int32
	hit := 0
	possible := found
	for _, s := range near {
		for b := s.begin; b < s.end; b++ {
			if !g.full[b] {
				here := g.open.countNear(p.at, g.index[b], g.eps2, g.minPts-found)
				found += here
				possible += here
			} else {
				here, all := 0, g.population(b)
				switch g.reaches(p, g.keys[b]) {
				case yes:
					here = all
				case perhaps:
					here = countNear(p.at, g.samples.of(g.index[b]), g.eps2, g.minPts-found)
					possible += all - here
					*needs = append(*needs, b)
				}
				found += here
				possible += here
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
	}
	if possible < g.minPts {
		return notCore
	}
	return unresolved
}

// resolveCores decides on the points that findCores left, by the points that were gathered for them.
func (g *grid) resolveCores() {
	late := make([]bool, len(g.keys))
	g.eachOpen(func(c int32, sure, near []span) {
		k := g.index[c]
		for i := g.open.first[k]; i < g.open.first[k+1]; i++ {
			if g.state[i] != unresolved {
				continue
			}
			found := g.population(c)
			if len(sure) > 0 {
				found = g.pointsIn(sure)
			}
			p := g.place(g.open.coords[int(i)*g.dims:][:g.dims])
			g.state[i] = notCore
			if found+g.countAround(&p, near, g.minPts-found) >= g.minPts {
				g.state[i] = isCore
				late[c] = !g.core[c]
			}
		}
	})
	g.admit(late)
}

// admit makes core cells of those that hold core points after all. The cells behind them, which look at
// the pairs with them, have to do so again.
func (g *grid) admit(late []bool) {
	for c, is := range late {
		if !is {
			continue
		}
		g.core[c] = true
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
		for b := s.begin; b < s.end; b++ {
			switch {
			case !g.full[b]:
				found += g.open.countNear(p.at, g.index[b], g.eps2, enough-found)
			case g.reaches(p, g.keys[b]) == yes:
				found += g.population(b)
			default:
				found += g.shut.countNear(p.at, g.index[b], g.eps2, enough-found)
			}
			if found >= enough {
				return found
			}
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

// eachCell calls f for every cell, with the spans around it, from several threads at once.
func (g *grid) eachCell(f func(c int32, sure, near []span)) {
	inBatches(len(g.keys), fewAtATime, g.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for c := begin; c < end; c++ {
				sure, near := g.around.of(int32(c))
				f(int32(c), sure, near)
			}
		}
	})
}
