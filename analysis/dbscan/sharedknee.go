package dbscan

import (
	"fmt"
	"math"
	"slices"

	"moriens/internal/team"
)

const (
	// queriesAtATime is how many questions members answer together.
	queriesAtATime = 1 << 11
	// listed is how many distances are listed, rather than bounded more narrowly, to find one of them.
	listed = 512
	// nearFew is up to how many nearest points are listed at once.
	nearFew = 64
)

// wholeCurve is the curve where all members get it.
func (x *Shared) wholeCurve(k, queries int) ([]float64, error) {
	if k < 1 {
		return nil, fmt.Errorf("dbscan: neighbour %d: want at least 1", k)
	}
	switch {
	case x.index != nil:
		x.team.stage("alone")
		return x.index.KDistance(k, queries)
	case int64(k) >= x.n:
		return nil, nil
	}
	x.team.stage("k-distance")
	queries = queriesAmong(x.n, queries)
	var mine []float64
	for begin := 0; begin < queries; begin += queriesAtATime {
		found, err := x.ask(k, queries, begin, min(begin+queriesAtATime, queries))
		if err != nil {
			return nil, err
		}
		mine = append(mine, found...)
	}
	all, err := team.Gather(x.team, mine)
	if err != nil {
		return nil, err
	}
	curve := slices.Concat(all...)
	sortRows(curve, nil, x.threads)
	slices.Reverse(curve)
	return curve, nil
}

// asked are points whose k-th nearest, themselves counted, is sought by all members at once.
type asked struct {
	*meter
	tree    *tree // of this member's points; nil if it has none
	all     int64 // points of all members
	k       int64
	threads int
	points  [][]float64
	open    []int // those of which more is to be found out
	// Squared distances between which the answer is, the first excluded, and how many points of this member are up to
	// each.
	above, upTo   []float64
	before, until []int64
	answer        []float64 // squared; only of those not left open
}

// ask asks some of the queries, and returns the answers that this member has come to know, some of them.
func (x *Shared) ask(k, queries, begin, end int) ([]float64, error) {
	points, err := x.gatherAsked(queries, begin, end)
	if err != nil {
		return nil, err
	}
	var longest float64
	for j := range x.lo {
		longest = max(longest, x.hi[j]-x.lo[j])
	}
	scale := scaleFor(min(longest, math.MaxFloat64), lookScale)
	n := len(points)
	a := &asked{
		meter: x.team, all: x.n, k: int64(k) + 1, threads: x.threads, points: points,
		above: slices.Repeat([]float64{-1}, n), upTo: slices.Repeat([]float64{math.Inf(1)}, n),
		before: make([]int64, n), until: make([]int64, n), answer: make([]float64, n),
	}
	if x.points.Len() > 0 {
		a.tree = x.tree().scaled(scale)
	}
	for i := range points {
		a.open = append(a.open, i)
	}
	if a.k > nearFew {
		if err := a.narrow(); err != nil {
			return nil, err
		}
	}
	if err := a.list(); err != nil {
		return nil, err
	}
	var mine []float64
	for i := x.team.Rank(); i < n; i += x.team.Size() {
		mine = append(mine, math.Sqrt(a.answer[i])/scale)
	}
	return mine, nil
}

// gatherAsked gathers the points that some queries are about.
func (x *Shared) gatherAsked(queries, begin, end int) ([][]float64, error) {
	d := x.points.Dims
	var which []int32
	var coords []float64
	for i := begin; i < end; i++ {
		row := queryRow(x.n, queries, i)
		at, found := int(row-x.first), row >= x.first && row < x.first+int64(x.points.Len())
		if x.rows != nil {
			at, found = slices.BinarySearch(x.rows, row)
		}
		if found {
			which, coords = append(which, int32(i-begin)), append(coords, x.points.Coords[at*d:(at+1)*d]...)
		}
	}
	allWhich, err := team.Gather(x.team, which)
	if err != nil {
		return nil, err
	}
	allCoords, err := team.Gather(x.team, coords)
	if err != nil {
		return nil, err
	}
	points := make([][]float64, end-begin)
	for m, list := range allWhich {
		for j, i := range list {
			points[i] = allCoords[m][j*d : (j+1)*d]
		}
	}
	return points, nil
}

