package clustering

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/trace"
	"moriens/trace/rundir"
)

// describe says how the clusters were found; rundir adds what the run itself contains.
func describe(run *trace.Run, result *grouping.Result, o grouping.Options) *rundir.Clusters {
	c := &rundir.Clusters{
		Predicted:     rundir.Number(math.NaN()),
		Shuffled:      rundir.Number(math.NaN()),
		Score:         rundir.Number(result.Score),
		NoiseScore:    rundir.Number(result.NoiseScore),
		Refinement:    describeTree(result, o),
		Algorithm:     "dbscan",
		By:            o.By.String(),
		Normalisation: "none: natural logarithm of the value in its unit",
		How:           "knee of the k-distance curve of each group, not below the resolution",
		MinPts:        "max(4, threads/4, bursts of the group/200), lower if many bursts belong to smaller kinds",
		Resolution:    rundir.Number(result.Resolution),
	}
	if o.Normalise {
		c.Normalisation = "each dimension, after its logarithm, scaled to 0 … 1 over the clustered bursts"
	}
	kinds := byKinds(result)
	if len(c.Refinement.Levels) > 1 && !kinds {
		c.How += "; refined from there by the score"
	}
	if kinds {
		c.Predicted, c.Shuffled = rundir.Number(result.Predicted), rundir.Number(result.Shuffled)
		c.Normalisation = "none for natural logarithms and ratios; linear durations and counters are fractions of their range"
		if c.How = "density proposes, order decides"; o.Kinds == grouping.KindsByDensity {
			c.How = "density decides"
		}
	}
	switch {
	case result.Sample != nil:
		s := result.Sample
		c.How += "; on a sample, other bursts join the cluster of the nearest core point within Eps"
		c.Sample = &rundir.SampleClustering{Bursts: s.Bursts, Of: s.Of, Assigned: rundir.Number(s.Assigned)}
	case result.Unscored:
		c.How += "; no time for the score"
	case result.Stopped:
		c.How += "; no time for all steps"
	}
	if o.Strict {
		c.MinPts = "max(2, threads/4)"
	}
	if o.Fixed != nil {
		c.How, c.MinPts = "given", fmt.Sprint(o.Fixed.MinPts)
	}
	if o.MinPts > 0 {
		c.MinPts = fmt.Sprint(o.MinPts)
	}
	for _, d := range o.Dims {
		c.Dimensions = append(c.Dimensions, describeDim(d, run.Counters))
	}
	paths := c.PathsOf(run)
	place := func(path uint32) int {
		if o.By == grouping.ByNone {
			return -1
		}
		return paths(path)
	}
	for _, g := range result.Groups {
		c.Groups = append(c.Groups, rundir.Group{
			Before: place(g.Before), After: place(g.After),
			Bursts: g.Bursts, Seconds: rundir.Number(float64(g.TimeNS) / 1e9),
			Eps: rundir.Number(g.Eps), EpsFrom: g.From.String(), Knee: rundir.Number(g.Knee), MinPts: g.MinPts,
			Clusters: g.Clusters, Noise: g.NoiseBursts, Rare: g.From == grouping.FromNone,
		})
	}
	c.Eps = epsUsed(result)
	return c
}

// epsUsed lists the Eps of each group at the steps up to the one that it has chosen.
func epsUsed(result *grouping.Result) []rundir.Number {
	var list []rundir.Number
	if result.Tree == nil {
		return nil
	}
	for i, level := range result.Tree.Levels {
		for group, eps := range level.Eps {
			if i <= result.Tree.Chosen[group] && result.Groups[group].From != grouping.FromNone {
				list = append(list, rundir.Number(eps))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func describeDim(d space.Dim, counters []trace.Counter) rundir.Dimension {
	scale := d.Scale.String()
	unitOf := func(quantity string) string {
		for _, c := range counters {
			if c.Name == quantity {
				return c.Unit
			}
		}
		if quantity == space.Duration {
			return "ns"
		}
		return ""
	}
	dim := rundir.Dimension{Name: strings.TrimSuffix(d.String(), ":"+scale), Scale: scale, Unit: unitOf(d.Num)}
	if per := unitOf(d.Den); per != "" && dim.Unit != "" {
		dim.Unit += "/" + per
	} else if d.Den != "" {
		dim.Unit = ""
	}
	return dim
}

func describeFilter(f space.Filter, selection *space.Selection) rundir.Filtered {
	d := rundir.Filtered{MinDurationNS: selection.MinNS, How: "none"}
	switch {
	case f.Auto:
		d.How = "automatic: the shortest bursts, which together take less than 1 % of computing time, except those of kinds with bursts above min_duration_ns"
	case f.MinNS > 0:
		d.How = "given"
	}
	for _, r := range f.Ranges {
		d.Ranges = append(d.Ranges, r.String())
	}
	return d
}

// describeCells puts the certificate into the words of the run directory.
func describeCells(c *Cells) *rundir.CellsClustering {
	x := &c.Certificate
	d := &rundir.CellsClustering{
		Side: rundir.Number(x.Side), Floor: rundir.Number(x.Floor), Bound: x.Bound, Wanted: rundir.Number(math.NaN()),
		Certificate: rundir.Certificate{Exact: x.Exact, Rounds: x.Rounds, Split: x.Split, Units: x.Units, Bursts: x.Bursts},
	}
	if x.Bound {
		d.Wanted = rundir.Number(x.Wanted)
	}
	for i := range c.Units {
		if c.Units[i].Cell.Count > 0 {
			d.Units++
		}
	}
	for _, s := range x.Steps {
		step := rundir.CellStep{Exact: s.Exact, Units: s.Units, Bursts: s.Bursts}
		for _, eps := range s.Eps {
			step.Eps = append(step.Eps, sixDigits(eps))
		}
		d.Certificate.Steps = append(d.Certificate.Steps, step)
	}
	return d
}
