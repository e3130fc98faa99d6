package cells

import (
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/conclude/clustering"
	"moriens/conclude/rebuild"
)

// A Labelled is a clustering of a run's bursts by that of micro-cells.
type Labelled struct {
	*clustering.Proposal
	clustering.Located
}

// Label is the clustering of a run's bursts, by that of the micro-cells.
func (c *Collected) Label(r *rebuild.Rebuilt, o grouping.Options) (*Labelled, error) {
	if c.set == nil && len(c.threads.Rings) == 0 { // no agent had any
		return &Labelled{Proposal: clustering.None(r.Run, o)}, nil
	}
	if c.err != nil {
		return nil, c.err
	}
	numbers := make(map[microcell.Group]microcell.Group) // the store's, by the run's
	set, path := c.set, c.Frozen.Place
	in := clustering.Cells{
		Result: between(c.result, path), Dims: set.Dims, Side: set.Side, Counters: set.Counters, By: by(set, o),
		Locate: func(before, after uint32, at []float64) (int32, bool) {
			g, known := numbers[microcell.Group{Before: before, After: after}]
			if !known {
				return 0, false
			}
			return c.Asked.Locate(g.Before, g.After, at)
		},
	}
	if c.result.Labels == nil {
		in.Found, in.Speed = c.labelsOf(r), c.speedOf(r)
	}
	if !o.Filter.Auto { // else it was found from the cells
		in.MinNS = o.Filter.MinNS
	}
	for _, g := range set.Groups {
		of := microcell.Group{Before: path(g.Before), After: path(g.After)}
		numbers[of] = g
		in.Between = append(in.Between, of)
	}
	found, located, err := clustering.FromCells(r.Run, in, o)
	return &Labelled{found, located}, err
}

// labelsOf are, by thread of a run, the labels of its bursts, as their node has sent them by row.
func (c *Collected) labelsOf(r *rebuild.Rebuilt) [][]clustering.BurstLabel {
	list := make([][]clustering.BurstLabel, len(r.Rings))
	for thread, ring := range r.Rings {
		runs, behind := c.labels[ring.Info.Ring], uint64(0) // the rows of the runs that are done
		gaps := r.Gaps[thread]
		for now := range uint64(ring.Calls) {
			if len(gaps) > 0 && uint64(gaps[0]) == now {
				gaps = gaps[1:]
				continue
			}
			row := c.filled.Row(ring, now)
			for len(runs) > 0 && row >= behind+uint64(runs[0].Rows) {
				behind += uint64(runs[0].Rows)
				runs = runs[1:]
			}
			label := clustering.BurstLabel{}
			if len(runs) > 0 {
				label = clustering.BurstLabel{Cluster: runs[0].Cluster, Kind: runs[0].Kind}
			}
			list[thread] = append(list[thread], label)
		}
	}
	return list
}

// speedOf are the speeds of a run's threads; nil = they were not compared.
func (c *Collected) speedOf(r *rebuild.Rebuilt) []float64 {
	if c.result.Speed == nil {
		return nil
	}
	list := slices.Repeat([]float64{1}, len(r.Run.Threads))
	for i, ring := range c.threads.Rings {
		if thread, there := r.Thread(ring); there {
			list[thread] = c.result.Speed[i]
		}
	}
	return list
}
