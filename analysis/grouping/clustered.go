package grouping

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/moment"
	"moriens/analysis/refine"
	"moriens/analysis/space"
)

// Clustered is a group with its clusters: Result.Adopt puts them in, Describe adds what they come to, and
// Result.Assemble numbers them among those of all groups.
type Clustered struct {
	Group
	Ladder   []float64 // Eps by step of the refinement
	Clusters []Cluster // by Node
	Lo, Hi   []float64 // range of the coordinates
	NoiseNS  int64
}

// ByTime orders groups by total time, descending, and those with as much by their call paths.
func ByTime(a, b *Clustered) int {
	return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
}

// SetDensities takes over the densities that the group is clustered with.
func (g *Clustered) SetDensities(d *Densities) {
	g.MinPts, g.From, g.Knee, g.Ladder = d.MinPts, d.From, d.Knee, d.Eps
}

// Refinement are the options of the refinement.
func (o *Options) Refinement() refine.Options {
	r := refine.Options{Strict: o.Strict, Freeze: o.Freeze, Stop: o.Stop, Halt: o.Halt, Workers: max(1, o.Workers)}
	if o.Fixed == nil && o.MinPts == 0 && !o.Strict {
		r.RareMinPts = o.minPts
	}
	return r
}

// Adopt takes over a refinement of the groups. It returns, by node, the number of the cluster in its group that it has
// become, from 0; LabelNoise for refine.Noise.
func (r *Result) Adopt(groups []*Clustered, refined *refine.Result) (number []int32) {
	r.Tree, r.Lineage = &refined.Tree, refined.Lineage
	r.Score, r.NoiseScore = refined.Score.Global, math.NaN()
	if refined.Score.Defined() {
		r.NoiseScore = refined.Score.Labels[refine.Noise].Score
	}
	number = []int32{refine.Noise: LabelNoise}
	for _, n := range refined.Nodes {
		g := groups[n.Group]
		for len(number) <= int(n.ID) {
			number = append(number, LabelNoise)
		}
		number[n.ID] = int32(len(g.Clusters))
		g.Clusters = append(g.Clusters, Cluster{Node: n.ID, Eps: n.Eps, MinPts: n.MinPts, Score: n.Score})
	}
	for i, g := range groups {
		g.Group.Clusters = len(g.Clusters)
		g.Eps = refined.Tree.Levels[refined.Tree.Chosen[i]].Eps[i]
		if (g.From == FromKnee || g.From == FromFloor) && g.Eps > g.Ladder[0] {
			g.From = FromRefinement
		}
	}
	return number
}

// Describe says how many bursts are noise and in clusters, and how long they are: columns are, by cluster, the
// durations and the counters where they were read.
func (g *Clustered) Describe(noise moment.Exact, columns [][]moment.Exact) {
	g.NoiseBursts, g.NoiseNS = int(noise.N), int64(noise.Total[0])
	for i := range g.Clusters {
		k, duration := &g.Clusters[i], &columns[i][0]
		k.Rare = g.From == FromNone
		k.Bursts, k.TimeNS = int(duration.N), int64(duration.Total[0]) // all bursts together fit
		k.MeanNS, k.StdNS = duration.Mean(), duration.Std()
		for _, counter := range columns[i][1:] {
			k.CounterMean = append(k.CounterMean, counter.Mean())
			k.CounterStd = append(k.CounterStd, counter.Std())
		}
	}
}

