package grouping

import (
	"errors"
	"math"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// DefaultSample is how many bursts are about enough to find the kinds of bursts of a run in less than a second.
const DefaultSample = 1 << 16

// A Sample says of which bursts the clusters were found. All others are in the cluster of the nearest of its core
// points, if that is within Eps, or noise.
type Sample struct {
	Bursts int // that were clustered
	Of     int // that were to be
	// Assigned is the share of these that are in a cluster, 0–1.
	Assigned float64
}

// refineSample clusters a sample of the groups' bursts with one density for each group, and gives all others the
// clusters of those. The sample is by group and duration, and each of its bursts has the weight of those that it stands
// for, so that densities are those of all bursts. There is no score: what threads do one after the other is not in it.
func (c *computation) refineSample(groups []*group, r *Result) error {
	counts, err := c.strata(groups)
	if err != nil {
		return err
	}
	drawn, err := c.draw(groups, counts)
	if err != nil {
		return err
	}
	if err := c.over(); err != nil {
		return err
	}
	s := &sampled{computation: c, groups: groups}
	if err := s.cluster(drawn); err != nil {
		return err
	}
	if err := c.over(); err != nil {
		return err
	}
	r.Sample = &Sample{Bursts: len(drawn)}
	return s.adopt(r)
}

// sampled are groups that are clustered by a sample.
type sampled struct {
	*computation
	groups  []*group
	first   []int // by group: where its part of drawn begins; and where the last one ends
	drawn   []draw
	core    []bool // by burst of the sample
	refined *refine.Result
}

// cluster clusters the sample; each member does.
func (s *sampled) cluster(drawn []draw) error {
	s.drawn, s.core = drawn, make([]bool, len(drawn))
	input := refine.Bursts{DurationNS: make([]int64, len(drawn))}
	for i, d := range drawn {
		input.DurationNS[i] = d.ns * d.weight
	}
	at := 0
	sizes := make([]int, len(s.groups))
	for i := range s.groups {
		s.first = append(s.first, at)
		for at < len(drawn) && drawn[at].stratum/steps == i {
			at++
		}
		sizes[i] = at - s.first[i]
	}
	s.first = append(s.first, at)
	input.Groups = make([]refine.Group, len(s.groups))
	err := workers.Each(sizes, s.workers, func(i, threads int) error {
		var err error
		input.Groups[i], err = s.group(i, threads)
		return err
	})
	if err != nil {
		return err
	}
	options := s.options.Refinement()
	options.Stop, options.Halt = nil, nil
	s.refined, err = refine.Run(input, options)
	return err
}

// group finds the densities of a group.
func (s *sampled) group(number, threads int) (refine.Group, error) {
	g, first := s.groups[number], s.first[number]
	drawn, core := s.drawn[first:s.first[number+1]], s.core[first:]
	dims := len(s.options.Dims)
	points := dbscan.Points{Dims: dims, Coords: make([]float64, 0, len(drawn)*dims)}
	weights := make([]int64, len(drawn))
	rows := make([]int32, len(drawn))
	cells := make([]cell.Cell, len(drawn))
	for i, d := range drawn {
		points.Coords, weights[i], rows[i] = append(points.Coords, d.at...), d.weight, int32(first+i)
		cells[i] = cell.Of(d.at, d.weight)
	}
	d, err := s.options.FindDensities(g.Bursts, s.resolution, func(k, _ int) (Curve, error) {
		return dbscan.WeightedCurve(dims, cells, k, 0, threads)
	})
	g.SetDensities(&d)
	return refine.Group{
		Rows: rows, Weights: weights, Eps: d.Eps[:min(len(d.Eps), 1)], MinPts: d.MinPts,
		Cluster: func(at []int32, eps float64, minPts int) ([]int32, int, error) {
			some := dbscan.Points{Dims: dims, Coords: make([]float64, 0, len(at)*dims)}
			own := make([]int64, len(at))
			for k, i := range at {
				some.Coords, own[k] = append(some.Coords, drawn[i].at...), weights[i]
			}
			found, err := dbscan.WeightedCluster(some, own, eps, minPts, threads)
			if err != nil {
				return nil, 0, err
			}
			for k, i := range at {
				core[i] = found.Core[k]
			}
			return found.Labels, found.Clusters, nil
		},
	}, err
}

// adopt gives all bursts clusters, and describes these.
func (s *sampled) adopt(r *Result) error {
	s.beginLabels(r)
	number := r.Adopt(foundIn(s.groups), s.refined)
	lineage := s.lineages(r)
	r.Lineage = make([]uint32, len(r.Labels))
	sizes := make([]int, len(s.groups))
	for i, g := range s.groups {
		sizes[i] = len(g.rows)
	}
	dims := len(s.options.Dims)
	lo, hi := make([]float64, dims*len(s.groups)), make([]float64, dims*len(s.groups))
	tallies := make([]*GroupTally, len(s.groups))
	err := workers.Each(sizes, s.workers, func(i, threads int) error {
		g := s.groups[i]
		g.Lo, g.Hi = lo[i*dims:(i+1)*dims], hi[i*dims:(i+1)*dims]
		ranges(nil, g.Lo, g.Hi)
		if err := s.assign(i, threads, func(row, node int32) {
			r.Labels[row], r.Lineage[row] = number[node], lineage[node]
		}); err != nil {
			return err
		}
		tallies[i] = s.tally(g, r.Labels)
		return nil
	})
	if err := team.Explain(s.team, err); err != nil {
		return err
	}
	if err := team.Bounds(s.team, lo, hi); err != nil {
		return err
	}
	if err := Describe(s.team, foundIn(s.groups), tallies); err != nil {
		return err
	}
	s.describeNodes(r)
	return nil
}

// assign finds the node of each burst here of a group: that of the nearest core point within Eps.
func (s *sampled) assign(number, threads int, put func(row, node int32)) error {
	g, dims := s.groups[number], len(s.options.Dims)
	cores := dbscan.Points{Dims: dims}
	var nodes []int32
	for i := s.first[number]; i < s.first[number+1]; i++ {
		if node := s.refined.Labels[i]; node != refine.Noise && (s.core[i] || g.From == FromNone) {
			cores.Coords, nodes = append(cores.Coords, s.drawn[i].at...), append(nodes, node)
		}
	}
	lookup, err := dbscan.NewLookup(cores, nodes, g.Eps, threads)
	if err != nil {
		return err
	}
	bounds := make([][]float64, threads) // of each: the least, and the largest
	workers.Chunks(len(g.rows), threads, func(worker, from, to int) {
		const together = 1024
		lo, hi := make([]float64, 2*dims)[:dims:dims], make([]float64, dims)
		ranges(nil, lo, hi)
		var coords []float64
		for some := range slices.Chunk(g.rows[from:to], together) {
			coords = s.space.Coordinates(coords[:0], some)
			widen(coords, lo, hi)
			for k, row := range some {
				node := refine.Noise
				if g.From == FromNone && len(nodes) > 0 { // all are one cluster
					node = nodes[0]
				} else if label := lookup.Label(coords[k*dims : (k+1)*dims]); label != dbscan.Noise {
					node = label
				}
				put(row, node)
			}
		}
		bounds[worker] = append(lo, hi...)
	})
	for _, b := range bounds {
		if b != nil {
			widen(b, g.Lo, g.Hi)
		}
	}
	return nil
}

// widen has a range hold more coordinates; infinite ones, of none, say nothing.
func widen(coords, lo, hi []float64) {
	for at := 0; at < len(coords); at += len(lo) {
		for j, v := range coords[at : at+len(lo)] {
			if !math.IsInf(v, 0) {
				lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
			}
		}
	}
}

// lineages are those of the bursts of each node of the only step, noise among them though the sample may have had none.
func (s *sampled) lineages(r *Result) []uint32 {
	list := []uint32{0}
	for i, node := range s.refined.Labels {
		for len(list) <= int(node) {
			list = append(list, 0)
		}
		list[node] = s.refined.Lineage[i]
	}
	if list[refine.Noise] == 0 && len(r.Tree.Levels) > 0 {
		list[refine.Noise] = uint32(len(r.Tree.Lineages))
		r.Tree.Lineages = append(r.Tree.Lineages, refine.Lineage{Node: refine.Noise})
	}
	return list
}

// describeNodes has the nodes of the only step say what all bursts come to.
func (s *sampled) describeNodes(r *Result) {
	if len(r.Tree.Levels) == 0 {
		return
	}
	level := &r.Tree.Levels[0]
	noise := refine.Node{Group: -1, ID: refine.Noise, Score: math.NaN()}
	of := make(map[int32]*Cluster)
	for _, g := range s.groups {
		noise.Bursts += g.NoiseBursts
		noise.TimeNS += g.NoiseNS
		r.Sample.Of += g.Bursts
		for k := range g.Clusters {
			of[g.Clusters[k].Node] = &g.Clusters[k]
		}
	}
	r.Sample.Assigned = 1 - float64(noise.Bursts)/float64(r.Sample.Of)
	level.Nodes = slices.DeleteFunc(level.Nodes, func(n refine.Node) bool { return n.ID == refine.Noise })
	for i := range level.Nodes {
		n := &level.Nodes[i]
		n.Bursts, n.TimeNS = of[n.ID].Bursts, of[n.ID].TimeNS
	}
	if noise.Bursts > 0 {
		level.Nodes = slices.Insert(level.Nodes, 0, noise)
	}
	r.Tree.Why = "the only step: a sample has no score, the knee of the distances decides"
}

// fallBack clusters a sample of groups for which there was no time, where that is wanted.
func (c *computation) fallBack(groups []*group, r *Result, err error) error {
	if !errors.Is(err, ErrHalted) || c.options.Fallback == 0 {
		return err
	}
	o := *c.options
	o.Sample, o.Halt = o.Fallback, nil
	c.options, c.spread = &o, spread{}
	for _, g := range groups {
		g.at, g.points, g.index = nil, dbscan.Points{}, nil
		g.Ladder, g.Knee, g.Clustered.Clusters = nil, 0, nil
	}
	return c.refineSample(groups, r)
}
