package dbscan

import (
	"math"
	"sync"

	"moriens/analysis/workers"
)

// A nest holds points sorted by cells of a side, for several Eps: two cells in each direction are a cell of
// twice the side, and so on. So the cells for an Eps come from those of the nest, not from the points, and
// the points of a cell are at hand.
type nest struct {
	frame
	points   Points
	keys     []uint64 // of the occupied cells, ascending
	of       []int32  // per point, in the order of the input: its cell
	gathered          // all points, by cell
	levels   [nestLevels]func() *level
}

const (
	// nestLevels is how many sides a nest has: the largest is for an Eps nestLevels-1 powers of two above
	// the smallest.
	nestLevels = 5
	// nestDims: from 4-D on cells that are up to twice as small as Eps allows have too many others around them.
	nestDims = 3
	// nestMargin is enough cells for all that may be around the cells of the largest side.
	nestMargin = 8 << (nestLevels - 1)
)

// newNest returns nil where the cells for an Eps cannot be numbered. The points must be finite.
func newNest(p Points, eps float64, threads int) *nest {
	l := finestCells(p.Dims, eps)
	l.reach = nestMargin
	lo, hi := corners(p, threads)
	f, ok := newFrame(p.Dims, l, lo, hi, 0)
	if !ok {
		return nil
	}
	c, ok := f.count(p, threads)
	if !ok {
		return nil
	}
	n := &nest{frame: f, points: p, keys: c.keys, of: c.ids}
	n.first = make([]int32, len(c.keys)+1)
	n.fill(p, c.sortAll())
	workers.Chunks(len(c.ids), c.threads, func(t, begin, end int) {
		table := c.table(t)
		for i, id := range c.ids[begin:end] {
			c.ids[begin+i] = table[id]
		}
	})
	for i := range n.levels {
		n.levels[i] = sync.OnceValue(func() *level { return n.newLevel(uint(i), threads) })
	}
	return n
}

// finestCells are those that clusterOnGrid begins with.
func finestCells(dims int, eps float64) lattice {
	switch dims {
	case 1:
		return cliques(dims, 4, eps)
	case 2:
		return cliques(dims, 2, eps) // more cells are distinguished by counting; from 3-D on there would be too many around each
	}
	return cliques(dims, 1, eps)
}

// levelFor returns the level for an Eps; not ok where the nest has none.
func (n *nest) levelFor(eps float64) (i int, ok bool) {
	ratio := finestCells(n.dims, eps).side / n.side
	_, exponent := math.Frexp(ratio)
	return exponent - 1, exponent >= 1 && exponent <= nestLevels
}

// A level is the cells of one side.
type level struct {
	*nest
	frame  frame
	keys   []uint64
	before []int32 // points in the cells before each, and of all
	of     []int32 // per cell of the nest: its cell here
	parts  []int32 // cells of the nest, by their cells here
	first  []int32 // per cell: of its parts; and behind the last
}

func (n *nest) newLevel(i uint, threads int) *level {
	v := &level{nest: n, frame: n.frame, of: make([]int32, len(n.keys)), parts: make([]int32, len(n.keys))}
	v.frame.side = math.Ldexp(n.side, int(i))
	v.frame.inv = 1 / v.frame.side
	for j := range n.dims {
		v.frame.cells[j] = math.Floor(n.frame.cells[j]/float64(uint(1)<<i)) + 1
	}
	axis := uint64(1)<<n.bits - 1
	keys := make([]uint64, len(n.keys))
	for k, key := range n.keys {
		for j := range n.dims {
			shift := n.bits * uint(j)
			keys[k] |= key >> shift & axis >> i << shift
		}
		v.parts[k] = int32(k)
	}
	sortKeys(keys, v.parts, threads)
	var sum int32
	for k, part := range v.parts {
		if k == 0 || keys[k] != keys[k-1] {
			v.keys = append(v.keys, keys[k])
			v.first = append(v.first, int32(k))
			v.before = append(v.before, sum)
		}
		v.of[part] = int32(len(v.keys) - 1)
		sum += int32(n.len(part))
	}
	v.first = append(v.first, int32(len(v.parts)))
	v.before = append(v.before, sum)
	return v
}

// cluster clusters the points through the cells of a level; nil where most points are in cells that counting does not
// decide.
func (v *level) cluster(eps float64, minPts, threads int) *Result {
	g := &grid{frame: v.frame, supply: v, points: v.points, minPts: minPts, threads: threads}
	g.lattice = coarseCells(v.dims, v.frame.side, eps)
	g.census.keys, g.census.before = v.keys, v.before
	g.survey()
	if g.tooOpen() || g.tooMuchToCompare() {
		return nil
	}
	return g.cluster()
}

// coarseCells are cells of a side that is small enough for cliques. What is within Eps and what is not is rounded to
// the safe side, as with those.
func coarseCells(dims int, side, eps float64) lattice {
	q := eps / side * (eps / side)
	budget := int(q * (1 + tolerance))
	return lattice{
		eps2: eps * eps, side: side, budget: budget,
		reach: int(math.Sqrt(float64(budget))) + 1,
		sure:  int(math.Sqrt(q*(1-tolerance)/float64(dims))) - 1,
	}
}

