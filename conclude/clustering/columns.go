package clustering

import (
	"math"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/internal/team"
	"moriens/trace"
)

// columns are the bursts of the threads that are here, in the threads' order, as the analysis has them. It is
// collective.
func columns(run *trace.Run, all *trace.BurstColumns, owners team.Threads) (grouping.Bursts, error) {
	anchors, err := anchors(run, owners)
	if err != nil {
		return grouping.Bursts{}, err
	}
	b := burstColumns(run, all)
	b.Anchors, b.Gaps, b.Nodes = anchors, gaps(run), nodes(run)
	return b, nil
}

// gaps are, by thread, the bursts before which MPI calls were lost, for lack of room or while the recording paused; nil
// where none were.
func gaps(run *trace.Run) [][]int32 {
	list := make([][]int32, len(run.Threads))
	any := false
	for i := range run.Threads {
		t := &run.Threads[i]
		add := func(beginNS int64) {
			at, _ := slices.BinarySearch(t.Bursts.StartNS, beginNS)
			list[i] = append(list[i], int32(at))
			any = true
		}
		for _, s := range t.Lost {
			add(s.BeginNS)
		}
		for _, p := range t.Pauses {
			add(p.BeginNS)
		}
		slices.Sort(list[i])
		list[i] = slices.Compact(list[i])
	}
	if !any {
		return nil
	}
	return list
}

// nodes are the hosts of the threads.
func nodes(run *trace.Run) []int32 {
	list := make([]int32, len(run.Threads))
	for i := range run.Threads {
		list[i] = int32(run.Threads[i].Node)
	}
	return list
}

// burstColumns are those of columns but for what cuts the threads. Bursts are between places. A count that went down,
// as that of a gauge can, is negative, and has no logarithm and no share either: the analysis knows it as not read.
func burstColumns(run *trace.Run, all *trace.BurstColumns) grouping.Bursts {
	b := grouping.Bursts{
		Columns: space.Columns{DurationNS: all.DurationNS, Counters: all.Counters},
		Before:  all.Before, After: all.After, Places: run.Places(),
		ThreadEnds: make([]int, 0, len(run.Threads)),
	}
	for _, c := range run.Counters {
		b.CounterNames = append(b.CounterNames, c.Name)
	}
	end := 0
	for i := range run.Threads {
		end += run.Threads[i].Bursts.Len()
		b.ThreadEnds = append(b.ThreadEnds, end)
	}
	return b
}

// tallyPaths counts the whole call paths round the bursts of clusters. It is collective.
func tallyPaths(run *trace.Run, labels []int32, owners team.Threads) ([]int64, error) {
	var t trace.PathTally
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		t.Add(b, labels[:b.Len()])
		labels = labels[b.Len():]
	}
	return owners.Merge(trace.TallyWidth, t.Rows())
}

// adopt puts labels and clusters into the run, in the place of any that it had.
func adopt(run *trace.Run, result *grouping.Result) {
	labels, kinds, lineage := result.Labels, result.Kinds, result.Lineage
	if !byKinds(result) {
		kinds = nil
	}
	run.Clusters, run.Lineages = nil, lineages(result.Tree)
	for i := range run.Threads {
		t := &run.Threads[i].Bursts
		t.Cluster, labels = labels[:t.Len():t.Len()], labels[t.Len():]
		if t.Kind = nil; kinds != nil {
			t.Kind, kinds = kinds[:t.Len():t.Len()], kinds[t.Len():]
		}
		if t.Lineage = nil; lineage != nil {
			t.Lineage, lineage = lineage[:t.Len():t.Len()], lineage[t.Len():]
		}
	}
	for _, c := range result.Clusters {
		run.Clusters = append(run.Clusters, trace.Cluster{
			ID: c.ID, Bursts: c.Bursts, TimeNS: c.TimeNS, Share: c.Share, MeanNS: c.MeanNS, StdNS: c.StdNS,
			Eps: c.Eps, MinPts: c.MinPts, Rare: c.Rare, Score: max(c.Score, 0),
			Before: pathCounts(c.Before), After: pathCounts(c.After),
			CounterMean: c.CounterMean, CounterStd: c.CounterStd, Kinship: kinship(&c),
		})
	}
}

// kinship is zero where clusters were not found by kinds.
func kinship(c *grouping.Cluster) trace.Kinship {
	if !(c.MedianNS > 0) {
		return trace.Kinship{}
	}
	orNone := func(x float64) float64 {
		if math.IsNaN(x) {
			return -1
		}
		return x
	}
	k := trace.Kinship{
		MedianNS: c.MedianNS, Core: c.Core, Predicted: orNone(c.Predicted), Valley: orNone(c.Valley), DistinctBy: c.By.String(), DistinctFrom: c.Other, Why: c.Why,
		KindBursts: c.Whole.Bursts, KindNS: c.Whole.TimeNS, DisturbedBursts: c.Disturbed.Bursts, DisturbedNS: c.Disturbed.TimeNS, ExtraNS: c.ExtraNS,
	}
	if c.Kind != c.ID {
		k.VariantOf = c.Kind
	}
	return k
}

func pathCounts(counts []grouping.PathCount) []trace.PathCount {
	out := make([]trace.PathCount, len(counts))
	for i, c := range counts {
		out[i] = trace.PathCount(c)
	}
	return out
}
