package blame

import (
	"fmt"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/waits"
	"moriens/conclude/clustering"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

func TestEpoch(t *testing.T) {
	for _, name := range []string{"epoch_2proc.prv.gz", "epoch_4proc.prv.gz"} {
		read, err := prv.ReadFile(testenv.RealTrace(t, name), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := read.Run
		run.AddSharedPaths()
		if _, err := clustering.Cluster(run, grouping.Options{By: grouping.ByAuto, Normalise: true, Workers: 2}); err != nil {
			t.Fatal(err)
		}
		lanes, err := waits.Local(inputOf(run, Options{Workers: 2}, true), team.Threads{})
		if err != nil {
			t.Fatal(err)
		}
		r := lanes.Solve()
		kinds := make(map[waits.Kind]int64)
		n := 0
		for i, list := range r.Waits {
			for _, w := range list {
				kinds[w.Kind] += w.UntilNS - run.Threads[i].Calls.EnterNS[w.Row]
				n++
			}
		}
		fmt.Println(name, n, kinds, r.MPINS, r.WaitNS, r.UnexplainedNS, r.Contradictions, r.Incomplete, r.NotSynchronising, r.OneSided, r.NotExplained, r.Eager)
		by := make(map[int32]int64)
		byRank := make(map[int32]int64)
		sum := int64(0)
		for _, c := range r.Causes {
			k := r.Keys[c.Key]
			id := k.Cluster
			if k.What == waits.MPI {
				id = -100
			}
			if k.What == waits.Outside {
				id = -101
			}
			by[id] += c.NS
			byRank[c.Thread] += c.NS
			sum += c.NS
		}
		fmt.Println("causes", sum, by, byRank)
		path := make(map[int32]int64)
		sum = 0
		for _, c := range r.Shares {
			k := r.Keys[c.Key]
			id := k.Cluster
			if k.What == waits.MPI {
				id = -100
			}
			if k.What == waits.Outside {
				id = -101
			}
			path[id] += c.NS
			sum += c.NS
		}
		fmt.Println("path", sum, run.DurationNS, len(r.Path), path)
	}
}
