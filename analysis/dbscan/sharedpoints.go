package dbscan

import (
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// What an owner wants of the points of a cell: some number of them, or:
const (
	allPoints = 255
	theLeast  = 254 // the smallest in the order of coordinates
)

// Fetched points were received from the members that hold them.
type fetched struct {
	cells  [][]int32   // per member: cells of the grid
	counts [][]int32   // per member: how many points were received for each of them
	coords [][]float64 // per member: of these
	sent   [][]int32   // per owner: rows of the points that this member itself has sent, of cells that all were wanted of
}

// check reports an error if not as much was received as was announced.
func (f *fetched) check(dims int) error {
	for m, counts := range f.counts {
		sum := 0
		for _, n := range counts {
			sum += int(n) * dims
		}
		if len(counts) != len(f.cells[m]) || len(f.coords[m]) != sum {
			return misfit(m, len(f.coords[m]), sum)
		}
	}
	return nil
}

// each calls f with the coordinates of a cell's points from one member, cell by cell.
func (f *fetched) each(dims int, take func(m, c int32, coords []float64)) {
	for m, list := range f.cells {
		coords := f.coords[m]
		for j, c := range list {
			n := int(f.counts[m][j]) * dims
			take(int32(m), c, coords[:n])
			coords = coords[n:]
		}
	}
}

// fetch has members send points to the owners of their cells. want says what is wanted of what member m has in the j-th
// of its cells here, 0 being nothing; where boxes are asked for, also in which box.
func (s *sharedGrid) fetch(boxed bool, want func(m, j int) (uint8, *reachBox)) (*fetched, error) {
	questions, boxes := make([][]int64, s.Size()), make([][]float64, s.Size()) // j and the kind
	f := &fetched{cells: make([][]int32, s.Size())}
	for m, list := range s.home.in {
		for j, c := range list {
			kind, box := want(m, j)
			if kind == 0 {
				continue
			}
			f.cells[m] = append(f.cells[m], c)
			questions[m] = append(questions[m], int64(j)<<8|int64(kind))
			if boxed {
				boxes[m] = append(append(boxes[m], box.lo[:s.dims]...), box.hi[:s.dims]...)
			}
		}
	}
	questions, err := team.Exchange(s, questions)
	if err != nil {
		return nil, err
	}
	if boxed {
		if boxes, err = team.Exchange(s, boxes); err != nil {
			return nil, err
		}
	}
	counts, coords := s.supplyFor(f, questions, boxes)
	if f.counts, err = team.Exchange(s, counts); err != nil {
		return nil, err
	}
	if f.coords, err = team.Exchange(s, coords); err != nil {
		return nil, err
	}
	return f, f.check(s.dims)
}

// supplyFor copies the points of own cells that the owners of these have asked for.
func (s *sharedGrid) supplyFor(f *fetched, questions [][]int64, boxes [][]float64) (counts [][]int32, coords [][]float64) {
	wanted := make([]uint8, len(s.local.keys))
	number := make([]int32, len(s.local.keys)) // of what is wanted, in the order of the questions
	var box []reachBox
	first := []int32{0} // per owner
	for m, list := range questions {
		for i, q := range list {
			c := s.home.out[m][q>>8]
			wanted[c], number[c] = uint8(q), first[m]+int32(i)
			if len(boxes[m]) > 0 {
				box = append(box, s.boxOf(boxes[m], i))
			}
		}
		first = append(first, first[m]+int32(len(list)))
	}
	g := gathered{first: make([]int32, first[len(questions)]+1)}
	g.fill(s.mine, s.choose(wanted, number, box))
	for m, list := range questions {
		begin, end := first[m], first[m+1]
		n := make([]int32, end-begin)
		var rows []int32
		for i := range n {
			k := begin + int32(i)
			n[i] = int32(g.len(k))
			if uint8(list[i]) == allPoints {
				rows = append(rows, g.rows[g.first[k]:g.first[k+1]]...)
			}
		}
		counts, f.sent = append(counts, n), append(f.sent, rows)
		coords = append(coords, g.coords[int(g.first[begin])*s.dims:int(g.first[end])*s.dims])
	}
	return counts, coords
}

// choose picks what is wanted of the points.
func (s *sharedGrid) choose(wanted []uint8, number []int32, box []reachBox) [][]pick {
	threads, d := s.local.threads, s.dims
	picks := make([][]pick, threads)
	least := make([]map[int32]int32, threads) // per thread: the smallest points by number
	workers.Chunks(len(s.local.ids), threads, func(t, begin, end int) {
		left := slices.Clone(wanted)
		for c, kind := range left {
			if kind < theLeast { // each thread some
				left[c] = uint8((int(kind) + threads - 1) / threads)
			}
		}
		smallest := make(map[int32]int32)
		var mine []pick
		var v sieve
		at := func(row int32) []float64 { return s.mine.Coords[int(row)*d:][:d] }
		for ; begin < end; begin += len(v) {
			cells := s.local.ids[begin:min(begin+len(v), end)]
			for _, i := range v.keep(cells, left) {
				c, row := cells[i], int32(begin)+i
				k := number[c]
				switch left[c] {
				case 0:
				case allPoints:
					if box == nil || s.frame.inside(&box[k], at(row)) {
						mine = append(mine, pick{k, row})
					}
				case theLeast:
					if other, ok := smallest[k]; !ok || slices.Compare(at(row), at(other)) < 0 {
						smallest[k] = row
					}
				default:
					left[c]--
					mine = append(mine, pick{k, row})
				}
			}
		}
		picks[t], least[t] = mine, smallest
	})
	smallest := least[0]
	for _, more := range least[1:] {
		for k, row := range more {
			if other, ok := smallest[k]; !ok || slices.Compare(s.mine.Coords[int(row)*d:][:d], s.mine.Coords[int(other)*d:][:d]) < 0 {
				smallest[k] = row
			}
		}
	}
	for k, row := range smallest {
		picks[0] = append(picks[0], pick{k, row})
	}
	return picks
}

// fetchOpen is grid.gatherOpen.
func (s *sharedGrid) fetchOpen() error {
	fulls := []int64{0}
	most := make([]int32, len(s.keys)) // per cell: the most points that one member has in it
	giver := make([]int32, len(s.keys))
	for m, list := range s.home.in {
		for j, c := range list {
			if n := s.here[m][j]; n > most[c] {
				most[c], giver[c] = n, int32(m)
			}
		}
	}
	for c, full := range s.full {
		if full && !s.others[c] {
			fulls[0]++
		}
	}
	if err := s.AllReduce(fulls, team.Sum); err != nil {
		return err
	}
	samples := uint8(samplesPerCell(int(s.n), int(fulls[0]), s.minPts))
	got, err := s.fetch(false, func(m, j int) (uint8, *reachBox) {
		switch c := s.home.in[m][j]; {
		case s.wanted(c):
			return allPoints, nil
		case s.full[c] && giver[c] == int32(m):
			return samples, nil
		}
		return 0, nil
	})
	if err != nil {
		return err
	}
	s.sent = got.sent
	count := make([]int32, len(s.keys))
	for m, list := range got.cells {
		for j, c := range list {
			count[c] += got.counts[m][j]
		}
	}
	if err := along(s, s.halo, func(c int32) int32 { return count[c] }, func(c int32, n int32) { count[c] = n }); err != nil {
		return err
	}
	s.open.first, s.samples.first = make([]int32, 1, len(s.keys)-len(s.fulls)+1), make([]int32, 1, len(s.fulls)+1)
	for c, n := range count {
		to := &s.open.first
		if s.full[c] {
			to = &s.samples.first
		}
		*to = append(*to, (*to)[len(*to)-1]+n)
	}
	s.open.allocate(s.dims)
	s.samples.allocate(s.dims)
	s.state = make([]pointState, len(s.open.rows))

	next := make([]int32, len(s.keys)) // points that a cell has already
	s.replies = make([][]int32, s.Size())
	var labels int32
	got.each(s.dims, func(m, c int32, coords []float64) {
		into, first := s.room(c)
		first += next[c]
		copy(into.coords[int(first)*s.dims:], coords)
		n := int32(len(coords) / s.dims)
		next[c] += n
		if s.full[c] {
			return
		}
		for i := range n {
			into.rows[first+i] = labels
			s.replies[m] = append(s.replies[m], labels)
			labels++
		}
	})
	parts := make([][]float64, s.Size())
	for m, list := range s.halo.out {
		for _, c := range list {
			into, first := s.room(c)
			parts[m] = append(parts[m], into.coords[int(first)*s.dims:int(first+count[c])*s.dims]...)
		}
	}
	theirs, err := team.Exchange(s, parts)
	if err != nil {
		return err
	}
	for m, list := range s.halo.in {
		for _, c := range list {
			into, first := s.room(c)
			to := into.coords[int(first)*s.dims : int(first+count[c])*s.dims]
			if len(theirs[m]) < len(to) {
				return misfit(m, len(theirs[m]), len(to))
			}
			theirs[m] = theirs[m][copy(to, theirs[m]):]
		}
	}
	return nil
}

// room is where the points of an open cell, or the samples of a full one, are.
func (s *sharedGrid) room(c int32) (in *gathered, first int32) {
	if s.full[c] {
		return &s.samples, s.samples.first[s.fullIndex(c)]
	}
	return &s.open, s.open.first[s.opens[c]]
}

// fetchShut is grid.gatherShut: the owners get what they and the others ask for from the sources, and pass it on.
func (s *sharedGrid) fetchShut() error {
	cells, boxes := make([][]int32, s.Size()), make([][]float64, s.Size())
	r := &s.requests
	for m, list := range s.halo.in {
		for j, c := range list {
			if !s.full[c] || !r.asked[s.fullIndex(c)] {
				continue
			}
			b := &r.boxes[s.fullIndex(c)]
			cells[m] = append(cells[m], int32(j))
			boxes[m] = append(append(boxes[m], b.lo[:s.dims]...), b.hi[:s.dims]...)
		}
	}
	askedCells, err := team.Exchange(s, cells)
	if err != nil {
		return err
	}
	askedBoxes, err := team.Exchange(s, boxes)
	if err != nil {
		return err
	}
	for m, list := range askedCells {
		for i, j := range list {
			b := s.boxOf(askedBoxes[m], i)
			r.widen(s.fullIndex(s.halo.out[m][j]), &b, s.dims)
		}
	}
	got, err := s.fetch(true, func(m, j int) (uint8, *reachBox) {
		c := s.home.in[m][j]
		if !s.full[c] || !r.asked[s.fullIndex(c)] {
			return 0, nil
		}
		return allPoints, &r.boxes[s.fullIndex(c)]
	})
	if err != nil {
		return err
	}
	points := make([][]float64, len(s.fulls))
	got.each(s.dims, func(_, c int32, coords []float64) {
		k := s.fullIndex(c)
		points[k] = append(points[k], coords...)
	})
	counts, coords := make([][]int32, s.Size()), make([][]float64, s.Size())
	for m, list := range askedCells {
		for i, j := range list {
			b := s.boxOf(askedBoxes[m], i)
			before := len(coords[m])
			for p := points[s.fullIndex(s.halo.out[m][j])]; len(p) > 0; p = p[s.dims:] {
				if s.inside(&b, p[:s.dims]) {
					coords[m] = append(coords[m], p[:s.dims]...)
				}
			}
			counts[m] = append(counts[m], int32((len(coords[m])-before)/s.dims))
		}
	}
	passed := &fetched{cells: make([][]int32, s.Size())}
	for m, list := range cells {
		for _, j := range list {
			passed.cells[m] = append(passed.cells[m], s.halo.in[m][j])
		}
	}
	if passed.counts, err = team.Exchange(s, counts); err != nil {
		return err
	}
	if passed.coords, err = team.Exchange(s, coords); err != nil {
		return err
	}
	if err := passed.check(s.dims); err != nil {
		return err
	}
	passed.each(s.dims, func(_, c int32, coords []float64) { points[s.fullIndex(c)] = coords })
	s.shut.first = make([]int32, 1, len(s.fulls)+1)
	for _, p := range points {
		s.shut.coords = append(s.shut.coords, p...)
		s.shut.first = append(s.shut.first, int32(len(s.shut.coords)/s.dims))
	}
	s.shut.trees = make([]lazyTree, len(s.fulls))
	return nil
}

// boxOf is one of some boxes.
func (s *sharedGrid) boxOf(boxes []float64, i int) (b reachBox) {
	at := boxes[i*2*s.dims:]
	copy(b.lo[:], at[:s.dims])
	copy(b.hi[:], at[s.dims:2*s.dims])
	return b
}
