package microcell

import (
	"fmt"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/refine"
)

// result puts together what a refinement has found.
func (c *computation) result(refined *refine.Result) *Result {
	p := &grouping.Result{TotalNS: c.set.TimeNS}
	found := make([]*grouping.Clustered, len(c.groups))
	for i, g := range c.groups {
		found[i] = &g.Clustered
	}
	number := p.Adopt(found, refined)
	labels := make([]int32, len(c.order)) // per row: the cluster in its group
	for row, node := range refined.Labels {
		labels[row] = number[node]
	}
	for _, g := range c.groups {
		c.describe(g, labels[g.first:][:len(g.units)])
	}
	r := &Result{
		Units: c.units, Labels: slices.Repeat([]int32{grouping.LabelNoise}, len(c.units)), Lineage: make([]uint32, len(c.units)),
		TotalNS: p.TotalNS, MinNS: c.minNS, Resolution: c.raise(c.options.Floor()),
	}
	for i, ids := range p.Assemble(found) {
		g := c.groups[i]
		for k, unit := range g.units {
			r.Lineage[unit] = p.Lineage[g.first+k]
			if label := labels[g.first+k]; label >= 0 {
				r.Labels[unit] = ids[label]
			}
		}
	}
	chosen := c.chosen(r)
	chosen.Stopped = refined.Stopped
	p.Warn(chosen, found)
	c.certify(p.Tree)
	r.Clusters, r.Groups, r.Noise, r.Clustered = p.Clusters, p.Groups, p.Noise, p.Clustered
	r.Score, r.NoiseScore, r.Tree, r.Certificate = p.Score, p.NoiseScore, p.Tree, c.certificate
	r.Warnings = append(p.Warnings, c.warnings(chosen)...)
	return r
}

// describe sums up the clusters of a group, by the clusters of its units.
func (c *computation) describe(g *group, labels []int32) {
	var noise moment.Exact
	columns := make([][]moment.Exact, len(g.Clusters))
	for k := range columns {
		columns[k] = make([]moment.Exact, 1+len(c.set.Counters))
	}
	for k, i := range g.units {
		u := &c.units[i]
		if labels[k] < 0 {
			noise.Merge(&u.Duration)
			continue
		}
		of := columns[labels[k]]
		of[0].Merge(&u.Duration)
		for j := range u.Counters {
			of[1+j].Merge(&u.Counters[j])
		}
	}
	g.Describe(noise, columns)
	if c.options.By == grouping.ByNone {
		return
	}
	for i := range g.Clusters {
		k := &g.Clusters[i]
		k.Before, k.After = []grouping.PathCount{{Path: g.Before, Bursts: k.Bursts}}, []grouping.PathCount{{Path: g.After, Bursts: k.Bursts}}
	}
}

// chosen counts what was clustered and what was not, and gives the units that were filtered their label.
func (c *computation) chosen(r *Result) *grouping.Chosen {
	x := &grouping.Chosen{Missing: c.set.Missing, Filtered: c.set.Short, Dims: c.set.Dims, Unscaled: func(_ int, v float64) float64 { return v }}
	for _, g := range c.groups {
		x.Complete.Bursts += g.Bursts
		x.Complete.TimeNS += g.TimeNS
	}
	for i, short := range c.short {
		if short {
			x.Filtered.Bursts += int(c.units[i].Cell.Count)
			x.Filtered.TimeNS += c.units[i].timeNS()
			r.Labels[i] = grouping.LabelFiltered
		}
	}
	r.Filtered = x.Filtered
	r.Filtered.Share = grouping.Share(r.Filtered.TimeNS, r.TotalNS)
	return x
}

// certify says on what the steps of the refinement depend that is not known.
func (c *computation) certify(tree *refine.Tree) {
	all := make(map[int32]bool)
	for level := range tree.Levels {
		now := make(map[int32]bool)
		for i, g := range c.groups {
			eps := tree.Levels[level].Eps[i]
			if level > 0 && eps == tree.Levels[level-1].Eps[i] { // clustered before
				continue
			}
			for _, x := range g.doubts {
				for _, unit := range x.units {
					if x.eps == eps {
						now[unit], all[unit] = true, true
					}
				}
			}
		}
		c.certificate.Steps = append(c.certificate.Steps, Step{
			Eps: tree.Levels[level].Eps, Exact: len(now) == 0, Units: len(now), Bursts: c.burstsOf(now),
		})
	}
	to := &c.certificate
	to.Exact, to.Units, to.Bursts = len(all) == 0, len(all), c.burstsOf(all)
}

func (c *computation) burstsOf(units map[int32]bool) int {
	sum := int64(0)
	for i := range units {
		sum += c.units[i].Cell.Count
	}
	return int(sum)
}

// warnings are those that bursts themselves would not ask for.
func (c *computation) warnings(x *grouping.Chosen) []string {
	var w []string
	if to := &c.certificate; to.Bound {
		w = append(w, fmt.Sprintf("Eps %.4g was requested, %.4g is used: micro-cells of side %.4g resolve nothing finer", to.Wanted, to.Floor, to.Side))
	}
	if to := &c.certificate; !to.Exact {
		w = append(w, fmt.Sprintf("the clusters are those of micro-cells at their means: to verify them, the positions of %d bursts (%d micro-cells) would be needed, which are no longer held or too many to request", to.Bursts, to.Units))
	}
	if n := c.set.Bursts - x.Complete.Bursts - x.Missing.Bursts - x.Filtered.Bursts; n > 0 {
		w = append(w, fmt.Sprintf("%d of %d bursts are in no micro-cell, for an unknown reason", n, c.set.Bursts))
	}
	return w
}
