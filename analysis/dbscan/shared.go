package dbscan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"moriens/internal/team"
)

// A Shared answers questions about points of which each member of a team has a share, as an Index of all of them would:
// which member has which points changes no answer. Where the team has one member it is an Index.
//
// Points stay where they are, but for those that a question is about (see sharedGrid and sharedTree); few points are
// given to all. Beyond its own points a member needs memory for what it receives: cells near its own, their open
// points, and the smallest point of each cluster.
//
// All methods but Costs are collective (see team.Team): every member calls them, with the same arguments.
type Shared struct {
	points  Points
	rows    []int64 // of each among all; nil = one after the other from first on
	first   int64
	threads int
	team    *meter
	n       int64     // points of all members
	lo, hi  []float64 // corners of the box of all points
	tree    func() *tree
	index   *Index  // of all points, in the order of their rows: of a team of one, or of few points
	here    []int32 // if they are few: which of them are this member's
}

// gatheredPoints is how many points are so few that all members get them: finding out who needs which would cost more.
var gatheredPoints int64 = 1 << 13

// NewShared takes a member's own points, which may be none, but of as many dimensions as the others'. The rows of the
// members follow each other in the order of their ranks.
//
// Errors are as for NewIndex, the same at all members, but for a member whose points have no shape: the others get
// team.ErrElsewhere. The row of a *NotFiniteError counts the points of all members. p.Coords is kept and must not
// change.
func NewShared(t team.Team, p Points, threads int) (*Shared, error) {
	return newShared(t, p, nil, checkShape(p), threads)
}

// NewSharedRows is NewShared for points that come in another order: rows, ascending, says for each point of this member
// which one of all members' it is. Together they are 0 … n-1. Curve asks about the same points as an Index of them in
// that order.
func NewSharedRows(t team.Team, p Points, rows []int64, threads int) (*Shared, error) {
	err := checkShape(p)
	if err == nil && len(rows) != p.Len() {
		err = fmt.Errorf("dbscan: %d rows for %d points", len(rows), p.Len())
	}
	for i, row := range rows {
		if err == nil && (row < 0 || i > 0 && row <= rows[i-1]) {
			err = fmt.Errorf("dbscan: point %d is row %d: want ascending rows from 0 on", i, row)
		}
	}
	if rows == nil {
		rows = []int64{}
	}
	return newShared(t, p, rows, err, threads)
}

// newShared is given what is wrong with the points.
func newShared(t team.Team, p Points, rows []int64, err error, threads int) (*Shared, error) {
	x := &Shared{points: p, rows: rows, threads: max(1, threads), team: &meter{Team: t, now: -1}}
	if t.Size() == 1 {
		if err == nil {
			x.index, err = NewIndex(p, threads)
		}
		x.n = int64(p.Len())
		return x, err
	}
	x.team.stage("agree")
	defer x.team.stage("")
	if err := x.agree(err); err != nil {
		return nil, err
	}
	if x.n <= gatheredPoints {
		return x, x.gatherAll()
	}
	x.tree = sync.OnceValue(func() *tree { return newTree(p, largeLeaf, x.threads) })
	return x, nil
}

// A card is what a member says of its points.
type card struct {
	failed, dims int64
	points, rows int64   // how many there are, and the last row + 1
	bad          []int64 // the row and dimension of the first coordinate that is not finite, and its bits; none: -1
	lo, hi       []int64 // corners, as orderedKey has them
}

const cardSize = 7 + 2*MaxDims

func (c *card) pack() []int64 {
	return slices.Concat([]int64{c.failed, c.dims, c.points, c.rows}, c.bad, c.lo, c.hi)
}

func unpackCard(list []int64) (c card, err error) {
	if len(list) != cardSize {
		return c, fmt.Errorf("dbscan: a member said %d values of itself, not %d", len(list), cardSize)
	}
	return card{list[0], list[1], list[2], list[3], list[4:7], list[7 : 7+MaxDims], list[7+MaxDims:]}, nil
}

func (x *Shared) ownCard(err error) *card {
	p := x.points
	c := &card{dims: int64(p.Dims), bad: []int64{-1, 0, 0}, lo: make([]int64, MaxDims), hi: make([]int64, MaxDims)}
	if err != nil {
		c.failed = 1
		return c
	}
	c.points = int64(p.Len())
	if len(x.rows) > 0 {
		c.rows = x.rows[len(x.rows)-1] + 1
	}
	var bad *NotFiniteError
	if errors.As(checkFinite(p), &bad) {
		c.bad = []int64{int64(bad.Row), int64(bad.Dim), int64(math.Float64bits(bad.Value))}
		if x.rows != nil {
			c.bad[0] = x.rows[bad.Row]
		}
	} else if p.Len() > 0 {
		lo, hi := corners(p, x.threads)
		for j := range lo {
			c.lo[j], c.hi[j] = orderedKey(lo[j]), orderedKey(hi[j])
		}
	}
	return c
}

