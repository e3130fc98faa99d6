package partition

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
)

// prepare makes points of a group's bursts and finds the densities to cluster them with.
func (c *computation) prepare(g *group, threads int) error {
	dims := len(c.options.Dims)
	g.points = dbscan.Points{Dims: dims, Coords: c.space.Coordinates(nil, g.rows)}
	g.lo, g.hi = ranges(g.points.Coords, dims)
	g.MinPts = c.options.minPts(g.Bursts)
	if g.Bursts < g.MinPts {
		g.From, g.ladder = FromNone, []float64{0}
		return nil
	}
	var err error
	if g.index, err = dbscan.NewIndex(g.points, threads); err != nil {
		return err
	}
	return c.chooseLadder(g)
}

// chooseLadder finds the Eps of each step: the given one alone, or those from the knee on, none below the
// resolution.
func (c *computation) chooseLadder(g *group) error {
	if c.options.Fixed != nil {
		g.ladder, g.From = []float64{c.options.Fixed.Eps}, FromFixed
		return nil
	}
	curve, err := c.curveOf(g)
	if err != nil {
		return err
	}
	if c.options.MinPts == 0 && !c.options.Strict {
		if curve, err = c.lookForSmallKinds(g, curve); err != nil {
			return err
		}
	}
	outliers := g.MinPts
	if c.options.Strict {
		outliers = 0
	}
	g.ladder = refine.Ladder(curve, outliers*len(curve)/g.Bursts)
	if len(g.ladder) > 0 {
		g.Knee = g.ladder[0]
	}
	g.From = FromKnee
	if g.Knee <= c.resolution {
		g.From = FromFloor
		g.ladder = slices.DeleteFunc(g.ladder, func(eps float64) bool { return eps <= c.resolution })
		g.ladder = append([]float64{c.resolution}, g.ladder...)
	}
	if !c.options.Strict {
		g.ladder = slices.Compact(g.ladder)
	}
	return nil
}

// curveOf is the curve of distances to the MinPts-th neighbour of a group's bursts.
func (c *computation) curveOf(g *group) ([]float64, error) {
	queries := 0 // as many as the curve's accuracy needs
	if c.options.Strict {
		queries = g.Bursts
	}
	return g.index.KDistance(g.MinPts, queries)
}

// Where MinPts is above the size of the kinds that an inSmall-th of the bursts are of, the distance to the MinPts-th neighbour
// that an inSmall-th of the bursts exceed falls manyFold when MinPts is halved and comes below that size. Where bursts lie
// evenly it falls to a half in one dimension, and less in more.
const (
	inSmall  = 8
	manyFold = 3
)

// lookForSmallKinds lowers the MinPts of a group, by halves, to where it is below the size of the kinds of nearly all bursts, if there is such
// a place; n/200 is above it where there are over 200 kinds. It returns the curve of distances for MinPts, given
// that of the MinPts so far.
func (c *computation) lookForSmallKinds(g *group, curve []float64) ([]float64, error) {
	least, most := c.options.minPts(0), g.MinPts
	distance := func(curve []float64) float64 { return max(curve[len(curve)/inSmall], c.resolution) }
	if len(curve) == 0 || distance(curve) <= manyFold*c.resolution { // so also where it is 0
		return curve, nil
	}
	for before := curve; g.MinPts/2 >= least; {
		g.MinPts /= 2
		after, err := c.curveOf(g)
		if err != nil {
			return nil, err
		}
		if distance(before) >= manyFold*distance(after) {
			return after, nil
		}
		before = after
	}
	g.MinPts = most
	return curve, nil
}

func ranges(coords []float64, dims int) (lo, hi []float64) {
	lo, hi = slices.Clone(coords[:dims]), slices.Clone(coords[:dims])
	for at := 0; at < len(coords); at += dims {
		for j, v := range coords[at : at+dims] {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	return lo, hi
}

// describe counts and measures the clusters of a group, by the labels of its bursts.
func (c *computation) describe(g *group, labels []int32) {
	duration := c.bursts.DurationNS
	for _, row := range g.rows {
		k := labels[row]
		if k < 0 {
			g.NoiseBursts++
			g.noiseNS += duration[row]
			continue
		}
		g.clusters[k].Bursts++
		g.clusters[k].TimeNS += duration[row]
	}
	of := membersOf(g, labels)
	for i := range g.clusters {
		k := &g.clusters[i]
		k.Rare = g.From == FromNone
		k.MeanNS, k.StdNS = meanStd(duration, of(i))
		for _, column := range c.bursts.Counters {
			mean, std := meanStd(column, of(i))
			k.CounterMean = append(k.CounterMean, mean)
			k.CounterStd = append(k.CounterStd, std)
		}
		if c.bursts.Before != nil {
			k.Before = countPaths(c.bursts.Before, of(i))
			k.After = countPaths(c.bursts.After, of(i))
		}
	}
}

// membersOf returns a function that gives a cluster's rows, ascending.
func membersOf(g *group, labels []int32) func(cluster int) []int32 {
	if g.Clusters == 1 && g.NoiseBursts == 0 {
		return func(int) []int32 { return g.rows }
	}
	ends := make([]int, g.Clusters)
	sum := 0
	for i := range g.clusters {
		ends[i] = sum
		sum += g.clusters[i].Bursts
	}
	members := make([]int32, sum)
	for _, row := range g.rows {
		if k := labels[row]; k >= 0 {
			members[ends[k]] = row
			ends[k]++
		}
	}
	return func(cluster int) []int32 {
		return members[ends[cluster]-g.clusters[cluster].Bursts : ends[cluster]]
	}
}

// meanStd is over the values that are not negative; NaN if there are none.
func meanStd(column []int64, rows []int32) (mean, std float64) {
	var n, sum float64
	for _, row := range rows {
		if v := column[row]; v >= 0 {
			n++
			sum += float64(v)
		}
	}
	mean = sum / n
	var squares float64
	for _, row := range rows {
		if v := column[row]; v >= 0 {
			d := float64(v) - mean
			squares += float64(d * d)
		}
	}
	return mean, math.Sqrt(squares / n)
}

func countPaths(path []uint32, rows []int32) []PathCount {
	same := true
	for _, row := range rows {
		same = same && path[row] == path[rows[0]]
	}
	if same { // always so where bursts are split by calls
		return []PathCount{{path[rows[0]], len(rows)}}
	}
	ids := make([]uint32, len(rows))
	for i, row := range rows {
		ids[i] = path[row]
	}
	slices.Sort(ids)
	var counts []PathCount
	for i, id := range ids {
		if i == 0 || id != ids[i-1] {
			counts = append(counts, PathCount{Path: id})
		}
		counts[len(counts)-1].Bursts++
	}
	slices.SortStableFunc(counts, func(a, b PathCount) int { return cmp.Compare(b.Bursts, a.Bursts) })
	return counts
}
