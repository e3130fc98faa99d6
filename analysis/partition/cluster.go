package partition

import (
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/team"
	"moriens/analysis/workers"
)

// prepare makes points of the groups' bursts, brings them to where they are clustered, and finds the densities to cluster them with.
func (c *computation) prepare(groups []*group) error {
	dims := len(c.options.Dims)
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g.rows)
	}
	lo, hi := make([]float64, dims*len(groups)), make([]float64, dims*len(groups))
	if err := workers.Each(sizes, c.workers, func(i, _ int) error {
		g := groups[i]
		g.points = dbscan.Points{Dims: dims, Coords: c.space.Coordinates(nil, g.rows)}
		g.lo, g.hi = lo[i*dims:(i+1)*dims], hi[i*dims:(i+1)*dims]
		ranges(g.points.Coords, g.lo, g.hi)
		g.MinPts = c.options.minPts(g.Bursts)
		return nil
	}); err != nil {
		return err
	}
	if err := team.Bounds(c.team, lo, hi); err != nil {
		return err
	}
	c.place(groups)
	if err := c.spreadOut(groups); err != nil {
		return err
	}
	for i, g := range groups {
		sizes[i] = len(g.at)
	}
	err := workers.Each(sizes, c.workers, func(i, threads int) error {
		if g := groups[i]; g.place == c.team.Rank() {
			return c.findDensity(g, team.Solo{}, threads)
		}
		return nil
	})
	if err := team.Explain(c.team, err); err != nil {
		return err
	}
	for _, g := range groups {
		if g.place == everywhere {
			if err := c.findDensity(g, c.team, c.workers); err != nil {
				return err
			}
		}
	}
	return c.tellDensities(groups)
}

// findDensity finds the densities of a group, whose bursts are at the members of a team.
func (c *computation) findDensity(g *group, t team.Team, threads int) error {
	if g.Bursts < g.MinPts {
		g.From, g.ladder = FromNone, []float64{0}
		return nil
	}
	if t.Size() == 1 {
		var err error
		if g.index, err = dbscan.NewShared(t, g.points, threads); err != nil {
			return err
		}
		return c.chooseLadder(g)
	}
	rows, err := c.among(g)
	if err != nil {
		return err
	}
	if g.index, err = dbscan.NewSharedRows(t, g.points, rows, threads); err != nil {
		return err
	}
	return c.chooseLadder(g)
}

// tellDensities tells all members what the one that clusters a group has found.
func (c *computation) tellDensities(groups []*group) error {
	var words []uint64 // per group: its index, MinPts, From, Knee; how many Eps, and these
	for i, g := range groups {
		if g.place != c.team.Rank() {
			continue
		}
		words = append(words, uint64(i), uint64(g.MinPts), uint64(g.From), math.Float64bits(g.Knee), uint64(len(g.ladder)))
		for _, eps := range g.ladder {
			words = append(words, math.Float64bits(eps))
		}
	}
	all, err := team.Gather(c.team, words)
	if err != nil {
		return err
	}
	for _, words := range all {
		for len(words) > 0 {
			g, steps := groups[words[0]], words[4]
			g.MinPts, g.From, g.Knee = int(words[1]), EpsFrom(words[2]), math.Float64frombits(words[3])
			g.ladder = make([]float64, steps)
			for k, bits := range words[5 : 5+steps] {
				g.ladder[k] = math.Float64frombits(bits)
			}
			words = words[5+steps:]
		}
	}
	return nil
}

// chooseLadder finds the Eps of each step: the given one alone, or those from the knee on, none below the
// resolution.
func (c *computation) chooseLadder(g *group) error {
	if c.options.Fixed != nil {
		g.ladder, g.From = []float64{c.options.Fixed.Eps}, FromFixed
		return nil
	}
	curve, err := c.curveOf(g)
	if err != nil {
		return err
	}
	if c.options.MinPts == 0 && !c.options.Strict {
		if curve, err = c.lookForSmallKinds(g, curve); err != nil {
			return err
		}
	}
	outliers := g.MinPts
	if c.options.Strict {
		outliers = 0
	}
	if g.ladder, err = refine.Ladder(curve, outliers*curve.Len()/g.Bursts); err != nil {
		return err
	}
	if len(g.ladder) > 0 {
		g.Knee = g.ladder[0]
	}
	g.From = FromKnee
	if g.Knee <= c.resolution {
		g.From = FromFloor
		g.ladder = slices.DeleteFunc(g.ladder, func(eps float64) bool { return eps <= c.resolution })
		g.ladder = append([]float64{c.resolution}, g.ladder...)
	}
	if !c.options.Strict {
		g.ladder = slices.Compact(g.ladder)
	}
	return nil
}

// curveOf is the curve of distances to the MinPts-th neighbour of a group's bursts.
func (c *computation) curveOf(g *group) (*dbscan.Curve, error) {
	queries := 0 // as many as the curve's accuracy needs
	if c.options.Strict {
		queries = g.Bursts
	}
	return g.index.Curve(g.MinPts, queries)
}

// Where MinPts is above the size of the kinds that an inSmall-th of the bursts are of, the distance to the MinPts-th neighbour
// that an inSmall-th of the bursts exceed falls manyFold when MinPts is halved and comes below that size. Where bursts lie
// evenly it falls to a half in one dimension, and less in more.
const (
	inSmall  = 8
	manyFold = 3
)

// lookForSmallKinds lowers the MinPts of a group, by halves, to where it is below the size of the kinds of nearly all bursts, if there is such
// a place; n/200 is above it where there are over 200 kinds. It returns the curve of distances for MinPts, given
// that of the MinPts so far.
func (c *computation) lookForSmallKinds(g *group, curve *dbscan.Curve) (*dbscan.Curve, error) {
	least, most := c.options.minPts(0), g.MinPts
	if curve.Len() == 0 {
		return curve, nil
	}
	distance := func(curve *dbscan.Curve) (float64, error) {
		at, err := curve.At(curve.Len() / inSmall)
		if err != nil {
			return 0, err
		}
		return max(at[0], c.resolution), nil
	}
	before, err := distance(curve)
	if err != nil || before <= manyFold*c.resolution { // so also where it is 0
		return curve, err
	}
	for g.MinPts/2 >= least {
		g.MinPts /= 2
		lower, err := c.curveOf(g)
		if err != nil {
			return nil, err
		}
		after, err := distance(lower)
		if err != nil {
			return nil, err
		}
		if before >= manyFold*after {
			return lower, nil
		}
		before = after
	}
	g.MinPts = most
	return curve, nil
}

// ranges finds the least and the largest of each coordinate; +Inf and −Inf without points.
func ranges(coords, lo, hi []float64) {
	for j := range lo {
		lo[j], hi[j] = math.Inf(1), math.Inf(-1)
	}
	for at := 0; at < len(coords); at += len(lo) {
		for j, v := range coords[at : at+len(lo)] {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
}