// agree finds out what all members have together, and whether that can be clustered.
func (x *Shared) agree(err error) error {
	all, lost := team.Gather(x.team, x.ownCard(err).pack())
	if lost != nil {
		return errors.Join(err, lost)
	}
	var bad *NotFiniteError
	var lo, hi [MaxDims]int64
	var last int64
	elsewhere := false
	least, most := int64(math.MaxInt64), int64(math.MinInt64) // dimensions
	for m, said := range all {
		c, wrong := unpackCard(said)
		if wrong != nil {
			return wrong
		}
		elsewhere = elsewhere || c.failed != 0
		least, most = min(least, c.dims), max(most, c.dims)
		if m == x.team.Rank() {
			x.first = x.n
		}
		if row := c.bad[0]; row >= 0 {
			if x.rows == nil {
				row += x.n
			}
			if bad == nil || row < int64(bad.Row) {
				bad = &NotFiniteError{Row: int(row), Dim: int(c.bad[1]), Value: math.Float64frombits(uint64(c.bad[2]))}
			}
		}
		for j := range lo {
			if c.points > 0 && (x.n == 0 || c.lo[j] < lo[j]) {
				lo[j] = c.lo[j]
			}
			if c.points > 0 && (x.n == 0 || c.hi[j] > hi[j]) {
				hi[j] = c.hi[j]
			}
		}
		x.n += c.points
		last = max(last, c.rows)
	}
	switch {
	case err != nil:
		return err
	case elsewhere:
		return team.ErrElsewhere
	case least != most:
		return fmt.Errorf("dbscan: points of %d dimensions here, of %d to %d among all members", x.points.Dims, least, most)
	case x.rows != nil && last != x.n:
		return fmt.Errorf("dbscan: %d points with rows up to %d", x.n, last-1)
	case bad != nil:
		return bad
	}
	for j := range x.points.Dims {
		x.lo, x.hi = append(x.lo, fromOrderedKey(lo[j])), append(x.hi, fromOrderedKey(hi[j]))
	}
	return nil
}

// row is that of a point among all members'.
func (x *Shared) row(i int) int64 {
	if x.rows != nil {
		return x.rows[i]
	}
	return x.first + int64(i)
}

// orderedKey is radixKey as an integer with a sign.
func orderedKey(v float64) int64 { return int64(radixKey(v) ^ 1<<63) }

func fromOrderedKey(key int64) float64 { return fromRadixKey(uint64(key) ^ 1<<63) }

// gatherAll gives all members all points.
func (x *Shared) gatherAll() error {
	d := x.points.Dims
	mine := make([]uint64, 0, len(x.points.Coords)+x.points.Len()) // each with its row
	for i := range x.points.Len() {
		row := x.row(i)
		x.here = append(x.here, int32(row))
		mine = append(mine, uint64(row))
		for _, v := range x.points.Coords[i*d : (i+1)*d] {
			mine = append(mine, math.Float64bits(v))
		}
	}
	list, err := team.Gather(x.team, mine)
	if err != nil {
		return err
	}
	all := Points{Dims: d, Coords: make([]float64, int(x.n)*d)}
	for _, points := range list {
		for ; len(points) > d; points = points[d+1:] {
			for j, v := range points[1 : d+1] {
				all.Coords[int(points[0])*d+j] = math.Float64frombits(v)
			}
		}
	}
	x.index = newIndex(all, x.threads)
	return nil
}

// Costs returns what the calls so far have cost this member, by stage.
func (x *Shared) Costs() []StageCost { return slices.Clone(x.team.costs) }

// Cluster is Index.Cluster on the points of all members. The result has the labels and core flags of this member's own
// points; its Clusters are those of all.
func (x *Shared) Cluster(eps float64, minPts int) (*Result, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	defer x.team.stage("")
	if x.index != nil {
		x.team.stage("alone")
		r, err := x.index.cluster(eps, minPts)
		if err != nil || x.team.Size() == 1 {
			return r, err
		}
		return r.of(x.here), nil
	}
	switch d := (&tree{dims: x.points.Dims}).scaled(scaleFor(eps, 0)); {
	case x.n < int64(minPts):
		return uniform(x.points.Len(), Noise, false, 0), nil
	case d.distance2(x.hi, x.lo) <= eps*d.scale*(eps*d.scale): // all are near each other
		return uniform(x.points.Len(), 0, true, 1), nil
	}
	if r, err := x.onGrid(eps, minPts); r != nil || err != nil {
		return r, err
	}
	return x.onTree(eps, minPts)
}