// Assemble numbers the clusters of all groups, which are by total time. It returns their IDs by group, in the order of
// Found.Clusters.
func (r *Result) Assemble(groups []*Clustered) (ids [][]int32) {
	for i, g := range groups {
		ids = append(ids, make([]int32, len(g.Clusters)))
		for k := range g.Clusters {
			g.Clusters[k].Group = i
			g.Clusters[k].ID = int32(k)
		}
		r.Groups = append(r.Groups, g.Group)
		r.Clusters = append(r.Clusters, g.Clusters...)
		r.Noise.Bursts += g.NoiseBursts
		r.Noise.TimeNS += g.NoiseNS
		r.Clustered.Bursts += g.Bursts - g.NoiseBursts
		r.Clustered.TimeNS += g.TimeNS - g.NoiseNS
	}
	slices.SortFunc(r.Clusters, func(a, b Cluster) int {
		ga, gb := groups[a.Group], groups[b.Group]
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS),
			cmp.Compare(ga.Before, gb.Before), cmp.Compare(ga.After, gb.After), cmp.Compare(a.ID, b.ID))
	})
	for i := range r.Clusters {
		k := &r.Clusters[i]
		ids[k.Group][k.ID] = int32(i + 1)
		k.ID = int32(i + 1)
		k.Share = Share(k.TimeNS, r.TotalNS)
	}
	r.Noise.Share = Share(r.Noise.TimeNS, r.TotalNS)
	r.Clustered.Share = Share(r.Clustered.TimeNS, r.TotalNS)
	return ids
}

// Share is the part of a time that some time is; 0 of none.
func Share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// Chosen says which bursts were clustered, and by what.
type Chosen struct {
	Complete, Missing, Filtered Tally // those clustered, that lack data, and that are filtered; their Share is not used
	Dims                        []space.Dim
	Unscaled                    func(dim int, v float64) float64 // the value that a coordinate stands for
	Stopped                     bool                             // Options.Stop has ended the refinement
}

// Warn gives a result whose groups are these its warnings.
func (r *Result) Warn(c *Chosen, groups []*Clustered) {
	missing := Share(c.Missing.TimeNS, r.TotalNS)
	switch {
	case c.Complete.Bursts+c.Missing.Bursts+c.Filtered.Bursts == 0:
		r.Warnings = []string{"no bursts"}
		return
	case c.Complete.Bursts == 0:
		r.Warnings = append(r.Warnings, fmt.Sprintf("no bursts left to cluster: %d lack data for the dimensions, %d are filtered",
			c.Missing.Bursts, c.Filtered.Bursts))
	case missing >= space.AutoShare:
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d bursts with %.1f %% of the computing time lack data for the dimensions",
			c.Missing.Bursts, 100*missing))
	}
	for j, d := range c.Dims {
		if v, constant := constantDim(groups, j); constant && c.Complete.Bursts > 1 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("dimension %s separates no bursts: it is %.6g in all of them", d, c.Unscaled(j, v)))
		}
	}
	switch {
	case r.Sample != nil && r.Sample.Of > 0:
		r.Warnings = append(r.Warnings, fmt.Sprintf("no time to cluster all bursts: the clusters are those of a sample of %d of %d bursts; each burst is in the cluster of the "+
			"nearest core point, which %.1f %% have within Eps; there is no score", r.Sample.Bursts, r.Sample.Of, 100*r.Sample.Assigned))
	case r.Unscored && len(r.Tree.Levels) == 1:
		r.Warnings = append(r.Warnings, "no time to compare the ranks' sequences: the clusters are those of the first density and have no score")
	case r.Unscored && !slices.ContainsFunc(r.Clusters, func(k Cluster) bool { return !math.IsNaN(k.Score) }):
		r.Warnings = append(r.Warnings, "no time to compare the ranks' sequences: there is no score")
	case r.Unscored:
		r.Warnings = append(r.Warnings, "no time for the overall score; each cluster's score is that of its refinement step")
	case c.Stopped:
		r.Warnings = append(r.Warnings, "no time to refine all densities")
	}
	points := 0
	for _, g := range groups {
		if g.Eps == 0 && g.From == FromFloor {
			points++
		}
	}
	if points > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("Eps is 0 in %d of %d groups, so only equal bursts share a cluster: "+
			"their distances have no knee and the dimensions no default resolution", points, len(groups)))
	}
}

func constantDim(groups []*Clustered, j int) (v float64, constant bool) {
	for i, g := range groups {
		if i == 0 {
			v = g.Lo[j]
		}
		if g.Lo[j] != v || g.Hi[j] != v {
			return 0, false
		}
	}
	return v, len(groups) > 0
}
