package partition

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/space"
	"moriens/analysis/team"
)

// Compute clusters bursts. Columns that do not fit each other, dimensions that the bursts lack, and
// options out of their range are errors; no bursts, and bursts none of which is complete, are results
// without clusters and with a warning. It allocates about 75 bytes a burst in
// one dimension and 135 in two.
//
// With several members in Options.Team it is collective: an error of one is one of all.
func Compute(b Bursts, o Options) (*Result, error) {
	c := &computation{bursts: &b, options: &o, team: o.Team, workers: max(1, o.Workers)}
	if err := team.Explain(c.team, o.check(&b)); err != nil {
		return nil, err
	}
	var err error
	if c.space, err = space.NewShared(c.team, b.Columns, o.Dims); err != nil {
		return nil, err
	}
	selection, err := c.space.Select(o.Filter)
	if err != nil {
		return nil, err
	}
	r := &Result{Labels: make([]int32, b.Len()), Selection: selection, TotalNS: selection.TotalNS()}
	rows := make([]int32, 0, b.Len())
	for row, status := range selection.Status {
		switch {
		case status == space.Complete || status == space.Short && o.Filter.Auto:
			rows = append(rows, int32(row))
		case status == space.Missing:
			r.Labels[row] = LabelMissing
		default:
			r.Labels[row] = LabelFiltered
		}
	}
	groups, err := c.unite(c.split(rows))
	if err != nil {
		return nil, err
	}
	if o.Filter.Auto {
		if err := c.keepWhole(groups, selection, r.Labels); err != nil {
			return nil, err
		}
	}
	if groups, err = c.measure(groups); err != nil {
		return nil, err
	}
	if o.Normalise {
		if err := c.normalise(groups); err != nil {
			return nil, err
		}
	}
	c.resolution = c.findResolution()
	r.Resolution = c.resolution
	if err := c.refine(groups, r); err != nil {
		return nil, err
	}
	assemble(groups, r)
	r.Warnings = c.warnings(groups, r)
	return r, nil
}

type computation struct {
	bursts     *Bursts
	options    *Options
	team       team.Threads
	space      *space.Space
	extent     []float64 // range of the coordinates by dimension, before Normalise; nil without
	resolution float64
	workers    int
	spread     spread
	stopped    bool // the refinement was
}

// group is a group at work: the same at all members, but for rows, at and points.
type group struct {
	Group
	rows     []int32 // of its bursts here, ascending
	place    int     // the member that clusters it, or everywhere
	at       []int32 // rows of its bursts that are clustered here, ascending
	points   dbscan.Points
	index    *dbscan.Shared // nil if there are fewer than MinPts, and where it is clustered elsewhere
	ladder   []float64      // Eps by step of the refinement
	clusters []Cluster      // by Node
	lo, hi   []float64      // range of the coordinates
	noiseNS  int64
}

// split sorts rows by call paths and cuts them into groups.
func (c *computation) split(rows []int32) []*group {
	if len(rows) == 0 {
		return nil
	}
	if c.options.By == ByNone {
		return []*group{{rows: rows}}
	}
	before, after := c.bursts.Before, c.bursts.After
	rows = sortByPath(sortByPath(rows, after), before)
	var groups []*group
	begin := 0
	for i := 1; i <= len(rows); i++ {
		first := rows[begin]
		if i < len(rows) && before[rows[i]] == before[first] && after[rows[i]] == after[first] {
			continue
		}
		groups = append(groups, &group{Group: Group{Before: before[first], After: after[first]}, rows: rows[begin:i]})
		begin = i
	}
	return groups
}

// unite gives every member a group for each that one has bursts of, by Before and After.
func (c *computation) unite(groups []*group) ([]*group, error) {
	pairOf := func(g *group) uint64 { return uint64(g.Before)<<32 | uint64(g.After) }
	var pairs []uint64
	for _, g := range groups {
		pairs = append(pairs, pairOf(g))
	}
	all, err := team.Gather(c.team, pairs)
	if err != nil {
		return nil, err
	}
	pairs = slices.Concat(all...)
	slices.Sort(pairs)
	var united []*group
	for _, pair := range slices.Compact(pairs) {
		if len(groups) > 0 && pairOf(groups[0]) == pair {
			united = append(united, groups[0])
			groups = groups[1:]
			continue
		}
		united = append(united, &group{Group: Group{Before: uint32(pair >> 32), After: uint32(pair)}})
	}
	return united, nil
}

// measure counts the bursts of the groups and sorts those that have some, by total time.
func (c *computation) measure(groups []*group) ([]*group, error) {
	sums := make([]int64, 2*len(groups))
	for i, g := range groups {
		sums[2*i] = int64(len(g.rows))
		for _, row := range g.rows {
			sums[2*i+1] += c.bursts.DurationNS[row]
		}
	}
	if err := c.team.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	for i, g := range groups {
		g.Bursts, g.TimeNS = int(sums[2*i]), sums[2*i+1]
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return g.Bursts == 0 })
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	return groups, nil
}

