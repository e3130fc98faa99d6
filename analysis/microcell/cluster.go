package microcell

import (
	"errors"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
)

// errAsk ends a round of the refinement: the answer depends on places that can be had.
var errAsk = errors.New("microcell: places are asked for")

// An answer is what a group's units were clustered into, once that is settled. A round starts again from the first
// step, but its steps are the same up to the question that ended the last round: the n-th answer of a round is also the
// n-th of the next one. If a unit has been split since, its places have its label, because the step was settled without
// asking for them.
type answer struct {
	units    []int32
	labels   []int32 // per unit
	clusters int
}

// A doubt is a clustering that depends on places that cannot be had.
type doubt struct {
	eps   float64
	units []int32 // on whose
}

// refine clusters the groups, asking for places until nothing depends on more of them.
func (c *computation) refine() (*refine.Result, error) {
	for {
		c.begin()
		refined, err := refine.Run(c.bursts(), c.refinement())
		if !errors.Is(err, errAsk) {
			return refined, err
		}
		if err := c.split(); err != nil {
			return nil, err
		}
	}
}

// begin puts the units that have bursts now in rows.
func (c *computation) begin() {
	c.order = c.order[:0]
	for _, g := range c.groups {
		g.calls, g.asked, g.first = 0, nil, len(c.order)
		c.order = append(c.order, g.units...)
	}
	c.steps.begin()
}

func (c *computation) bursts() refine.Bursts {
	b := refine.Bursts{DurationNS: make([]int64, len(c.order))}
	for row, i := range c.order {
		b.DurationNS[row] = c.units[i].timeNS()
	}
	if c.set.Threads > 0 {
		b.Score = c.score
	}
	for _, g := range c.groups {
		x := refine.Group{Eps: g.Ladder, MinPts: g.MinPts, Cluster: func(at []int32, eps float64, minPts int) ([]int32, int, error) {
			return c.cluster(g, at, eps, minPts)
		}}
		for k, i := range g.units {
			x.Rows = append(x.Rows, int32(g.first+k))
			x.Weights = append(x.Weights, c.units[i].Cell.Count)
		}
		b.Groups = append(b.Groups, x)
	}
	return b
}

// cluster clusters some of a group's units, by their places in it.
func (c *computation) cluster(g *group, at []int32, eps float64, minPts int) (labels []int32, clusters int, err error) {
	units := make([]int32, len(at))
	for k, i := range at {
		units[k] = g.units[i]
	}
	if g.calls++; g.calls <= len(g.answers) {
		a := &g.answers[g.calls-1]
		return a.of(units, c.parent), a.clusters, nil
	}
	w, err := dbscan.Weighted(len(c.set.Dims), c.cellsOf(units), eps, minPts, g.threads)
	if err != nil {
		return nil, 0, err
	}
	if !w.Exact {
		if w, err = c.settleFor(g, w, units, eps); err != nil {
			return nil, 0, err
		}
	}
	g.answers = append(g.answers, answer{units, slices.Clone(w.Labels), w.Clusters}) // the labels that are returned are the refinement's
	return w.Labels, w.Clusters, nil
}

// settleFor takes an answer in which the places that cannot be had are at their means, if it depends on no others.
func (c *computation) settleFor(g *group, w *dbscan.Weighting, units []int32, eps float64) (*dbscan.Weighting, error) {
	if c.ask(g, w, units) {
		return nil, errAsk
	}
	w, err := w.AtMeans()
	if err != nil {
		return nil, err
	}
	if c.ask(g, w, units) { // now that the others are somewhere
		return nil, errAsk
	}
	x := doubt{eps: eps}
	for _, i := range w.Questions {
		x.units = append(x.units, units[i])
	}
	g.doubts = append(g.doubts, x)
	return w, nil
}

// ask asks for those places of an answer's questions that can be returned, and reports whether there are any.
func (c *computation) ask(g *group, w *dbscan.Weighting, units []int32) bool {
	for _, i := range w.Questions {
		if unit := units[i]; !c.lost[unit] {
			g.asked = append(g.asked, unit)
		}
	}
	return len(g.asked) > 0
}

// of gives units the labels of the answer, which knows them or those that they have come out of, in the same order.
func (a *answer) of(units, parent []int32) []int32 {
	labels := make([]int32, len(units))
	at := 0
	for k, i := range units {
		for a.units[at] != i && a.units[at] != parent[i] {
			at++
		}
		labels[k] = a.labels[at]
	}
	return labels
}

func (c *computation) cellsOf(units []int32) []cell.Cell {
	cells := make([]cell.Cell, len(units))
	for k, i := range units {
		cells[k] = c.units[i].Cell
	}
	return cells
}
