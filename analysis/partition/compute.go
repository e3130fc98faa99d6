package partition

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/space"
)

// Compute clusters bursts. Columns that do not fit each other, dimensions that the bursts lack, and
// options out of their range are errors; no bursts, and bursts none of which is complete, are results
// without clusters and with a warning. It allocates about 70 bytes a burst in
// one dimension and 130 in two.
func Compute(b Bursts, o Options) (*Result, error) {
	if err := o.check(&b); err != nil {
		return nil, err
	}
	s, err := space.New(b.Columns, o.Dims)
	if err != nil {
		return nil, err
	}
	selection, err := s.Select(o.Filter)
	if err != nil {
		return nil, err
	}
	c := &computation{bursts: &b, options: &o, space: s, workers: max(1, o.Workers)}
	r := &Result{Labels: make([]int32, b.Len()), Selection: selection, TotalNS: selection.TotalNS()}
	rows := make([]int32, 0, selection.Bursts[space.Complete])
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
	groups := c.split(rows)
	if o.Filter.Auto {
		groups = c.keepWhole(groups, selection, r.Labels)
	}
	if o.Normalise {
		c.normalise(groups)
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
	space      *space.Space
	extent     []float64 // range of the coordinates by dimension, before Normalise; nil without
	resolution float64
	workers    int
}

// group is a group at work.
type group struct {
	Group
	rows     []int32 // of its bursts, ascending
	points   dbscan.Points
	index    *dbscan.Index // nil if there are fewer than MinPts
	ladder   []float64     // Eps by step of the refinement
	clusters []Cluster     // by Node
	lo, hi   []float64     // range of the coordinates
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
	case len(r.Labels) == 0:
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
