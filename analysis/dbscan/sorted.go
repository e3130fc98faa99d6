package dbscan

import (
	"slices"

	"moriens/analysis/workers"
)

// A sortedGrid is for points that counting cells does not resolve: their points are sorted by
// cells of side Eps, and those of a row of three cells, which lie together, are compared with a point in one
// go. The core points of a cell that are in one cluster for what the cell itself shows are a unit, and lie
// together too, so that clusters are of units: where points crowd, of few.
type sortedGrid struct {
	frame
	gathered
	keys    []uint64
	before  []int32
	minPts  int
	threads int
	rows    []piece // three cells each, the nearest row first
	core    []bool  // per point, in the order of the cells
	ends    []int32 // per point: if it is the first of a unit, the first one behind; else 0
	sets    forest  // of units, by their first points
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
	s.findUnits()
	s.link()
	return s.label(census.ids)
}

// sortAll picks every point.
func (c *census) sortAll() [][]pick {
	picks := make([][]pick, c.threads)
	workers.Chunks(len(c.ids), c.threads, func(t, begin, end int) {
		table, mine := c.table(t), make([]pick, end-begin)
		for i, id := range c.ids[begin:end] {
			mine[i] = pick{table[id], int32(begin + i)}
		}
		picks[t] = mine
	})
	return picks
}

// each calls f for every cell with the spans of cells around it, its own included, from several threads at
// once.
func (s *sortedGrid) each(f func(c int32, around []span)) { walkAll(s.keys, s.rows, s.threads, f) }

func (s *sortedGrid) at(i int32) []float64 { return s.coords[int(i)*s.dims : (int(i)+1)*s.dims] }

// within returns the coordinates of the points from one up to another.
func (s *sortedGrid) within(begin, end int32) []float64 {
	return s.coords[int(begin)*s.dims : int(end)*s.dims]
}

func (s *sortedGrid) findCores() {
	s.core = make([]bool, len(s.gathered.rows))
	s.each(func(c int32, around []span) {
		possible := 0
		for _, r := range around {
			possible += int(s.before[r.end] - s.before[r.begin])
		}
		if possible < s.minPts {
			return
		}
		for i := s.before[c]; i < s.before[c+1]; i++ {
			found := 0
			for _, r := range around {
				found += countNear(s.at(i), s.within(s.before[r.begin], s.before[r.end]), s.eps2, s.minPts-found)
				if found >= s.minPts {
					s.core[i] = true
					break
				}
			}
		}
	})
}

// findUnits puts the core points of each cell first, by units.
func (s *sortedGrid) findUnits() {
	s.ends = make([]int32, len(s.core))
	s.sets = newForest(len(s.core))
	inBatches(len(s.keys), fewAtATime, s.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for c := begin; c < end; c++ {
				first := s.before[c]
				cores := first
				for i := first; i < s.before[c+1]; i++ {
					if s.core[i] {
						s.swap(i, cores)
						cores++
					}
				}
				for first < cores {
					first = s.findUnit(first, cores)
				}
			}
		}
	})
}

// findUnit puts those first that are in one unit with the first of some core points of a cell, and returns
// the first of the others.
func (s *sortedGrid) findUnit(first, cores int32) int32 {
	end := first + 1
	for i := first; i < end && end < cores; i++ {
		for j := end; j < cores; j++ {
			if distance2(s.at(i), s.at(j)) <= s.eps2 {
				s.swap(j, end)
				end++
			}
		}
	}
	s.ends[first] = end
	return end
}

// swap swaps two points.
func (s *sortedGrid) swap(i, j int32) {
	if i == j {
		return
	}
	p, q := s.at(i), s.at(j)
	for k := range p {
		p[k], q[k] = q[k], p[k]
	}
	rows := s.gathered.rows
	rows[i], rows[j] = rows[j], rows[i]
	s.core[i], s.core[j] = s.core[j], s.core[i]
}

// unitsIn calls f for the units of some cells until it says that this is enough.
func (s *sortedGrid) unitsIn(cells span, f func(first, end int32) (enough bool)) {
	for c := cells.begin; c < cells.end; c++ {
		for i := s.before[c]; i < s.before[c+1] && s.ends[i] > 0; i = s.ends[i] {
			if f(i, s.ends[i]) {
				return
			}
		}
	}
}

// link joins units that hold core points within Eps of each other, each pair from the later one.
func (s *sortedGrid) link() {
	s.each(func(c int32, around []span) {
		s.unitsIn(span{c, c + 1}, func(first, end int32) bool {
			for _, r := range around {
				s.unitsIn(span{r.begin, min(r.end, c)}, func(other, behind int32) bool {
					if s.sets.find(first) != s.sets.find(other) && s.touch(first, end, other, behind) {
						s.sets.union(first, other)
					}
					return false
				})
			}
			return false
		})
	})
	s.sets.flatten(s.threads)
}

// touch reports whether some point of one unit is within Eps of one of the other.
func (s *sortedGrid) touch(first, end, other, behind int32) bool {
	for i := first; i < end; i++ {
		if countNear(s.at(i), s.within(other, behind), s.eps2, 1) > 0 {
			return true
		}
	}
	return false
}

// label writes the labels to dst, one for each point in the input's order.
func (s *sortedGrid) label(dst []int32) *Result {
	smallest := make([]int32, len(s.core)) // per root: the smallest core point
	var roots []int32
	for root := range smallest {
		smallest[root] = int32(root)
	}
	s.unitsIn(span{0, int32(len(s.keys))}, func(first, end int32) bool {
		root := s.sets[first]
		if root == first {
			roots = append(roots, root)
		}
		for i := first; i < end; i++ {
			if slices.Compare(s.at(i), s.at(smallest[root])) < 0 {
				smallest[root] = i
			}
		}
		return false
	})
	slices.SortFunc(roots, func(a, b int32) int { return slices.Compare(s.at(smallest[a]), s.at(smallest[b])) })
	number := make([]int32, len(s.core)) // per root
	for k, root := range roots {
		number[root] = int32(k)
	}
	r := &Result{Labels: dst, Core: make([]bool, len(dst)), Clusters: len(roots)}
	s.each(func(c int32, around []span) {
		behind := s.before[c] // the core points
		s.unitsIn(span{c, c + 1}, func(first, end int32) bool {
			for i := first; i < end; i++ {
				row := s.gathered.rows[i]
				r.Labels[row], r.Core[row] = number[s.sets[first]], true
			}
			behind = end
			return false
		})
		for i := behind; i < s.before[c+1]; i++ {
			r.Labels[s.gathered.rows[i]] = s.border(i, around, number)
		}
	})
	return r
}

func (s *sortedGrid) border(i int32, around []span, number []int32) int32 {
	best := Noise
	for _, r := range around {
		s.unitsIn(r, func(first, end int32) bool {
			k := number[s.sets[first]]
			if (best == Noise || k < best) && countNear(s.at(i), s.within(first, end), s.eps2, 1) > 0 {
				best = k
			}
			return best == 0
		})
	}
	return best
}
