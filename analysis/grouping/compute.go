package grouping

import (
	"math"
	"slices"
	"sync"

	"moriens/analysis/dbscan"
	"moriens/analysis/space"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Compute clusters bursts. Columns that do not fit each other, dimensions that the bursts lack, and
// options out of their range are errors; no bursts, and bursts none of which is complete, are results
// without clusters and with a warning. It allocates about 75 bytes a burst in
// one dimension and 135 in two; about 100 in one dimension where kinds are found by order, of which up to 50 at a time.
//
// With several members in Options.Team it is collective: an error of one is one of all.
func Compute(b Bursts, o Options) (*Result, error) {
	o.Normalise = o.normalised()
	c := &computation{bursts: &b, options: &o, team: o.Team, workers: max(1, o.Workers)}
	if err := team.Explain(c.team, o.check(&b)); err != nil {
		return nil, err
	}
	c.kinds = o.byKinds() && o.Sample == 0
	var err error
	if c.space, err = space.NewShared(c.team, b.Columns, o.Dims); err != nil {
		return nil, err
	}
	c.space.Workers = c.workers
	selection, err := c.space.Select(o.Filter)
	if err != nil {
		return nil, err
	}
	r := &Result{Selection: selection, TotalNS: selection.TotalNS(), Shuffled: math.NaN(), Predicted: math.NaN()}
	groups, err := c.unite(c.split(c.admit(selection)))
	if err != nil {
		return nil, err
	}
	if o.Filter.Auto {
		if err := c.keepWhole(groups, selection); err != nil {
			return nil, err
		}
	}
	if groups, err = c.measure(groups); err != nil {
		return nil, err
	}
	if o.Normalise {
		if err := c.normalise(groups); err != nil {
			return nil, err
		}
	}
	c.resolution = o.Floor()
	r.Resolution = c.resolution
	find := c.refine
	switch {
	case o.Sample > 0:
		find = c.refineSample
	case c.kinds:
		find = c.findKinds
	}
	if err = c.over(); err == nil {
		err = find(groups, r)
	}
	if err := c.fallBack(groups, r, err); err != nil {
		return nil, err
	}
	found := foundIn(groups)
	ids := r.Assemble(found)
	for i, g := range groups {
		workers.Chunks(len(g.rows), c.workers, func(_, from, to int) {
			for _, row := range g.rows[from:to] {
				if label := r.Labels[row]; label >= 0 {
					r.Labels[row] = ids[i][label]
				}
			}
		})
	}
	if c.decided == nil {
		r.Kinds = r.Labels
	} else {
		c.decided.Adopt(r, ids)
	}
	r.Warn(c.chosen(selection), found)
	return r, nil
}

type computation struct {
	bursts     *Bursts
	options    *Options
	team       team.Threads
	space      *space.Space
	resolution float64
	workers    int
	spread     spread
	stopped    bool     // the refinement was
	kinds      bool     // clusters are found by package kinds
	decided    *Decided // by package kinds, else nil
}

// group is a group at work: the same at all members, but for rows, at and points.
type group struct {
	Clustered
	rows   []int32 // of its bursts here, ascending
	place  int     // the member that clusters it, or everywhere
	at     []int32 // rows of its bursts that are clustered here, ascending
	points dbscan.Points
	index  *dbscan.Shared // nil if there are fewer than MinPts, and where it is clustered elsewhere
}

func foundIn(groups []*group) []*Clustered {
	list := make([]*Clustered, len(groups))
	for i, g := range groups {
		list[i] = &g.Clustered
	}
	return list
}

// chosen says what the warnings need to know.
func (c *computation) chosen(s *space.Selection) *Chosen {
	tally := func(status space.Status) Tally { return Tally{Bursts: s.Bursts[status], TimeNS: s.TimeNS[status]} }
	filtered, outside := tally(space.Short), tally(space.OutOfRange)
	filtered.Bursts += outside.Bursts
	filtered.TimeNS += outside.TimeNS
	return &Chosen{
		Complete: tally(space.Complete), Missing: tally(space.Missing), Filtered: filtered,
		Dims: c.space.Dims(), Unscaled: c.space.Unscaled, Stopped: c.stopped,
	}
}

// admit finds the rows of bursts that may be clustered, ascending.
func (c *computation) admit(s *space.Selection) []int32 {
	return workers.Lists(len(s.Status), 1, c.workers, func(row int) int32 {
		if status := s.Status[row]; status == space.Complete || status == space.Short && c.options.Filter.Auto {
			return 0
		}
		return -1
	})[0]
}

// beginLabels gives the bursts that were set aside their labels. Before there are others none are needed: memory.
func (c *computation) beginLabels(r *Result) {
	r.Labels = make([]int32, c.bursts.Len())
	workers.Chunks(len(r.Labels), c.workers, func(_, from, to int) {
		for row, status := range r.Selection.Status[from:to] {
			switch status {
			case space.Complete:
			case space.Missing:
				r.Labels[from+row] = LabelMissing
			default:
				r.Labels[from+row] = LabelFiltered
			}
		}
	})
}

// split sorts rows by call paths and cuts them into groups. With calls it leaves rows as they are.
func (c *computation) split(rows []int32) []*group {
	if len(rows) == 0 {
		return nil
	}
	if c.options.By == ByNone {
		return []*group{{rows: rows}}
	}
	before, after := c.bursts.before, c.bursts.after
	var groups []*group
	if lists := c.splitNear(rows); lists != nil {
		for _, list := range lists {
			if len(list) > 0 {
				groups = append(groups, &group{Clustered: Clustered{Group: Group{Before: before(list[0]), After: after(list[0])}}, rows: list})
			}
		}
		return groups
	}
	rows = sortByPath(sortByPath(slices.Clone(rows), after), before)
	begin := 0
	for i := 1; i <= len(rows); i++ {
		first := rows[begin]
		if i < len(rows) && before(rows[i]) == before(first) && after(rows[i]) == after(first) {
			continue
		}
		groups = append(groups, &group{Clustered: Clustered{Group: Group{Before: before(first), After: after(first)}}, rows: rows[begin:i]})
		begin = i
	}
	return groups
}

// mostPairs is how many pairs of paths there may be for rows to be listed by pair.
const mostPairs = 1 << 14

// splitNear lists rows by their pair of paths, ascending, where these have numbers close together, as in most runs; nil
// where they have not.
func (c *computation) splitNear(rows []int32) [][]int32 {
	before, after := c.bursts.before, c.bursts.after
	lo, hi := [2]uint32{math.MaxUint32, math.MaxUint32}, [2]uint32{}
	var mu sync.Mutex
	workers.Chunks(len(rows), c.workers, func(_, from, to int) {
		l, h := [2]uint32{math.MaxUint32, math.MaxUint32}, [2]uint32{}
		for _, row := range rows[from:to] {
			l[0], h[0] = min(l[0], before(row)), max(h[0], before(row))
			l[1], h[1] = min(l[1], after(row)), max(h[1], after(row))
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range lo {
			lo[i], hi[i] = min(lo[i], l[i]), max(hi[i], h[i])
		}
	})
	width := int64(hi[1]-lo[1]) + 1
	if int64(hi[0]-lo[0]) >= int64(min(mostPairs, len(rows)))/width {
		return nil
	}
	pairs := (int(hi[0]-lo[0]) + 1) * int(width)
	lists := workers.Lists(len(rows), pairs, c.workers, func(i int) int32 {
		row := rows[i]
		return int32(before(row)-lo[0])*int32(width) + int32(after(row)-lo[1])
	})
	if len(rows) < c.bursts.Len() {
		workers.Every(lengths(lists), c.workers, func(pair int) {
			for at, i := range lists[pair] {
				lists[pair][at] = rows[i]
			}
		})
	}
	return lists
}

func lengths(lists [][]int32) []int {
	sizes := make([]int, len(lists))
	for i, list := range lists {
		sizes[i] = len(list)
	}
	return sizes
}

// unite gives every member a group for each that one has bursts of, by Before and After.
func (c *computation) unite(groups []*group) ([]*group, error) {
	pairOf := func(g *group) uint64 { return uint64(g.Before)<<32 | uint64(g.After) }
	var pairs []uint64
	for _, g := range groups {
		pairs = append(pairs, pairOf(g))
	}
	all, err := team.Gather(c.team, pairs)
	if err != nil {
		return nil, err
	}
	pairs = slices.Concat(all...)
	slices.Sort(pairs)
	var united []*group
	for _, pair := range slices.Compact(pairs) {
		if len(groups) > 0 && pairOf(groups[0]) == pair {
			united = append(united, groups[0])
			groups = groups[1:]
			continue
		}
		united = append(united, &group{Clustered: Clustered{Group: Group{Before: uint32(pair >> 32), After: uint32(pair)}}})
	}
	return united, nil
}

// measure counts the bursts of the groups and sorts those that have some, by total time.
func (c *computation) measure(groups []*group) ([]*group, error) {
	sums := make([]int64, 2*len(groups))
	c.everyGroup(groups, func(i int) {
		total := int64(0)
		for _, row := range groups[i].rows {
			total += c.bursts.DurationNS[row]
		}
		sums[2*i], sums[2*i+1] = int64(len(groups[i].rows)), total
	})
	if err := c.team.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	for i, g := range groups {
		g.Bursts, g.TimeNS = int(sums[2*i]), sums[2*i+1]
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return g.Bursts == 0 })
	slices.SortFunc(groups, func(a, b *group) int { return ByTime(&a.Clustered, &b.Clustered) })
	return groups, nil
}

// sortByPath sorts rows by their path, stably, by radix: paths are small numbers, so that one pass is
// the rule. It may overwrite rows.
func sortByPath(rows []int32, path func(row int32) uint32) []int32 {
	const digitBits = 11
	var varying uint32
	for _, row := range rows {
		varying |= path(row) ^ path(rows[0])
	}
	var to []int32
	for shift := 0; varying>>shift != 0; shift += digitBits {
		if to == nil {
			to = make([]int32, len(rows))
		}
		var next [1 << digitBits]int32
		for _, row := range rows {
			next[path(row)>>shift&(1<<digitBits-1)]++
		}
		var sum int32
		for digit, count := range next {
			next[digit] = sum
			sum += count
		}
		for _, row := range rows {
			at := &next[path(row)>>shift&(1<<digitBits-1)]
			to[*at] = row
			*at++
		}
		rows, to = to, rows
	}
	return rows
}
