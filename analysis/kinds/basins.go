package kinds

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
)

// How basins are distinguished: kinds.md, step 3.
const (
	valleyDepth  = .5  // of the lower peak
	valleySure   = 5.  // standard deviations of the difference
	peakDistance = .05 // at least
	leastPeak    = 25
	peakShare    = 1000 // the reciprocal of the share of the bursts that a peak has at least
)

// A Basin is bursts of one stratum round a peak of density.
type Basin struct {
	Group, Stratum int32
	Bursts         int64
	Alone          bool    // the stratum has no other
	Eps            float64 // at which it was separated from the others; 0 if Alone
	Valley         float64 // the density at the pass to the next basin as a share of its peak's; 0 if they do not meet
	From, To       []int32 // cells that it lies in, along each dimension; To is behind the last
}

// A seeker seeks the basins of one stratum.
type seeker struct {
	scales  []float64
	tiny    int64 // bursts that a basin which meets no other has at least
	least   int64 // bursts of a peak at a valley
	basins  []Basin
	basinOf []int32 // by cell of the stratum
	cells   *Cells
}

// seek finds the basins of a stratum.
func seek(s *Cells, scales []float64, least func(bursts int64) int64) *seeker {
	total := int64(0)
	for _, n := range s.Counts {
		total += n
	}
	tiny := least(total)
	x := &seeker{
		scales: scales, tiny: tiny, least: max(leastPeak, tiny, total/peakShare), cells: s, basinOf: make([]int32, s.len()),
	}
	all := make([]int32, s.len())
	for i := range all {
		all[i] = int32(i)
	}
	x.part(all, 0, Basin{Alone: true})
	return x
}

// part cuts some cells, ascending, into basins at the first Eps that does, and these in turn.
func (x *seeker) part(at []int32, scale int, whole Basin) {
	for ; scale < len(x.scales); scale++ {
		parts := x.hills(at, x.scales[scale])
		if len(parts) < 2 {
			continue
		}
		for _, p := range parts {
			x.part(p.at, scale+1, Basin{Eps: x.scales[scale], Valley: p.valley})
		}
		return
	}
	for k, i := range at {
		whole.Bursts += x.cells.Counts[i]
		x.basinOf[i] = int32(len(x.basins))
		key := x.cells.key(int(i))
		if k == 0 {
			whole.From, whole.To = slices.Clone(key), slices.Clone(key)
		}
		for d, v := range key {
			whole.From[d], whole.To[d] = min(whole.From[d], v), max(whole.To[d], v+1)
		}
	}
	x.basins = append(x.basins, whole)
}

// A hill is cells that are of one peak.
type hill struct {
	at     []int32
	valley float64
}

// hills finds the hills of density among some cells. In several dimensions these are taken together in cells of a
// quarter of Eps.
func (x *seeker) hills(at []int32, eps float64) []hill {
	f := x.field(at, eps)
	f.flood(eps, x.tiny, x.least)
	if len(f.roots) < 2 {
		return nil
	}
	parts := make([]hill, len(f.roots))
	for k, r := range f.roots {
		parts[k].valley = f.valley[r]
	}
	place := make(map[int32]int)
	for k, r := range f.roots {
		place[r] = k
	}
	for k, i := range at {
		p := &parts[place[f.of[f.cellOf[k]]]]
		p.at = append(p.at, i)
	}
	slices.SortFunc(parts, func(a, b hill) int { return cmp.Compare(a.at[0], b.at[0]) })
	return parts
}

// A field is cells with their density at one Eps.
type field struct {
	dims    int
	places  []float64 // of the cells' centers, dims each, ascending
	count   []int64
	density []int64 // bursts within Eps
	cellOf  []int32 // by cell that was given: index of the cell here
	near    func(i int, do func(j int32))
	of      []int32 // by cell: its hill's peak
	valley  []float64
	roots   []int32
}

