package microcell

import (
	"cmp"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/analysis/workers"
)

// Compute clusters units as grouping.Compute clusters their bursts. Dims may be those of the set or nil. The automatic
// filter takes each unit's bursts to last their mean, and to a 256th of that: by itself it is as fine as units are.
// Bursts shorter than MinNS are in no unit to begin with. Options that need the bursts themselves are errors
// (Normalise, Strict, ranges, a team), and so are units that do not fit the set, and what the source answers with an
// error or with what does not fit the units.
//
// Where the answer depends on where in their cells bursts are, the source is asked for the places, as long as
// Set.MostSplit and Options.Stop allow. Bursts that it cannot send, or that are too many, count as if all were at the
// mean of their unit; Result.Certificate says which steps that touches.
//
// The answer depends neither on the order of units and groups nor on the number of workers.
func Compute(s Set, from Source, o grouping.Options) (*Result, error) {
	if err := s.check(&o, from); err != nil {
		return nil, err
	}
	c := newComputation(&s, from, o)
	c.filter()
	if err := c.findDensities(); err != nil {
		return nil, err
	}
	refined, err := c.refine()
	if err != nil {
		return nil, err
	}
	return c.result(refined), nil
}

type computation struct {
	set     *Set
	source  Source
	options grouping.Options
	workers int
	floor   float64
	minNS   int64

	units  []Unit
	parent []int32           // per unit: the one that it has come out of, else itself
	places map[int32][]int32 // of units that were split
	left   int64             // bursts that may still be asked for
	lost   []bool            // per unit: its places are not to be had
	short  []bool            // per unit: left out by the filter
	groups []*group          // that have units, by total time
	order  []int32           // units as rows of the refinement, group after group

	certificate Certificate
	scores      map[scored]*sequence.Score
	steps       stepper
}

// A group is one at work.
type group struct {
	grouping.Clustered
	units   []int32 // that have bursts and are clustered, in an order of their own
	threads int     // to cluster it with
	first   int     // of its rows in order
	answers []answer
	calls   int     // in this round
	asked   []int32 // units whose places this round needs
	doubts  []doubt
}

func newComputation(s *Set, from Source, o grouping.Options) *computation {
	o.Dims = s.Dims
	c := &computation{
		set: s, source: from, options: o, workers: max(1, o.Workers), floor: s.floor(), minNS: o.Filter.MinNS,
		units: slices.Clone(s.Units), places: make(map[int32][]int32), lost: make([]bool, len(s.Units)), short: make([]bool, len(s.Units)),
		scores: make(map[scored]*sequence.Score),
	}
	switch c.left = int64(s.MostSplit); {
	case c.left == 0:
		c.left = DefaultMostSplit
	case c.left < 0:
		c.left = 0
	}
	c.certificate = Certificate{Side: s.Side, Floor: c.floor, Exact: true}
	for i := range c.units {
		c.parent = append(c.parent, int32(i))
	}
	return c
}

// filter puts the units that are clustered into their groups.
func (c *computation) filter() {
	all := make([]*group, len(c.set.Groups))
	for i, g := range c.set.Groups {
		all[i] = &group{Clustered: grouping.Clustered{Group: grouping.Group{Before: g.Before, After: g.After}}}
	}
	for i := range c.units {
		if u := &c.units[i]; u.Cell.Count > 0 {
			all[u.Group].units = append(all[u.Group].units, int32(i))
		}
	}
	if c.options.Filter.Auto {
		c.findShort(all)
	}
	for _, g := range all {
		g.units = slices.DeleteFunc(g.units, func(i int32) bool { return c.short[i] })
		c.measure(g)
		if len(g.units) > 0 {
			c.groups = append(c.groups, g)
		}
	}
	slices.SortFunc(c.groups, func(a, b *group) int { return grouping.ByTime(&a.Clustered, &b.Clustered) })
}

