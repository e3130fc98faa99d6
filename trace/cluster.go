package trace

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// SummariseClusters makes Clusters from the labels of the bursts: number, time, share, mean and deviation, counters,
// and the calls round them, by places (Places) and by whole call paths. Eps, MinPts, Rare, Score and Kinship are kept
// from the cluster that had the number. A number that no burst has becomes an empty cluster, so that Clusters[i].ID is
// i+1.
func (r *Run) SummariseClusters() {
	var sums []clusterSum
	places := r.Places()
	var totalNS int64
	for i := range r.Threads {
		b := &r.Threads[i].Bursts
		for k, label := range b.Cluster {
			totalNS += b.DurationNS[k]
			if label < 1 {
				continue
			}
			for int(label) > len(sums) {
				sums = append(sums, clusterSum{})
			}
			sums[label-1].add(b, k, len(r.Counters), places)
		}
	}
	for len(sums) < len(r.Clusters) {
		sums = append(sums, clusterSum{})
	}
	clusters := make([]Cluster, len(sums))
	for i := range sums {
		s := &sums[i]
		c := &clusters[i]
		if i < len(r.Clusters) {
			c.Eps, c.MinPts, c.Rare, c.Score = r.Clusters[i].Eps, r.Clusters[i].MinPts, r.Clusters[i].Rare, r.Clusters[i].Score
			c.Kinship = r.Clusters[i].Kinship
		}
		c.ID, c.Bursts, c.TimeNS = int32(i+1), s.duration.n, s.timeNS
		c.MeanNS, c.StdNS = s.duration.mean, s.duration.std()
		if totalNS > 0 {
			c.Share = float64(s.timeNS) / float64(totalNS)
		}
		c.Before, c.After = byCount(s.before), byCount(s.after)
		for k := range s.counters {
			c.CounterMean = append(c.CounterMean, s.counters[k].mean)
			c.CounterStd = append(c.CounterStd, s.counters[k].std())
		}
	}
	r.Clusters = clusters
	r.TallyPaths(r.Threads)
}

type clusterSum struct {
	timeNS        int64
	duration      moments
	counters      []moments
	before, after map[uint32]int
}

func (s *clusterSum) add(b *Bursts, k, counters int, places []uint32) {
	if s.before == nil {
		s.before, s.after = make(map[uint32]int), make(map[uint32]int)
		s.counters = make([]moments, counters)
	}
	s.timeNS += b.DurationNS[k]
	s.duration.add(float64(b.DurationNS[k]))
	for c := range b.Counters {
		if v := b.Counters[c][k]; v != NoCount {
			s.counters[c].add(float64(v))
		}
	}
	s.before[places[b.Before[k]]]++
	s.after[places[b.After[k]]]++
}

// moments is a running mean and sum of squared deviations (Welford, Technometrics 4 (1962)).
type moments struct {
	n        int
	mean, m2 float64
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.m2 += d * (x - m.mean)
}

// std is the population's standard deviation.
func (m *moments) std() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(m.m2 / float64(m.n))
}

func byCount(counts map[uint32]int) []PathCount {
	list := make([]PathCount, 0, len(counts))
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, PathCount{p, counts[p]})
	}
	slices.SortStableFunc(list, func(a, b PathCount) int { return cmp.Compare(b.Bursts, a.Bursts) })
	return list
}
