package grouping

import (
	"math"

	"moriens/analysis/dbscan"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// prepare brings the groups' bursts to where they are clustered, and finds the densities to cluster them with.
func (c *computation) prepare(groups []*group) error {
	for _, g := range groups {
		g.MinPts = c.options.minPts(g.Bursts)
	}
	if err := c.bring(groups, c.gather); err != nil {
		return err
	}
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g.at)
	}
	here := func(i int) bool { return groups[i].place == c.team.Rank() }
	err := workers.Each(sizes, c.workers, func(i, threads int) error {
		if here(i) {
			if err := c.overAt(team.Solo{}); err != nil {
				return err
			}
			return c.findDensity(groups[i], team.Solo{}, threads)
		}
		return nil
	})
	if err := c.agree(err); err != nil {
		return err
	}
	for _, g := range groups {
		if g.place == everywhere {
			if err := c.over(); err != nil {
				return err
			}
			if err := c.findDensity(g, c.team, c.workers); err != nil {
				return err
			}
		}
	}
	return c.shareDensities(groups, here)
}

// bring makes points of the groups' bursts, whose coordinates fill fills in, and brings them to where they are
// clustered.
func (c *computation) bring(groups []*group, fill func(groups []*group) error) error {
	dims := len(c.options.Dims)
	lo, hi := make([]float64, dims*len(groups)), make([]float64, dims*len(groups))
	for i, g := range groups {
		g.points = dbscan.Points{Dims: dims, Coords: make([]float64, len(g.rows)*dims)}
		g.Lo, g.Hi = lo[i*dims:(i+1)*dims], hi[i*dims:(i+1)*dims]
		ranges(nil, g.Lo, g.Hi)
	}
	if err := fill(groups); err != nil {
		return err
	}
	if err := team.Bounds(c.team, lo, hi); err != nil {
		return err
	}
	c.place(groups)
	return c.spreadOut(groups)
}

// gather fills in the coordinates of the groups' bursts, and how far they reach.
func (c *computation) gather(groups []*group) error {
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g.rows)
	}
	return workers.Each(sizes, c.workers, func(i, threads int) error {
		g := groups[i]
		dims := g.points.Dims
		workers.Chunks(len(g.rows), threads, func(_, from, to int) {
			c.space.Coordinates(g.points.Coords[from*dims:from*dims], g.rows[from:to])
		})
		ranges(g.points.Coords, g.Lo, g.Hi)
		return nil
	})
}

// findDensity finds the densities of a group, whose bursts are at the members of a team.
func (c *computation) findDensity(g *group, t team.Team, threads int) error {
	var err error
	switch {
	case g.Bursts < g.MinPts: // they are not asked for neighbours
	case t.Size() == 1:
		g.index, err = dbscan.NewShared(t, g.points, threads)
	default:
		var rows []int64
		if rows, err = c.among(g); err == nil {
			g.index, err = dbscan.NewSharedRows(t, g.points, rows, threads)
		}
	}
	if err != nil {
		return err
	}
	d, err := c.options.FindDensities(g.Bursts, c.resolution, func(k, queries int) (Curve, error) {
		if err := c.overAt(t); err != nil {
			return nil, err
		}
		return g.index.Curve(k, queries)
	})
	g.SetDensities(&d)
	return err
}

// shareDensities sends all members what one of them, for which the group is its own, has found.
func (c *computation) shareDensities(groups []*group, own func(i int) bool) error {
	var words []uint64 // per group: its index, MinPts, From, Knee; how many Eps, and these
	for i, g := range groups {
		if !own(i) {
			continue
		}
		words = append(words, uint64(i), uint64(g.MinPts), uint64(g.From), math.Float64bits(g.Knee), uint64(len(g.Ladder)))
		for _, eps := range g.Ladder {
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
			g.Ladder = make([]float64, steps)
			for k, bits := range words[5 : 5+steps] {
				g.Ladder[k] = math.Float64frombits(bits)
			}
			words = words[5+steps:]
		}
	}
	return nil
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