// each calls f for the open ones, from several threads at once.
func (a *asked) each(f func(r *ranking, i int)) {
	inBatches(len(a.open), fewAtATime, a.threads, func(next func() (int, int, bool)) {
		r := ranking{tree: a.tree}
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for _, i := range a.open[begin:end] {
				f(&r, i)
			}
		}
	})
}

// size is how many points this member has.
func (a *asked) size() int64 {
	if a.tree == nil {
		return 0
	}
	return int64(len(a.tree.rows))
}

// count counts this member's points that are no farther, by their squared distance.
func (a *asked) count(i int, distance2 float64) int64 {
	if a.tree == nil || distance2 < 0 {
		return 0
	}
	return int64(a.tree.count(0, a.points[i], distance2, math.MaxInt))
}

// narrow bounds answers until few enough distances are in question. It is the search for a rank among several ordered
// lists by weighted medians (Frederickson and Johnson, JCSS 24, 1982): each round leaves three quarters of them at
// most.
func (a *asked) narrow() error {
	// Of all points those of this member are a part; of the k nearest they would be the same part if all were alike.
	// If every member has its part within some distance, so have all together the k nearest.
	part := int64(math.Ceil(float64(a.k) * (float64(a.size()) / float64(a.all))))
	part = min(part, a.size())
	mine := make([]float64, len(a.points))
	a.each(func(r *ranking, i int) {
		if part > 0 {
			mine[i] = r.neighbour2(a.points[i], part)
		}
	})
	parts, err := team.Gather(a, []int64{part})
	if err != nil {
		return err
	}
	theirs, err := team.Gather(a, mine)
	if err != nil {
		return err
	}
	var sum, fewer int64
	for _, p := range parts {
		sum += p[0]
		fewer += max(p[0]-1, 0)
	}
	for _, i := range a.open {
		least, most := math.Inf(1), 0.
		for m, p := range parts {
			if p[0] > 0 {
				least, most = min(least, theirs[m][i]), max(most, theirs[m][i])
			}
		}
		if sum >= a.k {
			a.upTo[i] = most
		}
		if fewer < a.k {
			a.above[i] = below(least)
		}
	}
	a.each(func(_ *ranking, i int) { a.before[i], a.until[i] = a.count(i, a.above[i]), a.count(i, a.upTo[i]) })
	all := a.open
	for {
		if err := a.keepMany(); err != nil || len(a.open) == 0 {
			a.open = slices.DeleteFunc(all, func(i int) bool { return a.above[i] == a.upTo[i] })
			return err
		}
		if err := a.halve(); err != nil {
			return err
		}
	}
}

// below is the next number below one ≥ 0; below 0 it does not matter.
func below(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }

// keepMany keeps those open for which more distances are in question than are to be listed.
func (a *asked) keepMany() error {
	sums := make([]int64, len(a.open))
	for j, i := range a.open {
		sums[j] = a.until[i] - a.before[i]
	}
	if err := a.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	var many []int
	for j, i := range a.open {
		if sums[j] > listed && a.above[i] != a.upTo[i] {
			many = append(many, i)
		}
	}
	a.open = many
	return nil
}

