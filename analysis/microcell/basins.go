package microcell

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Kinds finds the kinds of a run at the first member of a team, which knows the units of all.
type Kinds struct {
	*computation
	// At is the unit of the list as it is now, those that Source.Split has appended included, in which that of a member
	// is, by its number there.
	At func(rank int, unit int32) (at int32, known bool)
	// Anchored says that the members know anchors.
	Anchored bool

	member *Member
	team   team.Panicking
	basins []*basin
	rowOf  [][]int32 // by member and piece: its row
	rows   []row
	leafOf []int32 // by row, in the end
	shared []int64
}

// A row is the bursts of pieces of all members in one unit, basin and speed.
type row struct {
	piece
	count int64
}

// A basin is one at work.
type basin struct {
	group
	rows []int32
	// Of each row: what Weighted is to know of it, and how long its bursts last.
	cells  []cell.Cell
	timeNS []int64
	memo   []weighed // answers so far, by call
}

type weighed struct {
	labels   []int32
	clusters int
}

// NewKinds filters the units of a run, and puts those that are clustered into groups. What it refuses is what Compute
// refuses.
func NewKinds(s Set, from Source, o grouping.Options) (*Kinds, error) {
	if err := s.check(&o, from); err != nil {
		return nil, err
	}
	if err := grouping.CheckCells(s.Dims, o.Resolution, s.Side); err != nil {
		return nil, fmt.Errorf("microcell: %w", err)
	}
	k := &Kinds{computation: newComputation(&s, from, o)}
	k.filter()
	return k, nil
}

// Groups are those of the run that have bursts to cluster, and of is, by group of the set, its number among them or
// kinds.None.
func (k *Kinds) Groups() (list []*grouping.Clustered, of []int32) {
	of = slices.Repeat([]int32{kinds.None}, len(k.set.Groups))
	for i, g := range k.groups {
		list = append(list, &g.Clustered)
		of[k.units[g.units[0]].Group] = int32(i)
	}
	return list, of
}

// Short says of each unit of the set whether its bursts are left out as too short.
func (k *Kinds) Short() []bool { return k.short }

// Find finds the kinds, together with the members that have the bursts: Member.Find. What it returns has no labels. It
// is collective.
func (k *Kinds) Find(t team.Threads) (*Result, error) {
	groups, _ := k.Groups()
	m := &Member{
		Bursts: kinds.Bursts{
			Dims: len(k.set.Dims), Timed: grouping.Timed(k.set.Dims), Side: k.set.Side, Steady: grouping.Steady(k.set.Dims), Groups: len(groups),
			Ends: make([]int, len(t.Of)), Nodes: t.Of, Team: t,
		},
		Groups: groups, Units: func() ([]int32, []Unit) { return nil, nil },
	}
	if k.Anchored {
		m.Bursts.Anchors = make([][]sequence.Anchor, len(t.Of))
	}
	return k.find(m)
}

func (k *Kinds) find(m *Member) (*Result, error) {
	p, err := m.find(k.options, k)
	if err != nil {
		return nil, err
	}
	r := &Result{Units: k.units, TotalNS: p.TotalNS, MinNS: k.minNS, Resolution: k.options.Floor(), Labels: make([]int32, len(k.units))}
	chosen := k.chosen(r)
	r.Labels = nil
	chosen.Stopped = p.Stopped
	p.Warn(chosen, m.Groups)
	k.certifyKinds(p.Tree)
	r.Clusters, r.Groups, r.Noise, r.Clustered = p.Clusters, p.Groups, p.Noise, p.Clustered
	r.Score, r.NoiseScore, r.Shuffled, r.Predicted, r.Speed = p.Score, p.NoiseScore, p.Shuffled, p.Predicted, p.Speed
	r.Basins, r.Joins = p.Basins, p.Joins
	r.Tree, r.Certificate = p.Tree, k.certificate
	r.Warnings = append(p.Warnings, k.warnings(chosen)...)
	return r, nil
}

