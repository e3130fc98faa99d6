package dbscan

import (
	"math"
	"slices"

	"moriens/analysis/workers"
)

// A grid clusters points of up to gridDims dimensions through the cells that they lie in. Its idea is
// that of Gunawan, TU Eindhoven 2013, and of Wang, Gu and Shun, SIGMOD'20, taken further: points
// are never sorted, and most of them are never looked at again once they are counted.
//
// A full cell holds core points alone, which the counts of the cells around it show; the others are
// open. Points of open cells are copied aside, and so are points of full cells, but only those that
// an open question is about: whether they are within Eps of some point of an open cell, or of
// another full cell whose cluster may be the same.
type grid struct {
	frame
	census
	supply  supply
	points  Points
	minPts  int
	threads int

	stencil stencil
	around  *neighbourhoods
	others  []bool // per cell: another member of the team looks after it; nil = all are looked after here
	full    []bool
	core    []bool  // per cell: it holds core points, as far as is known
	linked  []bool  // per cell: no question is open about it and the cells before it
	opens   []int32 // per cell: how many of those before it are open
	fulls   []int32 // the full cells
	sets    forest  // of cells with core points
	runs    runs

	open     gathered // points of all open cells
	state    []pointState
	shut     gathered // points of full cells that questions are about
	requests requests
	samples  gathered // a few points of each full cell
}

// A pointState is what is known of a point of an open cell.
type pointState uint8

const (
	notCore pointState = iota
	isCore
	unresolved // until the points of full cells are there
)

// Where more than a third of all points are in open cells, the points of all cells are sorted
// (see sorted) rather than gathered; where more points than these have to be compared with each of them, the
// tree counts them in bulk.
const (
	manyOpen = 1. / 3
	manyNear = 8192
	probes   = 64 // cells that are asked to decide that
)

// clusterOnGrid clusters the points if a grid is the way to do it. A coordinate that is no finite
// number is an error.
func clusterOnGrid(p Points, eps float64, minPts, threads int) (*Result, error) {
	if p.Dims > gridDims || p.Len() == 0 {
		return nil, nil
	}
	g, err := newGrid(p, finestCells(p.Dims, eps), minPts, threads)
	if g != nil && p.Dims == 2 && g.tooOpen() {
		g, err = newGrid(p, cliques(p.Dims, 1, eps), minPts, threads)
	}
	switch {
	case g == nil || g.tooMuchToCompare() || p.Dims == 1 && g.tooOpen(): // a line sorts its points once, for any Eps
		return nil, err
	case g.tooOpen():
		return g.clusterSorted(eps), nil
	}
	return g.cluster(), nil
}

// newGrid counts the points and distinguishes full cells from open ones. It returns nil where cells would be
// too many to number, and an error where coordinates are not finite.
func newGrid(p Points, l lattice, minPts, threads int) (*grid, error) {
	g := &grid{points: p, minPts: minPts, threads: threads}
	lo, hi, all := sampledCorners(p)
	slack := 0.0
	if !all {
		slack = 1. / 64
	}
	var counted, numbered bool
	if g.frame, numbered = newFrame(p.Dims, l, lo, hi, slack); numbered {
		g.census, counted = g.frame.count(p, threads)
	}
	if !counted { // some point is outside of what the sample showed, or is none
		if err := checkFinite(p); err != nil {
			return nil, err
		}
		lo, hi = corners(p, threads)
		if g.frame, numbered = newFrame(p.Dims, l, lo, hi, 0); numbered {
			g.census, counted = g.frame.count(p, threads)
		}
		if !counted {
			return nil, nil
		}
	}
	g.supply = stream{&g.census}
	g.survey()
	return g, nil
}

func (g *grid) population(c int32) int { return int(g.before[c+1] - g.before[c]) }

// fullIndex is the number of a full cell among the full ones, or of those before a cell.
func (g *grid) fullIndex(c int32) int32 { return c - g.opens[c] }

// openIn returns the places in g.open of the points of the open ones of some cells.
func (g *grid) openIn(s span) (begin, end int32) {
	return g.open.first[g.opens[s.begin]], g.open.first[g.opens[s.end]]
}

func (g *grid) openAt(i int32) []float64 { return g.open.coords[int(i)*g.dims:][:g.dims] }

// openCoords are the coordinates of the points of the open ones of some cells.
func (g *grid) openCoords(s span) []float64 {
	begin, end := g.openIn(s)
	return g.open.coords[int(begin)*g.dims : int(end)*g.dims]
}

// samplesOf are the samples of a full cell.
func (g *grid) samplesOf(c int32) []float64 { return g.samples.pointsOf(g.dims, g.fullIndex(c)) }

// fullsIn returns the full ones of some cells.
func (g *grid) fullsIn(s span) []int32 { return g.fulls[g.fullIndex(s.begin):g.fullIndex(s.end)] }

// survey distinguishes full cells from open ones.
func (g *grid) survey() {
	g.chooseStencil()
	g.findFull()
	g.listFull()
}

func (g *grid) chooseStencil() {
	g.stencil = newStencil(&g.frame)
	if g.dims > nestDims {
		g.stencil = newBands(&g.frame)
	}
}

