package partition

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/workers"
)

// refine clusters the groups and describes their clusters. It sorts the groups, by total time.
func (c *computation) refine(groups []*group, r *Result) error {
	for _, g := range groups {
		g.Bursts = len(g.rows)
		for _, row := range g.rows {
			g.TimeNS += c.bursts.DurationNS[row]
		}
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = g.Bursts
	}
	if err := workers.Each(sizes, c.workers, func(i, threads int) error { return c.prepare(groups[i], threads) }); err != nil {
		return err
	}
	input := refine.Bursts{DurationNS: c.bursts.DurationNS, Ends: c.bursts.ThreadEnds, Anchors: c.bursts.Anchors}
	for _, g := range groups {
		input.Groups = append(input.Groups, refine.Group{Rows: g.rows, Points: g.points, Index: g.index, Eps: g.ladder, MinPts: g.MinPts})
		g.points, g.index = dbscan.Points{}, nil // the refinement lets go of them
	}
	o := refine.Options{Strict: c.options.Strict, Freeze: c.options.Freeze, Workers: c.workers}
	if c.options.Fixed == nil && c.options.MinPts == 0 && !c.options.Strict {
		o.RareMinPts = c.options.minPts
	}
	refined, err := refine.Run(input, o)
	if err != nil {
		return err
	}
	r.Tree = &refined.Tree
	r.Score, r.NoiseScore = refined.Score.Global, math.NaN()
	if refined.Score.Defined() {
		r.NoiseScore = refined.Score.Labels[refine.Noise].Score
	}
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
		g.Clusters, sizes[i] = len(g.clusters), g.Bursts
		g.Eps = refined.Tree.Levels[refined.Tree.Chosen[i]].Eps[i]
		if (g.From == FromKnee || g.From == FromFloor) && g.Eps > g.ladder[0] {
			g.From = FromRefinement
		}
	}
	return workers.Each(sizes, c.workers, func(i, _ int) error {
		for _, row := range groups[i].rows {
			labels[row] = number[refined.Labels[row]]
		}
		c.describe(groups[i], labels)
		return nil
	})
}