// cluster clusters the basins by the pieces of all members. It reports whether units were split on the way, so that the
// pieces are others now.
func (k *Kinds) cluster(p *kinds.Proposal, lists [][]int64) (again bool, err error) {
	if err := k.gather(p, lists); err != nil {
		return false, err
	}
	sizes := make([]int, len(k.basins))
	for i, b := range k.basins {
		sizes[i] = len(b.rows)
	}
	if err := workers.Each(sizes, k.workers, func(i, threads int) error {
		b := k.basins[i]
		b.threads, b.calls, b.asked = threads, 0, nil
		if b.Ladder == nil {
			d, err := k.options.BasinDensities(p, i, k.groupOf(p, i).Bursts, threads)
			if err != nil {
				return err
			}
			b.SetDensities(&d)
		}
		if b.Bursts < b.MinPts || len(b.memo) > 0 {
			return nil
		}
		all := make([]int32, len(b.rows)) // what the refinement asks first, of all basins before any are asked for places
		for k := range all {
			all[k] = int32(k)
		}
		_, _, err := k.weigh(b, all, b.Ladder[0], b.MinPts)
		b.calls = 0
		if errors.Is(err, errAsk) {
			return nil
		}
		return err
	}); err != nil {
		return false, err
	}
	refined, err := k.refineBasins()
	if errors.Is(err, errAsk) {
		return true, k.splitRows()
	}
	if err != nil {
		return false, err
	}
	k.shared = encode(k.found(), refined.Nodes)
	_, leaf := grouping.Leaves(p, refined.Nodes)
	k.leafOf = make([]int32, len(k.rows))
	for at, node := range refined.Labels {
		k.leafOf[k.order[at]] = leaf[node]
	}
	return false, nil
}

func (k *Kinds) found() (list []*grouping.Clustered) {
	for _, b := range k.basins {
		list = append(list, &b.Clustered)
	}
	return list
}

// groupOf is the group of a basin.
func (k *Kinds) groupOf(p *kinds.Proposal, basin int) *grouping.Clustered {
	return &k.groups[p.Basins[basin].Group].Clustered
}

// refineBasins clusters each basin by one density.
func (k *Kinds) refineBasins() (*refine.Result, error) {
	if slices.ContainsFunc(k.basins, func(b *basin) bool { return len(b.asked) > 0 }) {
		return nil, errAsk
	}
	k.order = k.order[:0]
	input := refine.Bursts{Even: k.even}
	for _, b := range k.basins {
		b.calls = 0
		g := refine.Group{Eps: b.Ladder[:1], MinPts: b.MinPts, Cluster: func(at []int32, eps float64, minPts int) ([]int32, int, error) {
			return k.weigh(b, at, eps, minPts)
		}}
		for i, at := range b.rows {
			g.Rows = append(g.Rows, int32(len(k.order)))
			g.Weights = append(g.Weights, k.rows[at].count)
			input.DurationNS = append(input.DurationNS, b.timeNS[i])
			k.order = append(k.order, at)
		}
		input.Groups = append(input.Groups, g)
	}
	o := k.options.Refinement()
	o.Unscored = true
	return refine.Run(input, o)
}

// gather adds up the pieces of all members.
func (k *Kinds) gather(p *kinds.Proposal, lists [][]int64) error {
	number := make(map[piece]int32)
	k.rows, k.rowOf = nil, make([][]int32, len(lists))
	for rank, words := range lists {
		for ; len(words) >= 4; words = words[4:] {
			at, known := k.At(rank, int32(words[0]))
			x := piece{at, int32(words[1]), math.Float64frombits(uint64(words[2]))}
			if !known || words[1] < 0 || int(words[1]) >= len(p.Basins) || words[3] < 1 {
				return &team.MisfitError{Member: rank, Err: fmt.Errorf("%d bursts of unit %d in basin %d", words[3], words[0], words[1])}
			}
			i, known := number[x]
			if !known {
				i = int32(len(k.rows))
				number[x] = i
				k.rows = append(k.rows, row{piece: x})
			}
			k.rows[i].count += words[3]
			k.rowOf[rank] = append(k.rowOf[rank], i)
		}
	}
	if k.basins == nil {
		for i := range p.Basins {
			of := k.groupOf(p, i)
			b := &basin{group: group{Clustered: grouping.Clustered{Group: grouping.Group{Before: of.Before, After: of.After, Bursts: int(p.Basins[i].Bursts)}}}}
			k.basins = append(k.basins, b)
		}
	}
	return k.place()
}

// place puts the rows into their basins, in an order that depends on the data alone.
func (k *Kinds) place() error {
	held := make(map[int32]int64) // by unit: bursts in rows
	for _, b := range k.basins {
		b.rows, b.cells, b.timeNS = nil, nil, nil
	}
	for i := range k.rows {
		x := &k.rows[i]
		held[x.unit] += x.count
		k.basins[x.basin].rows = append(k.basins[x.basin].rows, int32(i))
	}
	for unit, n := range held {
		if n != k.units[unit].Cell.Count {
			return fmt.Errorf("microcell: unit %d has %d bursts, members have %d of them", unit, k.units[unit].Cell.Count, n)
		}
	}
	for _, b := range k.basins {
		slices.SortFunc(b.rows, func(x, y int32) int {
			return cmp.Or(k.compare(k.rows[x].unit, k.rows[y].unit), cmp.Compare(k.rows[x].shift, k.rows[y].shift))
		})
		sum := int64(0)
		for _, i := range b.rows {
			c, ns := k.cellOf(&k.rows[i])
			b.cells, b.timeNS = append(b.cells, c), append(b.timeNS, ns)
			sum += c.Count
		}
		if sum != int64(b.Bursts) {
			return fmt.Errorf("microcell: a basin has %d bursts, members have %d of them", b.Bursts, sum)
		}
		b.measureCells(len(k.set.Dims))
	}
	return nil
}