// findFull finds the cells for which the points in the sure cells around suffice.
func (g *grid) findFull() {
	g.full = make([]bool, len(g.keys))
	inBatches(len(g.keys), walkCells, g.threads, func(next func() (int, int, bool)) {
		var spans []span
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			var w *walk
			if g.sure > 0 {
				w = newWalk(g.keys, g.stencil.sure, g.keys[begin])
			}
			for c := begin; c < end; c++ {
				found := g.population(int32(c))
				if w != nil {
					spans = w.around(spans[:0], g.keys[c])
					found = g.pointsIn(spans)
				}
				g.full[c] = found >= g.minPts
			}
		}
	})
}

// listFull numbers the full cells.
func (g *grid) listFull() {
	g.opens = make([]int32, len(g.keys)+1)
	for c, full := range g.full {
		g.opens[c+1] = g.opens[c]
		if full {
			g.fulls = append(g.fulls, int32(c))
		} else {
			g.opens[c+1]++
		}
	}
}

func (g *grid) pointsIn(spans []span) int {
	sum := 0
	for _, s := range spans {
		sum += int(g.before[s.end] - g.before[s.begin])
	}
	return sum
}

func (g *grid) openPoints() int {
	sum := 0
	for c := range g.full {
		if !g.full[c] {
			sum += g.population(int32(c))
		}
	}
	return sum
}

func (g *grid) tooOpen() bool {
	return float64(g.openPoints()) > manyOpen*float64(g.points.Len())
}

// tooMuchToCompare estimates, by some of the open cells, how many points of open cells there are around
// each of their points.
func (g *grid) tooMuchToCompare() bool {
	var open []int32
	for c, full := range g.full {
		if !full {
			open = append(open, int32(c))
		}
	}
	asked := min(len(open), probes)
	var points, compared float64
	var spans []span
	for i := range asked {
		at, _ := workers.Chunk(len(open), asked, i)
		c := open[at]
		key := g.stencil.base(g.keys[c])
		spans = newWalk(g.keys, g.stencil.near, key).around(spans[:0], key)
		near := g.pointsIn(spans)
		for _, s := range spans {
			for _, b := range g.fullsIn(s) {
				near -= g.population(b)
			}
		}
		points += float64(g.population(c))
		compared += float64(g.population(c)) * float64(near)
	}
	return compared > manyNear*points
}

// cluster is for grids most of whose points are in full cells.
func (g *grid) cluster() *Result {
	g.gatherOpen()
	g.around = newNeighbourhoods(g.keys, g.stencil, g.threads)
	g.core = slices.Clone(g.full)
	g.linked = make([]bool, len(g.keys))
	g.sets = newForest(len(g.keys))
	g.requests = newRequests(len(g.fulls))
	g.link(byCells)
	g.findCores()
	g.link(bySamples)
	g.link(asking)
	g.askForBorders()
	g.gatherShut()
	g.resolveCores()
	g.link(byPoints)
	g.findRuns()
	number, clusters := g.numbers()
	return g.label(number, clusters)
}

// countNear returns how many of the points in coords are within Eps of p, or some number ≥ enough if
// that many are.
func countNear(p, coords []float64, eps2 float64, enough int) int {
	found := 0
	switch len(p) {
	case 1:
		for _, v := range coords {
			if d := p[0] - v; d*d <= eps2 {
				if found++; found >= enough {
					return found
				}
			}
		}
	case 2:
		x, y := p[0], p[1]
		for ; len(coords) >= 2; coords = coords[2:] {
			dx, dy := x-coords[0], y-coords[1]
			if float64(dx*dx)+float64(dy*dy) <= eps2 {
				if found++; found >= enough {
					return found
				}
			}
		}
	case 3:
		x, y, z := p[0], p[1], p[2]
		for ; len(coords) >= 3; coords = coords[3:] {
			dx, dy, dz := x-coords[0], y-coords[1], z-coords[2]
			if float64(dx*dx)+float64(dy*dy)+float64(dz*dz) <= eps2 {
				if found++; found >= enough {
					return found
				}
			}
		}
	case 4:
		x, y, z, w := p[0], p[1], p[2], p[3]
		for ; len(coords) >= 4; coords = coords[4:] {
			dx, dy, dz, dw := x-coords[0], y-coords[1], z-coords[2], w-coords[3]
			if float64(dx*dx)+float64(dy*dy)+float64(dz*dz)+float64(dw*dw) <= eps2 {
				if found++; found >= enough {
					return found
				}
			}
		}
	}
	return found
}

// inReach returns the box, relative to the origin, that holds all points of a cell which are within
// Eps of the box from lo to hi.
func (g *grid) inReach(lo, hi *[gridDims]float64, cell int32) (b reachBox) {
	var gap2 [gridDims]float64
	var sum float64
	for j := range g.dims {
		low := g.number(g.keys[cell], j) * g.side
		gap := max(low-hi[j], lo[j]-low-g.side, 0)
		gap2[j] = gap * gap
		sum += gap2[j]
	}
	for j := range g.dims {
		width := math.Sqrt(max(0, g.eps2*(1+tolerance)-(sum-gap2[j]))) + g.side*tolerance
		b.lo[j], b.hi[j] = lo[j]-width, hi[j]+width
	}
	return b
}
