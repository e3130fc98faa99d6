package blame

import (
	"moriens/analysis/waits"
	"moriens/internal/team"
	"moriens/trace"
)

// counted is what calls and bursts of all threads come to, which is not in a Result.
type counted struct {
	mpiNS     int64   // in calls within main
	clusterNS []int64 // by cluster, from 1 on: computing within main
	having    []int64 // by cluster that stands for a kind: how many threads have bursts of the kind
}

// count is collective.
func (b *Blame) count(run *trace.Run, owners team.Threads) (c counted, err error) {
	n := len(run.Clusters) + 1
	sums := make([]int64, 1+2*n)
	c = counted{clusterNS: sums[1 : 1+n], having: sums[1+n:]}
	kinds := make([]int32, n)
	for i := range run.Clusters {
		kinds[run.Clusters[i].ID] = run.Clusters[i].Kind()
	}
	has := make([]bool, n)
	for i := range run.Threads {
		if !owners.Mine(i) {
			continue
		}
		t := &run.Threads[i]
		for k, enterNS := range t.Calls.EnterNS {
			sums[0] += common(waits.Span{BeginNS: enterNS, EndNS: t.Calls.ExitNS[k]}, b.options.Main)
		}
		clear(has)
		for k, id := range t.Bursts.Cluster {
			if id > 0 {
				begin := t.Bursts.StartNS[k]
				c.clusterNS[id] += common(waits.Span{BeginNS: begin, EndNS: begin + t.Bursts.DurationNS[k]}, b.options.Main)
				has[kinds[id]] = true
			}
		}
		for id, is := range has {
			if is {
				c.having[id]++
			}
		}
	}
	err = owners.AllReduce(sums, team.Sum)
	c.mpiNS = sums[0]
	return c, err
}