// measureCells finds the range of the coordinates.
func (b *basin) measureCells(dims int) {
	for i := range b.cells {
		c := &b.cells[i]
		if i == 0 {
			b.Lo, b.Hi = slices.Clone(c.Lo[:dims]), slices.Clone(c.Hi[:dims])
		}
		for j := range dims {
			b.Lo[j], b.Hi[j] = min(b.Lo[j], c.Lo[j]), max(b.Hi[j], c.Hi[j])
		}
	}
}

// cellOf is where the bursts of a row are: the unit, moved by their speed. Where the row has a part of the unit's
// bursts their mean is taken to be the unit's.
func (k *Kinds) cellOf(x *row) (cell.Cell, int64) {
	u := &k.units[x.unit]
	c, ns := u.Cell, u.timeNS()
	if x.count < c.Count {
		high, low := bits.Mul64(uint64(ns), uint64(x.count))
		part, _ := bits.Div64(high, low, uint64(c.Count))
		ns = int64(part)
		for j := range c.Sum {
			c.Sum[j] *= float64(x.count) / float64(c.Count)
		}
		c.Count = x.count
	}
	if x.shift != 0 {
		c.Lo[0], c.Hi[0], c.Sum[0] = c.Lo[0]-x.shift, c.Hi[0]-x.shift, c.Sum[0]-x.shift*float64(x.count)
	}
	return c, ns
}

// weigh clusters some rows of a basin.
func (k *Kinds) weigh(b *basin, at []int32, eps float64, minPts int) ([]int32, int, error) {
	if b.calls++; b.calls <= len(b.memo) {
		x := &b.memo[b.calls-1]
		return slices.Clone(x.labels), x.clusters, nil
	}
	cells, units := make([]cell.Cell, len(at)), make([]int32, len(at))
	for i, a := range at {
		cells[i], units[i] = b.cells[a], k.rows[b.rows[a]].unit
	}
	w, err := dbscan.Weighted(len(k.set.Dims), cells, eps, minPts, b.threads)
	if err != nil {
		return nil, 0, err
	}
	if !w.Exact {
		if w, err = k.settleFor(&b.group, w, units, eps); err != nil {
			return nil, 0, err
		}
	}
	b.memo = append(b.memo, weighed{slices.Clone(w.Labels), w.Clusters})
	return w.Labels, w.Clusters, nil
}

// even asks the members whether all threads have as many bursts of some clusters.
func (k *Kinds) even(labels, column []int32, count int) ([]bool, error) {
	of := make([]int32, len(k.rows))
	for at, node := range labels {
		of[k.order[at]] = -1
		if node > refine.Noise {
			of[k.order[at]] = column[node]
		}
	}
	columns := make([][]int32, len(k.rowOf))
	for rank, rows := range k.rowOf {
		for _, i := range rows {
			columns[rank] = append(columns[rank], of[i])
		}
	}
	say(k.team, sayEven, int64(count))
	return k.member.countEven(k.team, nil, count, columns), nil
}

// splitRows asks for the places that the basins need, as far as it may.
func (k *Kinds) splitRows() error {
	var groups []*group
	for _, b := range k.basins {
		slices.Sort(b.asked)
		b.asked = slices.Compact(b.asked)
		groups = append(groups, &b.group)
	}
	changed, err := k.splitOf(groups)
	if err != nil {
		return err
	}
	touched := make(map[int32]bool)
	for _, i := range k.rows {
		if changed[i.unit] {
			touched[i.basin] = true
		}
	}
	for i, b := range k.basins {
		if b.asked = nil; touched[int32(i)] {
			b.memo, b.doubts = nil, nil
		}
	}
	return nil
}

// certifyKinds says on what the clusters of the basins depend that is not known.
func (k *Kinds) certifyKinds(tree *refine.Tree) {
	all := make(map[int32]bool)
	for _, b := range k.basins {
		for _, x := range b.doubts {
			for _, unit := range x.units {
				all[unit] = true
			}
		}
	}
	to := &k.certificate
	to.Floor = k.set.Side / kinds.MostSide(len(k.set.Dims), 1)
	to.Exact, to.Units, to.Bursts = len(all) == 0, len(all), k.burstsOf(all)
	for level := range tree.Levels {
		to.Steps = append(to.Steps, Step{Eps: tree.Levels[level].Eps, Exact: to.Exact, Units: to.Units, Bursts: to.Bursts})
	}
}