// each calls f for the runs of points of a cell.
func (v *level) each(c int32, f func(begin, end int32)) {
	for _, part := range v.parts[v.first[c]:v.first[c+1]] {
		f(v.gathered.first[part], v.gathered.first[part+1])
	}
}

func (v *level) open(g *grid) {
	most := g.samplesPerCell()
	for c, full := range g.full {
		if n := g.population(int32(c)); full {
			k := g.fullIndex(int32(c))
			g.samples.first[k+1] = g.samples.first[k] + int32(min(n, most))
		} else {
			k := g.opens[c]
			g.open.first[k+1] = g.open.first[k] + int32(n)
		}
	}
	g.open.allocate(v.dims)
	g.samples.allocate(v.dims)
	v.eachCell(g, func(c int32) {
		if !g.full[c] {
			to := g.open.first[g.opens[c]]
			v.each(c, func(begin, end int32) { to = v.copy(&g.open, to, begin, end) })
			return
		}
		// A few from all over the cell.
		n, first := g.population(c), g.samples.first[g.fullIndex(c)]
		some := g.samples.len(g.fullIndex(c))
		taken, passed := 0, 0
		v.each(c, func(begin, end int32) {
			for ; taken < some; taken++ {
				at, _ := workers.Chunk(n, some, taken)
				if at -= passed; at >= int(end-begin) {
					break
				}
				from := begin + int32(at)
				v.copy(&g.samples, first+int32(taken), from, from+1)
			}
			passed += int(end - begin)
		})
	})
}

// eachCell calls f for every cell of a grid, from several threads at once.
func (v *level) eachCell(g *grid, f func(c int32)) {
	inBatches(len(v.keys), fewAtATime, g.threads, func(next func() (int, int, bool)) {
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for c := begin; c < end; c++ {
				f(int32(c))
			}
		}
	})
}

func (v *level) at(i int32) []float64 { return v.coords[int(i)*v.dims : (int(i)+1)*v.dims] }

// copy copies points to a place in others, and returns the next.
func (v *level) copy(dst *gathered, to, begin, end int32) int32 {
	copy(dst.rows[to:], v.rows[begin:end])
	copy(dst.coords[int(to)*v.dims:], v.coords[int(begin)*v.dims:int(end)*v.dims])
	return to + end - begin
}

func (v *level) shut(g *grid) {
	requested := make([][]int32, len(g.shut.first)-1) // per full cell: points
	v.eachCell(g, func(c int32) {
		k := g.fullIndex(c)
		if !g.full[c] || !g.requests.asked[k] {
			return
		}
		var mine []int32
		v.each(c, func(begin, end int32) {
			for i := begin; i < end; i++ {
				if g.requested(v.at(i), k) {
					mine = append(mine, i)
				}
			}
		})
		requested[k] = mine
	})
	for k, mine := range requested {
		g.shut.first[k] = int32(len(g.shut.rows))
		for _, i := range mine {
			g.shut.rows = append(g.shut.rows, v.rows[i])
			g.shut.coords = append(g.shut.coords, v.at(i)...)
		}
	}
	g.shut.first[len(requested)] = int32(len(g.shut.rows))
}

func (v *level) smallest(g *grid, candidate []int32, smallest [][]float64) {
	found := make([][]float64, len(candidate))
	v.eachCell(g, func(c int32) {
		if candidate[c] == 0 {
			return
		}
		v.each(c, func(begin, end int32) {
			for i := begin; i < end; i++ {
				takeSmaller(&found[c], v.at(i))
			}
		})
	})
	for c, p := range found {
		if p != nil {
			takeSmaller(&smallest[candidate[c]-1], p)
		}
	}
}

func (v *level) label(g *grid, cells []int32, r *Result) {
	list := make([]int32, len(v.of))
	for part, c := range v.of {
		list[part] = cells[c]
	}
	r.Labels = make([]int32, len(v.nest.of))
	writeLabels(v.nest.of, list, r, g.threads)
}

// A nesting makes a nest when a second Eps is asked for, and another one when a much smaller one is.
type nesting struct {
	mu    sync.Mutex
	least float64 // Eps of the nest, or of the first question; 0 = none
	nest  *nest   // nil before the second question, and where cells cannot be numbered
	tried bool
}

// levelFor returns the level of a nest for an Eps, nil if there is none.
func (s *nesting) levelFor(p Points, eps float64, threads int) *level {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.Dims > nestDims || p.Len() == 0 || !(eps > 0):
		return nil
	case s.least == 0:
		s.least = eps
		return nil
	case !s.tried || eps < s.least:
		s.least = min(s.least, eps)
		if s.tried {
			s.least /= 4 // the next one may be still smaller
		}
		s.tried = true
		s.nest = newNest(p, s.least, threads)
	}
	if s.nest == nil {
		return nil
	}
	if i, ok := s.nest.levelFor(eps); ok {
		return s.nest.levels[i]()
	}
	return nil
}
