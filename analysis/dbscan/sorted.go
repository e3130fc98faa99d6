package dbscan

// clusterSorted is for grids of fineness 1 with few points in most cells: counts decide little there, so
// that all points are sorted by cell. Then the points of a whole span lie together and are compared
// with a point in one go.
func (g *grid) clusterSorted() *Result {
	g.gatherAll()
	g.core = make([]bool, len(g.keys))
	g.sets = newForest(len(g.keys))
	g.eachCell(func(c int32, _, near []span) {
		begin, end := g.before[c], g.before[c+1]
		here := int(end - begin)
		if here+g.pointsIn(near) < g.minPts {
			return
		}
		d := g.dims
		for i := begin; i < end; i++ {
			p := g.open.coords[int(i)*d : int(i)*d+d]
			found := here
			for _, s := range near {
				if found >= g.minPts {
					break
				}
				found += countNear(p, g.open.coords[int(g.before[s.begin])*d:int(g.before[s.end])*d], g.eps2, g.minPts-found)
			}
			if found >= g.minPts {
				g.state[i] = isCore
				g.core[c] = true
			}
		}
	})
	g.link(byPoints)
	g.sets.flatten(g.threads)
	number, clusters := g.numbers()
	return g.label(number, clusters)
}

// gatherAll treats all cells as open ones.
func (g *grid) gatherAll() {
	picks := make([][]pick, len(g.tables))
	inChunks(len(g.ids), len(g.tables), func(t, begin, end int) {
		table := g.tables[t]
		mine := make([]pick, end-begin)
		for i := range mine {
			c := table[g.ids[begin+i]]
			g.ids[begin+i] = c
			mine[i] = pick{c, int32(begin + i)}
		}
		picks[t] = mine
	})
	g.tables = nil
	g.open.first = make([]int32, len(g.keys)+1)
	g.open.fill(g.points, picks)
	g.state = make([]pointState, len(g.ids))
	for c := range g.keys {
		g.full[c] = false
		g.index[c] = int32(c)
	}
}
