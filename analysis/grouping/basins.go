package grouping

import (
	"moriens/analysis/dbscan"
	"moriens/analysis/kinds"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// BasinDensities finds the densities that a basin is clustered with. It needs no bursts, only counts of cells, as if
// all bursts were in the middles of cells: so they are the same where only counts are known. ofGroup is the number of
// bursts in the basin's group.
func (o *Options) BasinDensities(p *kinds.Proposal, basin, ofGroup, threads int) (Densities, error) {
	b, in, own := &p.Basins[basin], &p.Cells[basin], *o
	resolution := max(o.Floor(), p.Least) // cells resolve no less
	if !b.Alone {
		resolution = b.Eps
		if !p.ByOrder() { // nothing shows whether a small or a thin one is a kind
			own.MinPts = o.minPts(ofGroup)
			if floor := o.Floor(); floor > 0 {
				resolution = min(resolution, floor)
			}
		}
	}
	middles := dbscan.Points{Dims: in.Dims, Coords: in.Middles()}
	return own.FindDensities(int(b.Bursts), resolution, func(k, queries int) (Curve, error) {
		distances, err := dbscan.WeightedKDistance(middles, in.Counts, k, queries, threads)
		return dbscan.WholeCurve(distances), err
	})
}

// findDensities finds those of the basins: each member some of them, and all members receive all.
func (k *kinding) findDensities(p *kinds.Proposal, basins []*group) error {
	mine := func(i int) bool { return i%k.team.Size() == k.team.Rank() }
	sizes := make([]int, len(basins))
	for i := range basins {
		if mine(i) {
			sizes[i] = len(p.Cells[i].Counts)
		}
	}
	err := workers.Each(sizes, k.workers, func(i, threads int) error {
		if !mine(i) {
			return nil
		}
		if err := k.overAt(team.Solo{}); err != nil {
			return err
		}
		d, err := k.options.BasinDensities(p, i, k.groups[p.Basins[i].Group].Bursts, threads)
		basins[i].SetDensities(&d)
		return err
	})
	if err := k.agree(err); err != nil {
		return err
	}
	return k.shareDensities(basins, mine)
}
