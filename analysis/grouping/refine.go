package grouping

import (
	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/workers"
)

// refine clusters the groups and describes their clusters.
func (c *computation) refine(groups []*group, r *Result) error {
	if err := c.prepare(groups); err != nil {
		return err
	}
	input := refine.Bursts{
		DurationNS: c.spread.durationNS, Ends: c.bursts.ThreadEnds, Anchors: c.bursts.Anchors, Team: c.team, Home: c.home,
	}
	for _, g := range groups {
		input.Groups = append(input.Groups, refine.Group{
			Rows: g.at, Points: g.points, Index: g.index, Shared: g.place == everywhere, Eps: g.Ladder, MinPts: g.MinPts,
		})
		g.points, g.index = dbscan.Points{}, nil // the refinement lets go of them
	}
	refined, err := refine.Run(input, c.options.Refinement())
	if err != nil {
		return err
	}
	c.stopped, r.Stopped, r.Unscored = refined.Stopped, refined.Stopped, refined.Unscored
	c.spread = spread{}
	return c.adopt(groups, refined, r)
}

// adopt gives bursts the numbers of their clusters in their groups, and describes those.
func (c *computation) adopt(groups []*group, refined *refine.Result, r *Result) error {
	c.beginLabels(r)
	number := r.Adopt(foundIn(groups), refined)
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g.rows)
	}
	tallies := make([]*GroupTally, len(groups))
	if err := workers.Each(sizes, c.workers, func(i, _ int) error {
		for _, row := range groups[i].rows {
			r.Labels[row] = number[refined.Labels[row]]
		}
		tallies[i] = c.tally(groups[i], r.Labels)
		return nil
	}); err != nil {
		return err
	}
	return Describe(c.team, foundIn(groups), tallies)
}