// sortByPath sorts rows by their path, stably, by radix: paths are small numbers, so that one pass is
// the rule. It may overwrite rows.
func sortByPath(rows []int32, path []uint32) []int32 {
	const digitBits = 11
	var varying uint32
	for _, row := range rows {
		varying |= path[row] ^ path[rows[0]]
	}
	var to []int32
	for shift := 0; varying>>shift != 0; shift += digitBits {
		if to == nil {
			to = make([]int32, len(rows))
		}
		var next [1 << digitBits]int32
		for _, row := range rows {
			next[path[row]>>shift&(1<<digitBits-1)]++
		}
		var sum int32
		for digit, count := range next {
			next[digit] = sum
			sum += count
		}
		for _, row := range rows {
			at := &next[path[row]>>shift&(1<<digitBits-1)]
			to[*at] = row
			*at++
		}
		rows, to = to, rows
	}
	return rows
}

// assemble numbers the clusters of all groups, whose labels count from 0 in each of them so far.
func assemble(groups []*group, r *Result) {
	first := make([]int, len(groups)) // of a group's clusters among all
	for i, g := range groups {
		first[i] = len(r.Clusters)
		for k := range g.clusters {
			g.clusters[k].Group = i
			g.clusters[k].ID = int32(k)
		}
		r.Groups = append(r.Groups, g.Group)
		r.Clusters = append(r.Clusters, g.clusters...)
		r.Noise.Bursts += g.NoiseBursts
		r.Noise.TimeNS += g.noiseNS
		r.Clustered.Bursts += g.Bursts - g.NoiseBursts
		r.Clustered.TimeNS += g.TimeNS - g.noiseNS
	}
	slices.SortFunc(r.Clusters, func(a, b Cluster) int {
		ga, gb := groups[a.Group], groups[b.Group]
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS),
			cmp.Compare(ga.Before, gb.Before), cmp.Compare(ga.After, gb.After), cmp.Compare(a.ID, b.ID))
	})
	ids := make([]int32, len(r.Clusters))
	for i := range r.Clusters {
		k := &r.Clusters[i]
		ids[first[k.Group]+int(k.ID)] = int32(i + 1)
		k.ID = int32(i + 1)
		k.Share = share(k.TimeNS, r.TotalNS)
	}
	for i, g := range groups {
		for _, row := range g.rows {
			if label := r.Labels[row]; label >= 0 {
				r.Labels[row] = ids[first[i]+int(label)]
			} else {
				r.Labels[row] = LabelNoise
			}
		}
	}
	r.Noise.Share = share(r.Noise.TimeNS, r.TotalNS)
	r.Clustered.Share = share(r.Clustered.TimeNS, r.TotalNS)
}

func share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

func (c *computation) warnings(groups []*group, r *Result) []string {
	var w []string
	s := r.Selection
	switch complete := s.Bursts[space.Complete]; {
	case complete+s.Bursts[space.Missing]+s.Bursts[space.Short]+s.Bursts[space.OutOfRange] == 0:
		return []string{"there are no bursts"}
	case complete == 0:
		w = append(w, fmt.Sprintf("no burst is left to cluster: %d lack data for the dimensions, %d are filtered",
			s.Bursts[space.Missing], s.Bursts[space.Short]+s.Bursts[space.OutOfRange]))
	case s.Share(space.Missing) >= space.AutoShare:
		w = append(w, fmt.Sprintf("%d bursts with %.1f %% of the computing time lack data for the dimensions",
			s.Bursts[space.Missing], 100*s.Share(space.Missing)))
	}
	for j, d := range c.space.Dims() {
		if v, constant := constantDim(groups, j); constant && s.Bursts[space.Complete] > 1 {
			w = append(w, fmt.Sprintf("dimension %s tells no bursts apart: it is %.6g in all of them", d, c.space.Unscaled(j, v)))
		}
	}
	if c.stopped {
		w = append(w, "the densities of clusters are not refined to the end: there was no time")
	}
	points := 0
	for _, g := range groups {
		if g.Eps == 0 && g.From == FromFloor {
			points++
		}
	}
	if points > 0 {
		w = append(w, fmt.Sprintf("Eps is 0 in %d of %d groups, so that only equal bursts are together: "+
			"their distances have no knee and the dimensions no default resolution", points, len(groups)))
	}
	return w
}

func constantDim(groups []*group, j int) (v float64, constant bool) {
	for i, g := range groups {
		if i == 0 {
			v = g.lo[j]
		}
		if g.lo[j] != v || g.hi[j] != v {
			return 0, false
		}
	}
	return v, len(groups) > 0
}
