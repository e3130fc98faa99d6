package blame

import (
	"moriens/internal/team"
	"moriens/trace"
)

// counted is what bursts of all threads come to, which is not in a Result.
type counted struct {
	clusterNS []int64 // by cluster, from 1 on: computing within main
	having    []int64 // by cluster that stands for a kind: how many threads have bursts of the kind
}

// count is collective.
func (b *Blame) count(run *trace.Run, owners team.Threads) (c counted, err error) {
	n := len(run.Clusters) + 1
	sums := make([]int64, 2*n)
	c = counted{clusterNS: sums[:n], having: sums[n:]}
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
		clear(has)
		for k, id := range t.Bursts.Cluster {
			if id > 0 {
				begin := t.Bursts.StartNS[k]
				c.clusterNS[id] += b.options.Main.Within(begin, begin+t.Bursts.DurationNS[k])
				has[kinds[id]] = true
			}
		}
		for id, is := range has {
			if is {
				c.having[id]++
			}
		}
	}
	return c, owners.AllReduce(sums, team.Sum)
}