// findShort finds the units that the automatic filter leaves out.
func (c *computation) findShort(groups []*group) {
	var h space.Durations
	for i := range c.units {
		if u := &c.units[i]; u.Cell.Count > 0 {
			h.AddAlike(u.Cell.Count, u.timeNS())
		}
	}
	for _, aside := range []grouping.Tally{c.set.Missing, c.set.Short} {
		if aside.Bursts > 0 {
			h.AddAlike(int64(aside.Bursts), aside.TimeNS)
		}
	}
	c.minNS = h.AutoMinNS()
	for _, g := range groups {
		kinds := grouping.NewKinds()
		for _, i := range g.units {
			u := &c.units[i]
			kinds.Add(u.meanNS(), u.Cell.Count, u.meanNS() >= c.minNS)
		}
		limit := kinds.Limit()
		for _, i := range g.units {
			mean := c.units[i].meanNS()
			c.short[i] = mean < c.minNS && grouping.Step(mean) < limit
		}
	}
}

// measure puts the units of a group in order, and sums them up.
func (c *computation) measure(g *group) {
	dims := len(c.set.Dims)
	slices.SortFunc(g.units, c.compare)
	g.Lo, g.Hi = make([]float64, dims), make([]float64, dims)
	for k, i := range g.units {
		u := &c.units[i]
		g.Bursts += int(u.Cell.Count)
		g.TimeNS += u.timeNS()
		for j := range dims {
			if k == 0 {
				g.Lo[j], g.Hi[j] = u.Cell.Lo[j], u.Cell.Hi[j]
			}
			g.Lo[j], g.Hi[j] = min(g.Lo[j], u.Cell.Lo[j]), max(g.Hi[j], u.Cell.Hi[j])
		}
	}
}

// compare orders units of a group by where they are, whatever their numbers; those that have come out of one unit are
// together.
func (c *computation) compare(a, b int32) int {
	d := len(c.set.Dims)
	where := func(a, b int32) int {
		x, y := &c.units[a].Cell, &c.units[b].Cell
		return cmp.Or(slices.Compare(x.Key[:d], y.Key[:d]), slices.Compare(x.Lo[:d], y.Lo[:d]), slices.Compare(x.Hi[:d], y.Hi[:d]), cmp.Compare(a, b))
	}
	return cmp.Or(where(c.parent[a], c.parent[b]), where(a, b))
}

// findDensities finds MinPts and Eps of the groups, by the units as they are at the beginning.
func (c *computation) findDensities() error {
	resolution := c.raise(c.options.Floor())
	o := c.options
	if o.Fixed != nil {
		o.Fixed = &grouping.Density{Eps: c.raise(o.Fixed.Eps), MinPts: o.Fixed.MinPts}
	}
	sizes := make([]int, len(c.groups))
	for i, g := range c.groups {
		sizes[i] = len(g.units)
	}
	if err := workers.Each(sizes, c.workers, func(i, threads int) error {
		g := c.groups[i]
		g.threads = threads
		cells := c.cellsOf(g.units)
		d, err := o.FindDensities(g.Bursts, resolution, func(k, queries int) (grouping.Curve, error) {
			return dbscan.WeightedCurve(len(c.set.Dims), cells, k, queries, threads)
		})
		g.SetDensities(&d)
		return err
	}); err != nil {
		return err
	}
	for _, g := range c.groups {
		c.noteWanted(g)
	}
	return nil
}

// noteWanted notes that a group wants an Eps below the floor.
func (c *computation) noteWanted(g *group) {
	wanted := max(g.Knee, c.options.Floor())
	switch g.From {
	case grouping.FromNone:
		return
	case grouping.FromFixed:
		wanted = c.options.Fixed.Eps
	}
	if to := &c.certificate; c.raise(wanted) > wanted && (!to.Bound || wanted < to.Wanted) {
		to.Bound, to.Wanted = true, wanted
	}
}

// raise returns the Eps that is used for a requested one: the floor, if that is larger. An Eps from which the side was
// computed is used as it is, in spite of rounding.
func (c *computation) raise(wanted float64) float64 {
	if wanted < c.floor*(1-0x1p-40) {
		return c.floor
	}
	return wanted
}
