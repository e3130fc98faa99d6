package clustering

import (
	"math"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/internal/team"
	"moriens/trace"
)

const (
	// nearlyAll is the share of a cluster's bursts that lie in its stretch.
	nearlyAll = .9
	// muchShorter is how much shorter that is than the time in which the kind occurs that the cluster was distinguished
	// from: else it occurs all over the run, as other kinds do.
	muchShorter = .5
	// fewInTime is how many bursts a cluster has at least whose stretch says something.
	fewInTime = 12
	// timeBins are what the time of the run is cut into.
	timeBins = 1024
)

// stretches are, by cluster, the shortest stretch with nearly all of its bursts, where it is much shorter than the time
// of what the cluster was distinguished from: a core that is throttled for a second, or a phase of the program. It is
// collective.
func stretches(run *trace.Run, result *grouping.Result, owners team.Threads) ([]trace.Stretch, error) {
	wanted := make([]int, 1+len(result.Clusters)) // by number: a row of counts from 1 on; 0 = not asked for
	rows := 0
	want := func(id int32) {
		if wanted[id] == 0 {
			rows++
			wanted[id] = rows
		}
	}
	for i := range result.Clusters {
		if c := &result.Clusters[i]; mayBeInTime(c) {
			want(c.ID)
			want(c.Other)
		}
	}
	list := make([]trace.Stretch, len(result.Clusters))
	if rows == 0 {
		return list, nil
	}
	ends := []int64{math.MaxInt64, math.MaxInt64} // the first start, and the last, negative
	for i := range run.Threads {
		if start := run.Threads[i].Bursts.StartNS; len(start) > 0 {
			ends[0], ends[1] = min(ends[0], start[0]), min(ends[1], -start[len(start)-1])
		}
	}
	if err := owners.AllReduce(ends, team.Min); err != nil {
		return nil, err
	}
	begin, width := ends[0], (-ends[1]-ends[0])/timeBins+1
	counts := make([]int64, rows*timeBins)
	labels := result.Labels
	for i := range run.Threads {
		for k, start := range run.Threads[i].Bursts.StartNS {
			if label := labels[k]; label > 0 && wanted[label] > 0 {
				counts[(wanted[label]-1)*timeBins+int((start-begin)/width)]++
			}
		}
		labels = labels[run.Threads[i].Bursts.Len():]
	}
	if err := owners.AllReduce(counts, team.Sum); err != nil {
		return nil, err
	}
	row := func(id int32) []int64 { return counts[(wanted[id]-1)*timeBins : wanted[id]*timeBins] }
	for i := range result.Clusters {
		if c := &result.Clusters[i]; mayBeInTime(c) {
			from, to := shortest(row(c.ID), nearlyAll)
			first, last := shortest(row(c.Other), 1)
			if float64(to-from) <= muchShorter*float64(last-first) {
				list[i] = trace.Stretch{BeginNS: begin + int64(from)*width, EndNS: begin + int64(to)*width}
			}
		}
	}
	return list, nil
}

// mayBeInTime says of a cluster that nothing but order, or chance, distinguishes it from another.
func mayBeInTime(c *grouping.Cluster) bool {
	return c.Other > 0 && c.Bursts >= fewInTime && (c.By == kinds.ByOrder || c.By == kinds.ByChance)
}

// shortest is the shortest run of bins, the last not included, that has a share of everything counted; of several the
// first.
func shortest(counts []int64, share float64) (from, to int) {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	least := int64(math.Ceil(share * float64(total)))
	from, to = 0, len(counts)
	sum, begin := int64(0), 0
	for end, n := range counts {
		for sum += n; sum-counts[begin] >= least && begin < end; begin++ {
			sum -= counts[begin]
		}
		if sum >= least && end+1-begin < to-from {
			from, to = begin, end+1
		}
	}
	return from, to
}
