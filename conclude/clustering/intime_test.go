package clustering

import (
	"math/rand/v2"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/internal/team"
	"moriens/trace"
)

// Bursts of one stretch are reported as such; those all over the run, or like a phase of half of it, are not.
func TestStretches(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const bursts, ms = 4000, 1_000_000
	for _, tt := range []struct {
		name     string
		by       kinds.Cause
		second   func(i int) bool // burst of cluster 2 rather than 1
		from, to int64            // ms; 0 = no stretch
	}{
		{"throttled for a while", kinds.ByOrder, func(i int) bool { return i >= 1000 && i < 1500 }, 1000, 1500},
		{"and now and then", kinds.ByChance, func(i int) bool { return i >= 1000 && i < 2000 || i%1000 == 7 }, 1000, 2000},
		{"all over the run", kinds.ByOrder, func(int) bool { return random.IntN(10) == 0 }, 0, 0},
		{"two stretches", kinds.ByOrder, func(i int) bool { return i < 300 || i >= 3700 }, 0, 0},
		{"one phase after another", kinds.ByOrder, func(i int) bool { return i >= 2000 }, 0, 0},
		{"other calls", kinds.ByCalls, func(i int) bool { return i >= 1000 && i < 1500 }, 0, 0},
		{"few", kinds.ByOrder, func(i int) bool { return i >= 1000 && i < 1000+(fewInTime-1)/2 }, 0, 0},
	} {
		run := threads(2)
		result := &grouping.Result{Clusters: []grouping.Cluster{{ID: 1}, {ID: 2}}}
		result.Clusters[1].By, result.Clusters[1].Other = tt.by, 1
		for rank := range run.Threads {
			b := &run.Threads[rank].Bursts
			for i := range bursts {
				label := int32(1)
				if tt.second(i) {
					label = 2
				}
				b.StartNS, b.DurationNS = append(b.StartNS, int64(i)*ms), append(b.DurationNS, ms/2)
				result.Labels = append(result.Labels, label)
				result.Clusters[label-1].Bursts++
			}
		}
		got, err := stretches(run, result, team.Threads{})
		if err != nil {
			t.Fatal(err)
		}
		const slack = 5 * bursts * ms / timeBins
		near := func(at, want int64) bool { return at > want*ms-slack-100*ms && at < want*ms+slack+100*ms }
		if (tt.to == 0) != (got[1] == trace.Stretch{}) || tt.to > 0 && !(near(got[1].BeginNS, tt.from) && near(got[1].EndNS, tt.to)) || got[0] != (trace.Stretch{}) {
			t.Errorf("%s: %+v, want %d to %d ms", tt.name, got, tt.from, tt.to)
		}
	}
}