func (x *seeker) field(at []int32, eps float64) *field {
	f := &field{dims: x.cells.Dims, cellOf: make([]int32, len(at))}
	if f.dims == 1 {
		for k, i := range at {
			f.cellOf[k] = int32(k)
			f.places = append(f.places, (float64(x.cells.Keys[i])+.5)*x.cells.Side)
			f.count = append(f.count, x.cells.Counts[i])
		}
		f.line(int32(eps/x.cells.Side+1e-9), func(k int) int32 { return x.cells.Keys[at[k]] })
		return f
	}
	side := eps / 4
	coarse := newCounter(f.dims)
	key := make([]int64, f.dims)
	for k, i := range at {
		for j, v := range x.cells.key(int(i)) {
			key[j] = int64(math.Floor((float64(v) + .5) * x.cells.Side / side))
		}
		row := coarse.row(key...)
		coarse.counts[row] += x.cells.Counts[i]
		f.cellOf[k] = row
	}
	t := coarse.table()
	rank := make([]int32, t.Len()) // coarse numbers rows by first use, t by key
	for i := range rank {
		rank[coarse.row(t.Key(i)...)] = int32(i)
	}
	for k, row := range f.cellOf {
		f.cellOf[k] = rank[row]
	}
	f.count = t.Counts
	for _, v := range t.Keys {
		f.places = append(f.places, (float64(v)+.5)*side)
	}
	f.grid(&t, 16+1e-6)
	return f
}

// line finds what lies within so many cells in one dimension.
func (f *field) line(reach int32, keyOf func(k int) int32) {
	n := len(f.count)
	from, to := make([]int32, n), make([]int32, n)
	sums := make([]int64, n+1)
	for i, c := range f.count {
		sums[i+1] = sums[i] + c
	}
	a, b := 0, 0
	for i := range n {
		for int64(keyOf(a)) < int64(keyOf(i))-int64(reach) {
			a++
		}
		for b < n && int64(keyOf(b)) <= int64(keyOf(i))+int64(reach) {
			b++
		}
		from[i], to[i] = int32(a), int32(b)
		f.density = append(f.density, sums[b]-sums[a])
	}
	f.near = func(i int, do func(j int32)) {
		// Of what is done already the nearest on either side suffice: what is farther is of their hills, or parted from them.
		for j := int32(i) - 1; j >= from[i]; j-- {
			if f.of[j] >= 0 {
				do(j)
				break
			}
		}
		for j := int32(i) + 1; j < to[i]; j++ {
			if f.of[j] >= 0 {
				do(j)
				break
			}
		}
	}
}

// grid finds what lies within a square of a distance, in cells, in several dimensions.
func (f *field) grid(t *Table, square float64) {
	var visit func(from, to, dim int, key []int64, left float64, do func(j int32))
	visit = func(from, to, dim int, key []int64, left float64, do func(j int32)) {
		reach := int64(math.Sqrt(left))
		word := func(i int) int64 { return t.Keys[i*t.Width+dim] }
		from += searchIn(to-from, func(i int) bool { return word(from+i) >= key[dim]-reach })
		for from < to && word(from) <= key[dim]+reach {
			at := word(from)
			end := from + searchIn(to-from, func(i int) bool { return word(from+i) > at })
			d := float64(at - key[dim])
			if rest := left - d*d; rest >= 0 {
				if dim == t.Width-1 {
					do(int32(from))
				} else {
					visit(from, end, dim+1, key, rest, do)
				}
			}
			from = end
		}
	}
	all := func(i int, do func(j int32)) { visit(0, t.Len(), 0, t.Key(i), square, do) }
	for i := range f.count {
		sum := int64(0)
		all(i, func(j int32) { sum += f.count[j] })
		f.density = append(f.density, sum)
	}
	f.near = func(i int, do func(j int32)) {
		all(i, func(j int32) {
			if f.of[j] >= 0 {
				do(j)
			}
		})
	}
}