// of is the result of some points.
func (r *Result) of(points []int32) *Result {
	some := &Result{Labels: make([]int32, len(points)), Core: make([]bool, len(points)), Clusters: r.Clusters}
	for i, p := range points {
		some.Labels[i], some.Core[i] = r.Labels[p], r.Core[p]
	}
	return some
}

// uniform is the result where one thing holds for all points.
func uniform(n int, label int32, core bool, clusters int) *Result {
	return &Result{Labels: slices.Repeat([]int32{label}, n), Core: slices.Repeat([]bool{core}, n), Clusters: clusters}
}

// A part is what one member knows as one cluster, by the member and the number that it has there.
type part uint64

func partOf(member int, number int32) part { return part(member)<<32 | part(number) }

func (p part) member() int   { return int(p >> 32) }
func (p part) number() int32 { return int32(p & math.MaxUint32) }

// join takes pairs of parts that are one cluster, and returns for the parts of this member that are in some pair of any
// member the smallest part of the whole cluster.
func join(m *meter, pairs []part) (map[int32]part, error) {
	all, err := team.Gather(m, pairs)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(all...)
	nodes := slices.Clone(list)
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	sets := newForest(len(nodes))
	at := func(p part) int32 {
		i, _ := slices.BinarySearch(nodes, p)
		return int32(i)
	}
	for i := 0; i+1 < len(list); i += 2 {
		sets.union(at(list[i]), at(list[i+1]))
	}
	whole := make(map[int32]part)
	for i, p := range nodes {
		if p.member() == m.Rank() {
			whole[p.number()] = nodes[sets.find(int32(i))]
		}
	}
	return whole, nil
}

// joinParts joins sets that are one by what others know: halo leads from own elements, in sets, to their counterparts
// among the n that a member knows, and for core ones both are in one cluster. It returns what join does.
func joinParts(m *meter, halo route, n int, sets forest, root func(i int32) int32, core func(i int32) bool) (map[int32]part, error) {
	source := make([]int32, n) // per element of the halo: its owner
	for from, list := range halo.in {
		for _, i := range list {
			source[i] = int32(from)
		}
	}
	seen := make(map[[2]part]bool)
	var pairs []part
	err := along(m, halo, root, func(i int32, theirs int32) {
		if !core(i) {
			return
		}
		pair := [2]part{partOf(m.Rank(), root(i)), partOf(int(source[i]), theirs)}
		if !seen[pair] {
			seen[pair] = true
			pairs = append(pairs, pair[:]...)
		}
	})
	if err != nil {
		return nil, err
	}
	whole, err := join(m, pairs)
	if err != nil {
		return nil, err
	}
	first := make(map[part]int32)
	for root, p := range whole {
		if other, ok := first[p]; ok {
			sets.union(root, other)
		} else {
			first[p] = root
		}
	}
	return whole, nil
}

// wholeOf is what all know the cluster of a root here as, given what join returned.
func wholeOf(whole map[int32]part, rank int, root int32) part {
	if p, ok := whole[root]; ok {
		return p
	}
	return partOf(rank, root)
}

// leastKeys takes clusters with keys of some width, and returns all members' clusters, each with the smallest of the
// keys that it is given anywhere, by ascending key.
func leastKeys(m *meter, clusters []part, keys []float64, width int) ([]part, [][]float64, error) {
	allClusters, err := team.Gather(m, clusters)
	if err != nil {
		return nil, nil, err
	}
	allKeys, err := team.Gather(m, keys)
	if err != nil {
		return nil, nil, err
	}
	list, key := slices.Concat(allClusters...), slices.Concat(allKeys...)
	if len(list)*width != len(key) {
		return nil, nil, fmt.Errorf("dbscan: %d keys of %d for %d clusters", len(key), width, len(list))
	}
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	keyOf := func(i int32) []float64 { return key[int(i)*width:][:width] }
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(list[a], list[b]), slices.Compare(keyOf(a), keyOf(b)))
	})
	order = slices.CompactFunc(order, func(a, b int32) bool { return list[a] == list[b] })
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(keyOf(a), keyOf(b)) })
	out, least := make([]part, len(order)), make([][]float64, len(order))
	for k, i := range order {
		out[k], least[k] = list[i], keyOf(i)
	}
	return out, least, nil
}
