package partition

import (
	"math"

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
			Rows: g.at, Points: g.points, Index: g.index, Shared: g.place == everywhere, Eps: g.ladder, MinPts: g.MinPts,
		})
		g.points, g.index = dbscan.Points{}, nil // the refinement lets go of them
	}
	o := refine.Options{Strict: c.options.Strict, Freeze: c.options.Freeze, Stop: c.options.Stop, Workers: c.workers}
	if c.options.Fixed == nil && c.options.MinPts == 0 && !c.options.Strict {
		o.RareMinPts = c.options.minPts
	}
	refined, err := refine.Run(input, o)
	if err != nil {
		return err
	}
	r.Tree, r.Lineage, c.stopped = &refined.Tree, refined.Lineage, refined.Stopped
	r.Score, r.NoiseScore = refined.Score.Global, math.NaN()
	if refined.Score.Defined() {
		r.NoiseScore = refined.Score.Labels[refine.Noise].Score
	}
	c.spread = spread{}
	return c.adopt(groups, refined, r.Labels)
}

// adopt gives bursts the numbers of their clusters in their groups, and describes those.
func (c *computation) adopt(groups []*group, refined *refine.Result, labels []int32) error {
	number := []int32{refine.Noise: LabelNoise} // by node
	for _, n := range refined.Nodes {
		g := groups[n.Group]
		for len(number) <= int(n.ID) {
			number = append(number, LabelNoise)
		}
		number[n.ID] = int32(len(g.clusters))
		g.clusters = append(g.clusters, Cluster{Node: n.ID, Eps: n.Eps, MinPts: n.MinPts, Score: n.Score})
	}
	sizes := make([]int, len(groups))
	for i, g := range groups {
		g.Clusters, sizes[i] = len(g.clusters), len(g.rows)
		g.Eps = refined.Tree.Levels[refined.Tree.Chosen[i]].Eps[i]
		if (g.From == FromKnee || g.From == FromFloor) && g.Eps > g.ladder[0] {
			g.From = FromRefinement
		}
	}
	tallies := make([]*groupTally, len(groups))
	if err := workers.Each(sizes, c.workers, func(i, _ int) error {
		for _, row := range groups[i].rows {
			labels[row] = number[refined.Labels[row]]
		}
		tallies[i] = c.tally(groups[i], labels)
		return nil
	}); err != nil {
		return err
	}
	return c.describe(groups, tallies)
}
