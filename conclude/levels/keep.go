package levels

import (
	"fmt"
	"slices"

	"moriens/analysis/sample"
	"moriens/internal/team"
	"moriens/trace"
)

// Keep makes the bursts of each thread that are kept: those of which all lies in one of its spans of kept, which are
// apart and by begin, with weight 1; and of the others a weighted sample, of rows bursts at most; each member of a team
// those of its own threads. classes says, per thread, which threads behave alike; nil = all. The run is not changed.
//
// The weights of a cluster's bursts add up to how many the run has of it, unless the sample says that it is of
// sample.Nothing.
func Keep(run *trace.Run, owners team.Threads, kept [][]trace.Span, classes []int32, rows, threadsAtWork int) ([]trace.Bursts, *sample.Sample, error) {
	if len(kept) != len(run.Threads) || classes != nil && len(classes) != len(run.Threads) {
		return nil, nil, fmt.Errorf("spans of %d threads, classes of %d, the run has %d", len(kept), len(classes), len(run.Threads))
	}
	threads := make([]sample.Thread, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		threads[i] = sample.Thread{
			// Distinct below 2^20 worlds, 2^24 ranks and 2^20 threads a rank.
			Key:     uint64(t.World)<<44 | uint64(t.Rank)<<20 | uint64(t.Thread),
			Cluster: strata(&t.Bursts, run.Clusters), DurationNS: t.Bursts.DurationNS, Kept: within(&t.Bursts, kept[i]),
		}
		if classes != nil {
			threads[i].Class = classes[i]
		}
	}
	s, err := sample.Draw(threads, sample.Options{Rows: rows, Workers: threadsAtWork, Team: owners})
	if err != nil {
		return nil, nil, err
	}
	all := make([]trace.Bursts, len(run.Threads))
	each(run, threadsAtWork, func(i int) { all[i] = pick(&run.Threads[i].Bursts, threads[i].Kept, s.Threads[i]) })
	return all, s, nil
}

// strata are what the sample is drawn by: clusters, and those of their bursts that are of another kind by that, for the
// run is rebuilt by kinds.
func strata(b *trace.Bursts, clusters []trace.Cluster) []int32 {
	if b.Kind == nil {
		return b.Cluster
	}
	list := slices.Clone(b.Cluster)
	for i, label := range list {
		if kind := b.Kind[i]; kind > 0 && (label < 1 || clusters[label-1].Kind() != kind) {
			list[i] += kind * int32(len(clusters)+farLabels)
		}
	}
	return list
}

// farLabels is more than what the labels of bursts in no cluster are below 1.
const farLabels = 1 - int(trace.LabelMissing)

// within finds the bursts that lie in spans. One of no length where two spans meet is in the first.
func within(b *trace.Bursts, spans []trace.Span) []sample.Range {
	var list []sample.Range
	last := 0
	for _, s := range spans {
		from, _ := slices.BinarySearch(b.StartNS[last:], s.BeginNS)
		from += last
		to := from
		for to < b.Len() && b.StartNS[to]+b.DurationNS[to] <= s.EndNS {
			to++
		}
		if from < to {
			list = append(list, sample.Range{From: int32(from), To: int32(to)})
		}
		last = to
	}
	return list
}

// pick copies bursts of a thread: ranges with weight 1, and those drawn with theirs.
func pick(b *trace.Bursts, kept []sample.Range, drawn sample.Drawn) trace.Bursts {
	var rows []int32
	var weights []float64
	take := func(before int32) {
		for len(drawn.Bursts) > 0 && drawn.Bursts[0] < before {
			rows, weights = append(rows, drawn.Bursts[0]), append(weights, float64(drawn.Weight[0]))
			drawn.Bursts, drawn.Weight = drawn.Bursts[1:], drawn.Weight[1:]
		}
	}
	for _, r := range kept {
		take(r.From)
		for k := r.From; k < r.To; k++ {
			rows, weights = append(rows, k), append(weights, 1)
		}
	}
	take(int32(b.Len()))
	out := trace.Bursts{
		StartNS: at(b.StartNS, rows), DurationNS: at(b.DurationNS, rows), Before: at(b.Before, rows), After: at(b.After, rows),
		Cluster: at(b.Cluster, rows), Weight: weights, Counters: make([][]int64, len(b.Counters)),
	}
	for c := range b.Counters {
		out.Counters[c] = at(b.Counters[c], rows)
	}
	if b.Kind != nil {
		out.Kind = at(b.Kind, rows)
	}
	if b.Lineage != nil {
		out.Lineage = at(b.Lineage, rows)
	}
	if b.Phase != nil {
		out.Phase = at(b.Phase, rows)
	}
	return out
}

func at[T any](column []T, rows []int32) []T {
	out := make([]T, len(rows))
	for i, k := range rows {
		out[i] = column[k]
	}
	return out
}
