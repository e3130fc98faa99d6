package clustering

import (
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

// A particle-in-cell code of ten steps, with counters and all pairs of calls together: no kind holds bursts of more
// than 50 pairs, its steps are ten, and where its time goes is what the score of the refinement finds too.
func TestKindsOfEpoch(t *testing.T) {
	for _, name := range []string{"epoch_2proc.prv.gz", "epoch_4proc.prv.gz"} {
		read, err := prv.ReadFile(testenv.RealTrace(t, name), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := read.Run
		labelsBy := func(kinds grouping.KindsBy) (of []int32) {
			if _, err := Cluster(run, grouping.Options{By: grouping.ByAuto, Normalise: true, Kinds: kinds, Workers: 2}); err != nil {
				t.Fatal(err)
			}
			for i := range run.Threads {
				of = append(of, run.Threads[i].Bursts.Kinds()...)
			}
			return of
		}
		byScore := labelsBy(grouping.KindsByScore)
		byOrder := labelsBy(grouping.KindsByOrder)

		pairs := make(map[int32]map[[2]uint32]bool)
		var truth, found []int32
		var durations []int64
		at := 0
		for i := range run.Threads {
			b := &run.Threads[i].Bursts
			for k, ns := range b.DurationNS {
				kind := byOrder[at]
				if kind > 0 {
					if pairs[kind] == nil {
						pairs[kind] = make(map[[2]uint32]bool)
					}
					pairs[kind][[2]uint32{b.Before[k], b.After[k]}] = true
					if byScore[at] > 0 {
						truth, found, durations = append(truth, byScore[at]), append(found, kind), append(durations, ns)
					}
				}
				at++
			}
		}
		for kind, of := range pairs {
			if len(of) > 50 {
				t.Errorf("%s: kind %d holds bursts of %d pairs of calls", name, kind, len(of))
			}
		}
		byTime := plant.Compare(truth, found, durations)
		t.Logf("%s: %d kinds; beside the clusters that the score chooses an adjusted Rand index by time of %.4f", name, len(pairs), byTime.ARI)
		if byTime.ARI < .99 {
			t.Errorf("%s: by time the adjusted Rand index is %.4f beside the clusters that the score chooses", name, byTime.ARI)
		}

		if n := iterations(t, run); n != 10 {
			t.Errorf("%s: %d steps of 10", name, n)
		}
	}
}