// searchIn is the least of n for which a growing condition holds; mostly one of the first.
func searchIn(n int, holds func(i int) bool) int {
	step := 1
	lo := 0
	for lo+step <= n && !holds(lo+step-1) {
		lo += step
		step *= 2
	}
	hi := min(n, lo+step-1)
	for lo < hi {
		mid := (lo + hi) / 2
		if holds(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// flood takes cells by falling density and gives each the hill of its densest neighbour. Where two hills meet they
// become one, unless the valley is deep.
func (f *field) flood(eps float64, tiny, least int64) {
	n := len(f.count)
	order := make([]int32, n)
	f.of, f.valley = make([]int32, n), make([]float64, n)
	parent := make([]int32, n)
	for i := range order {
		order[i], f.of[i] = int32(i), -1
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(f.density[b], f.density[a]) })
	find := func(r int32) int32 {
		for parent[r] != r {
			parent[r] = parent[parent[r]]
			r = parent[r]
		}
		return r
	}
	type met struct{ root, by int32 }
	var around []met
	for _, i := range order {
		around = around[:0]
		best := int32(-1)
		f.near(int(i), func(j int32) {
			if best < 0 || f.density[j] > f.density[best] || f.density[j] == f.density[best] && j < best {
				best = j
			}
			root := find(f.of[j])
			if !slices.ContainsFunc(around, func(m met) bool { return m.root == root }) {
				around = append(around, met{root, j})
			}
		})
		if best < 0 {
			f.of[i], parent[i] = i, i
			continue
		}
		slices.SortFunc(around, func(a, b met) int {
			return cmp.Or(cmp.Compare(f.density[b.root], f.density[a.root]), cmp.Compare(a.root, b.root))
		})
		top := around[0].root
		for _, m := range around[1:] {
			peak, pass := float64(f.density[m.root]), float64(f.density[i])
			if f.density[m.root] >= least && pass <= valleyDepth*peak && peak-pass >= valleySure*math.Sqrt(peak+pass) &&
				f.distance(m.root, top) >= max(peakDistance, 2*eps*(1-1e-3)) {
				f.valley[m.root] = max(f.valley[m.root], pass/peak)
				f.valley[top] = max(f.valley[top], pass/float64(f.density[top]))
				continue
			}
			parent[m.root] = top
		}
		f.of[i] = find(f.of[best])
	}
	for i := range f.of {
		f.of[i] = find(f.of[i])
	}
	f.keep(tiny)
}

func (f *field) distance(a, b int32) float64 {
	sum := 0.
	for j := range f.dims {
		d := f.places[int(a)*f.dims+j] - f.places[int(b)*f.dims+j]
		sum += d * d
	}
	return math.Sqrt(sum)
}

// keep finds the hills that are large enough, and gives the cells of others the hill of the nearest cell of one of
// these.
func (f *field) keep(tiny int64) {
	var roots []int32
	for i, r := range f.of {
		if int32(i) == r {
			roots = append(roots, r)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(roots), func(r int32) bool { return f.density[r] < tiny })
	if len(kept) == 0 && len(roots) > 0 {
		kept = []int32{slices.MaxFunc(roots, func(a, b int32) int { return cmp.Or(cmp.Compare(f.density[a], f.density[b]), cmp.Compare(b, a)) })}
	}
	f.roots = kept
	if len(kept) == len(roots) || len(kept) < 2 {
		return
	}
	isKept := make([]bool, len(f.of))
	for _, r := range kept {
		isKept[r] = true
	}
	var whole []int32
	for i, r := range f.of {
		if isKept[r] {
			whole = append(whole, int32(i))
		}
	}
	tree := newNearTree(f, whole)
	for i, r := range f.of {
		if !isKept[r] {
			f.of[i] = f.of[tree.nearest(int32(i))]
		}
	}
}

// basins finds those of all strata, the cells of each, and of each burst here the number of its basin.
func (l *local) basins(c *executor, strata int, scales []float64, tiny func(bursts int64) int64) (basins []Basin, in []Cells, of []int32) {
	list := l.strataCells(c, strata)
	found := make([]*seeker, strata)
	sizes := make([]int, strata)
	for i := range list {
		sizes[i] = list[i].len()
	}
	workers.Every(sizes, c.workers, func(i int) { found[i] = seek(&list[i], scales, tiny) })
	group := l.groupsOf(c, l.stratum, strata)
	lines, spots := make([]byCell, strata), newCounter(1+l.Dims)
	var basinOf []int32 // by spot, in several dimensions
	var key []int64
	for stratum, x := range found {
		first := int32(len(basins))
		for _, b := range x.basins {
			b.Stratum, b.Group = int32(stratum), group[stratum]
			basins, in = append(basins, b), append(in, Cells{Dims: l.Dims, Side: l.Side})
		}
		numbers := make([]int32, len(x.basinOf))
		for i, of := range x.basinOf {
			numbers[i] = first + of
			in[first+of].add(x.cells.key(i), x.cells.Counts[i])
		}
		if l.Dims == 1 {
			lines[stratum] = newByCell(x.cells.Keys, numbers)
			continue
		}
		for i := range numbers {
			key = spotOf(key[:0], int32(stratum), x.cells.key(i))
			spots.row(key...)
		}
		basinOf = append(basinOf, numbers...)
	}
	of = make([]int32, l.n)
	workers.Chunks(l.n, c.workers, func(_, from, to int) {
		if l.Dims == 1 {
			for i := from; i < to; i++ {
				of[i] = lines[l.stratum[i]].at(l.Cell[i])
			}
			return
		}
		var key []int64
		for i := from; i < to; i++ {
			key = spotOf(key[:0], l.stratum[i], l.Cell[i*l.Dims:(i+1)*l.Dims])
			of[i] = basinOf[spots.row(key...)]
		}
	})
	return basins, in, of
}
