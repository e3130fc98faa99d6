package dbscan

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

// A stream is points in the order of the input. Every question is a pass over them.
type stream struct {
	ids    []int32 // as in a census; when the open cells have been asked for, the numbers of cells
	tables [][]int32
}

func (s *stream) open(g *grid) {
	picks := make([][]pick, len(s.tables))
	inChunks(len(s.ids), len(s.tables), func(t, begin, end int) {
		table, full, index := s.tables[t], g.full, g.index
		var mine []pick
		for i := begin; i < end; i++ {
			c := table[s.ids[i]]
			s.ids[i] = c
			if !full[c] {
				mine = append(mine, pick{index[c], int32(i)})
			}
		}
		picks[t] = mine
	})
	s.tables = nil
	g.open.fill(g.points, picks)
	s.takeSamples(g)
}

// takeSamples looks at an eighth of the points, in short runs from all over the input.
func (s *stream) takeSamples(g *grid) {
	const run, stride = 64, 512
	d := g.dims
	for begin := 0; begin < len(s.ids); begin += stride {
		for i := begin; i < min(begin+run, len(s.ids)); i++ {
			if c := s.ids[i]; g.full[c] {
				g.samples.add(g.index[c], g.points.Coords[i*d:i*d+d])
			}
		}
	}
}

func (s *stream) shut(g *grid) {
	asked := make([]bool, len(g.keys))
	some := false
	for c, full := range g.full {
		if full && g.requests.asked[g.index[c]] {
			asked[c], some = true, true
		}
	}
	d := g.dims
	picks := make([][]pick, threadsFor(len(s.ids), g.threads))
	if some {
		inChunks(len(s.ids), len(picks), func(t, begin, end int) {
			asked := asked
			var mine []pick
			for i, c := range s.ids[begin:end] {
				i += begin
				if asked[c] && g.requested(g.points.Coords[i*d:i*d+d], c) {
					mine = append(mine, pick{g.index[c], int32(i)})
				}
			}
			picks[t] = mine
		})
	}
	g.shut.fill(g.points, picks)
}

func (s *stream) smallest(g *grid, candidate []int32, smallest [][]float64) {
	d := g.dims
	found := make([][][]float64, threadsFor(len(s.ids), g.threads))
	inChunks(len(s.ids), len(found), func(t, begin, end int) {
		mine := make([][]float64, len(smallest))
		candidate, coords := candidate, g.points.Coords
		for i, c := range s.ids[begin:end] {
			if k := candidate[c]; k > 0 {
				i += begin
				if best := mine[k-1]; best == nil || coords[i*d] <= best[0] {
					takeSmaller(&mine[k-1], coords[i*d:i*d+d])
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
func (s *stream) label(g *grid, cells []int32, r *Result) {
	r.Labels = s.ids
	writeLabels(s.ids, cells, r, g.threads)
}

// writeLabels writes the labels of points given their places in a list of twice the label, plus one for core
// points.
func writeLabels(of, list []int32, r *Result, threads int) {
	inChunks(len(of), threadsFor(len(of), threads), func(_, begin, end int) {
		of, labels, core := of[begin:end], r.Labels[begin:end], r.Core[begin:end]
		for i, c := range of {
			v := list[c]
			labels[i] = v >> 1
			core[i] = v&1 != 0
		}
	})
}