// halve takes the median of what each member has in question, and finds out on which side of their median the answer
// is.
func (a *asked) halve() error {
	at := make(map[int]int, len(a.open))
	for j, i := range a.open {
		at[i] = j
	}
	medians, weights := make([]float64, len(a.open)), make([]int64, len(a.open))
	a.each(func(r *ranking, i int) {
		if n := a.until[i] - a.before[i]; n > 0 {
			weights[at[i]] = n
			medians[at[i]] = r.neighbour2(a.points[i], a.before[i]+(n+1)/2)
		}
	})
	allMedians, err := team.Gather(a, medians)
	if err != nil {
		return err
	}
	allWeights, err := team.Gather(a, weights)
	if err != nil {
		return err
	}
	pivots := make([]float64, len(a.open))
	var list []weighed
	for j := range pivots {
		list = list[:0]
		var sum int64
		for m := range allMedians {
			if w := allWeights[m][j]; w > 0 {
				list = append(list, weighed{allMedians[m][j], w})
				sum += w
			}
		}
		pivots[j] = selectLeast(list, (sum+1)/2)
	}
	counts := make([]int64, 2*len(a.open)) // nearer than the pivot, and no farther
	a.each(func(_ *ranking, i int) {
		j := at[i]
		counts[2*j], counts[2*j+1] = a.count(i, below(pivots[j])), a.count(i, pivots[j])
	})
	own := slices.Clone(counts)
	if err := a.AllReduce(counts, team.Sum); err != nil {
		return err
	}
	for j, i := range a.open {
		switch v := pivots[j]; {
		case a.k <= counts[2*j]:
			a.upTo[i], a.until[i] = below(v), own[2*j]
		case a.k > counts[2*j+1]:
			a.above[i], a.before[i] = v, own[2*j+1]
		default:
			a.above[i], a.upTo[i], a.answer[i] = v, v, v
		}
	}
	return nil
}

// list finds the answers that are left. A member gets those of every so many-th, by its rank.
func (a *asked) list() error {
	few := make([][]float64, len(a.points))
	a.each(func(_ *ranking, i int) {
		if a.tree == nil {
			return
		}
		if a.k <= nearFew {
			s := nearest{tree: a.tree, p: a.points[i], k: int(min(a.k, a.size()))}
			s.search(0)
			few[i] = s.best
		} else {
			few[i] = a.tree.between(nil, 0, a.points[i], a.above[i], a.upTo[i])
		}
	})
	counts, distances := make([][]int64, a.Size()), make([][]float64, a.Size()) // per query: how many are listed, and nearer
	for _, i := range a.open {
		m := i % a.Size()
		counts[m] = append(counts[m], int64(len(few[i])), a.before[i])
		distances[m] = append(distances[m], few[i]...)
	}
	gotCounts, err := team.Exchange(a, counts)
	if err != nil {
		return err
	}
	gotDistances, err := team.Exchange(a, distances)
	if err != nil {
		return err
	}
	j := 0
	var list []weighed
	for _, i := range a.open {
		if i%a.Size() != a.Rank() {
			continue
		}
		list = list[:0]
		k := a.k
		for m, counts := range gotCounts {
			if len(counts) < 2*j+2 || int64(len(gotDistances[m])) < counts[2*j] {
				return misfit(m, len(counts), 2*j+2)
			}
			for _, v := range gotDistances[m][:counts[2*j]] {
				list = append(list, weighed{v, 1})
			}
			gotDistances[m] = gotDistances[m][counts[2*j]:]
			k -= counts[2*j+1]
		}
		if k < 1 || k > int64(len(list)) {
			return fmt.Errorf("dbscan: the %d-th of %d distances is sought", k, len(list))
		}
		a.answer[i] = selectLeast(list, k)
		j++
	}
	return nil
}

// between appends the squared distances above one and up to another of the points of a node.
func (t *tree) between(dst []float64, nd int32, p []float64, above, upTo float64) []float64 {
	x := &t.nodes[nd]
	least, most := t.nodeDistances2(p, nd)
	switch {
	case least > upTo || most <= above:
		return dst
	case x.right != 0:
		return t.between(t.between(dst, nd+1, p, above, upTo), x.right, p, above, upTo)
	}
	for i := x.begin; i < x.end; i++ {
		if v := t.distance2(p, t.point(i)); v > above && v <= upTo {
			dst = append(dst, v)
		}
	}
	return dst
}
