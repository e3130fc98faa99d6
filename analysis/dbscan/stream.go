package dbscan

import "moriens/analysis/workers"

// A supply gives a grid the points of its cells.
type supply interface {
	// open fills g.open and g.samples, that is, it copies the points of open cells and some of full ones.
	open(g *grid)
	// shut fills g.shut with the requested points.
	shut(g *grid)
	// smallest looks through the full cells whose candidate is not 0 for points smaller than smallest[candidate-1].
	smallest(g *grid, candidate []int32, smallest [][]float64)
	// label writes what is known of the points of full cells: per cell twice the label, plus one for core points.
	label(g *grid, cells []int32, r *Result)
}

// A stream is points in the order of the input. Every question is a pass over the numbers of their cells.
type stream struct{ *census }

// A sieve takes a few points at a time out of many, without a branch for each: one in many is wanted, and
// which cannot be foretold.
type sieve [1024]int32

// keep returns which of some points, at most len(v), are in cells where wanted is not 0.
func (v *sieve) keep(cells []int32, wanted []uint8) []int32 {
	n := 0
	for i, c := range cells {
		v[n&(len(v)-1)] = int32(i) // n is below len(v)
		n += (int(wanted[c]) + 255) >> 8
	}
	return v[:n]
}

// open looks at the points of a full cell until there are enough samples. From then on points have the
// numbers of their cells for ids.
func (s stream) open(g *grid) {
	const all = ^uint8(0)
	enough := uint8((g.samplesPerCell() + s.threads - 1) / s.threads)
	open, samples := make([][]pick, s.threads), make([][]pick, s.threads)
	workers.Chunks(len(s.ids), s.threads, func(t, begin, end int) {
		wanted := make([]uint8, len(g.keys))
		for c, full := range g.full {
			wanted[c] = all
			if full {
				wanted[c] = enough
			}
		}
		table := s.table(t)
		mine := make([]pick, 0, g.openPoints()/s.threads)
		some := make([]pick, 0, min(end-begin, len(g.fulls)*int(enough)))
		var v sieve
		for ; begin < end; begin += len(v) {
			cells := s.ids[begin:min(begin+len(v), end)]
			for i, id := range cells {
				cells[i] = table[id]
			}
			for _, i := range v.keep(cells, wanted) {
				switch c := cells[i]; wanted[c] {
				case 0:
				case all:
					mine = append(mine, pick{g.opens[c], int32(begin) + i})
				default:
					wanted[c]--
					some = append(some, pick{g.fullIndex(c), int32(begin) + i})
				}
			}
		}
		open[t], samples[t] = mine, some
	})
	s.tables = nil
	g.open.fill(g.points, open)
	g.samples.fill(g.points, samples)
}

func (s stream) shut(g *grid) {
	asked := make([]uint8, len(g.keys))
	for k, c := range g.fulls {
		if g.requests.asked[k] {
			asked[c] = 1
		}
	}
	picks := make([][]pick, s.threads)
	d := g.dims
	workers.Chunks(len(s.ids), s.threads, func(t, begin, end int) {
		var mine []pick
		var v sieve
		for ; begin < end; begin += len(v) {
			cells := s.ids[begin:min(begin+len(v), end)]
			for _, i := range v.keep(cells, asked) {
				k, row := g.fullIndex(cells[i]), begin+int(i)
				if g.requested(g.points.Coords[row*d:row*d+d], k) {
					mine = append(mine, pick{k, int32(row)})
				}
			}
		}
		picks[t] = mine
	})
	g.shut.fill(g.points, picks)
}

func (s stream) smallest(g *grid, candidate []int32, smallest [][]float64) {
	d := g.dims
	wanted := make([]uint8, len(candidate))
	for c, k := range candidate {
		wanted[c] = uint8(min(k, 1))
	}
	found := make([][][]float64, s.threads)
	workers.Chunks(len(s.ids), s.threads, func(t, begin, end int) {
		mine := make([][]float64, len(smallest))
		var v sieve
		for ; begin < end; begin += len(v) {
			cells := s.ids[begin:min(begin+len(v), end)]
			for _, i := range v.keep(cells, wanted) {
				row, best := begin+int(i), &mine[candidate[cells[i]]-1]
				if p := g.points.Coords[row*d : row*d+d]; *best == nil || p[0] <= (*best)[0] {
					takeSmaller(best, p)
				}
			}
		}
		found[t] = mine
	})
	for _, mine := range found {
		for k, p := range mine {
			if p != nil {
				takeSmaller(&smallest[k], p)
			}
		}
	}
}

// label turns the cells of points into their labels, in place.
func (s stream) label(g *grid, cells []int32, r *Result) {
	r.Labels = s.ids
	writeLabels(s.ids, cells, r, g.threads)
}

// writeLabels writes the labels of points given their places in a list of twice the label, plus one for core
// points.
func writeLabels(of, list []int32, r *Result, threads int) {
	workers.Chunks(len(of), threadsFor(len(of), threads), func(_, begin, end int) {
		of, labels, core := of[begin:end], r.Labels[begin:end], r.Core[begin:end]
		for i, c := range of {
			v := list[c]
			labels[i] = v >> 1
			core[i] = v&1 != 0
		}
	})
}
