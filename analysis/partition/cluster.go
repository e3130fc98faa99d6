package partition

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/dbscan"
)

// cluster clusters one group, whose labels, from 0, it writes to labels.
func (c *computation) cluster(g *group, labels []int32, threads int) error {
	dims := len(c.options.Dims)
	g.Bursts = len(g.rows)
	for _, row := range g.rows {
		g.TimeNS += c.bursts.DurationNS[row]
	}
	coords := c.space.Coordinates(nil, g.rows)
	g.lo, g.hi = ranges(coords, dims)
	g.MinPts = c.options.MinPts
	if c.options.Fixed != nil {
		g.MinPts = c.options.Fixed.MinPts
	} else if g.MinPts == 0 {
		g.MinPts = minPts(g.Bursts, c.options.JobThreads)
	}
	if g.Bursts < g.MinPts {
		g.From = FromNone
		g.Clusters = 1
		for _, row := range g.rows {
			labels[row] = 0
		}
	} else {
		index, err := dbscan.NewIndex(dbscan.Points{Dims: dims, Coords: coords}, threads)
		if err != nil {
			return err
		}
		if err := c.chooseEps(g, index); err != nil {
			return err
		}
		result, err := index.Cluster(g.Eps, g.MinPts)
		if err != nil {
			return err
		}
		g.Clusters = result.Clusters
		for i, row := range g.rows {
			labels[row] = result.Labels[i]
		}
	}
	c.describe(g, labels)
	return nil
}

func (c *computation) chooseEps(g *group, index *dbscan.Index) error {
	if c.options.Fixed != nil {
		g.Eps, g.From = c.options.Fixed.Eps, FromFixed
		return nil
	}
	curve, err := index.KDistance(g.MinPts, 0)
	if err != nil {
		return err
	}
	knee, _ := dbscan.FindKnee(curve)
	g.Knee = knee.Eps
	g.Eps, g.From = g.Knee, FromKnee
	if g.Eps <= c.resolution {
		g.Eps, g.From = c.resolution, FromFloor
	}
	return nil
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
	g.clusters = make([]Cluster, g.Clusters)
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
		k.Eps, k.MinPts, k.Rare = g.Eps, g.MinPts, g.From == FromNone
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
