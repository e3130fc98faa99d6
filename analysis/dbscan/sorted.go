package dbscan

import "slices"

// A sortedGrid is for points of which most have about MinPts neighbours, so that counting cells
// decides little: their points are sorted by cells of side Eps, and those of a row of three cells,
// which lie together, are compared with a point in one go. A cell may hold points of several
// clusters, so the sets are of points.
type sortedGrid struct {
	frame
	gathered
	keys    []uint64
	before  []int32
	minPts  int
	threads int
	rows    []piece // three cells each, the nearest row first
	core    []bool  // per point, in the order of the cells
	sets    forest
}

// clusterSorted clusters the points that a grid has counted before. It returns nil where the larger
// cells cannot be numbered.
func (g *grid) clusterSorted(eps float64) *Result {
	lo, hi := corners(g.points, g.threads)
	f, ok := newFrame(g.dims, cubes(eps), lo, hi, 0)
	if !ok {
		return nil
	}
	census, ok := f.count(g.points, g.threads)
	if !ok {
		return nil
	}
	s := &sortedGrid{frame: f, keys: census.keys, before: census.before, minPts: g.minPts, threads: g.threads}
	s.rows = newStencil(&f).near
	s.gathered.first = make([]int32, len(s.keys)+1)
	s.gathered.fill(g.points, census.sortAll())
	s.findCores()
	s.link()
	return s.label(census.ids)
}

// sortAll picks every point.
func (c *census) sortAll() [][]pick {
	picks := make([][]pick, c.threads)
	inChunks(len(c.ids), c.threads, func(t, begin, end int) {
		table, mine := c.table(t), make([]pick, end-begin)
		for i, id := range c.ids[begin:end] {
			mine[i] = pick{table[id], int32(begin + i)}
		}
		picks[t] = mine
	})
	return picks
}

// each calls f for the points of every cell with the runs of points around them, their own included,
// from several threads at once.
func (s *sortedGrid) each(f func(own span, around []span)) {
	walkAll(s.keys, s.rows, s.threads, func(c int32, around []span) {
		for i, cells := range around {
			around[i] = span{s.before[cells.begin], s.before[cells.end]}
		}
		f(span{s.before[c], s.before[c+1]}, around)
	})
}

func (s *sortedGrid) at(i int32) []float64 { return s.coords[int(i)*s.dims : (int(i)+1)*s.dims] }

func (s *sortedGrid) findCores() {
	s.core = make([]bool, len(s.gathered.rows))
	s.each(func(own span, around []span) {
		possible := 0
		for _, r := range around {
			possible += int(r.end - r.begin)
		}
		if possible < s.minPts {
			return
		}
		for i := own.begin; i < own.end; i++ {
			found := 0
			for _, r := range around {
				found += countNear(s.at(i), s.coords[int(r.begin)*s.dims:int(r.end)*s.dims], s.eps2, s.minPts-found)
				if found >= s.minPts {
					s.core[i] = true
					break
				}
			}
		}
	})
}

// link joins core points within Eps of each other, each pair from the later one.
func (s *sortedGrid) link() {
	s.sets = newForest(len(s.core))
	s.each(func(own span, around []span) {
		for i := own.begin; i < own.end; i++ {
			if !s.core[i] {
				continue
			}
			p := s.at(i)
			for _, r := range around {
				for j := r.begin; j < min(r.end, i); j++ {
					if s.core[j] && distance2(p, s.at(j)) <= s.eps2 {
						s.sets.union(i, j)
					}
				}
			}
		}
	})
	s.sets.flatten(s.threads)
}

// label writes the labels to dst, one for each point in the input's order.
func (s *sortedGrid) label(dst []int32) *Result {
	smallest := make(map[int32]int32) // per root: the smallest core point
	for i, core := range s.core {
		if core {
			root := s.sets[i]
			if at, ok := smallest[root]; !ok || slices.Compare(s.at(int32(i)), s.at(at)) < 0 {
				smallest[root] = int32(i)
			}
		}
	}
	roots := make([]int32, 0, len(smallest))
	for root := range smallest {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b int32) int { return slices.Compare(s.at(smallest[a]), s.at(smallest[b])) })
	number := make([]int32, len(s.core)) // per root
	for k, root := range roots {
		number[root] = int32(k)
	}
	r := &Result{Labels: dst, Core: make([]bool, len(dst)), Clusters: len(roots)}
	s.each(func(own span, around []span) {
		for i := own.begin; i < own.end; i++ {
			row := s.gathered.rows[i]
			if s.core[i] {
				r.Labels[row], r.Core[row] = number[s.sets[i]], true
			} else {
				r.Labels[row] = s.border(i, around, number)
			}
		}
	})
	return r
}

func (s *sortedGrid) border(i int32, around []span, number []int32) int32 {
	best := Noise
	for _, r := range around {
		for j := r.begin; j < r.end; j++ {
			if !s.core[j] || distance2(s.at(i), s.at(j)) > s.eps2 {
				continue
			}
			if k := number[s.sets[j]]; best == Noise || k < best {
				best = k
			}
		}
	}
	return best
}
