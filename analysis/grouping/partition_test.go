package grouping_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

var logDuration = []space.Dim{{Num: space.Duration, Scale: space.Log}}

// planted returns bursts of busy loops of 0.2, 1 and 5 ms as a quiet machine shows them, with 2 to
// 5 % of log-normal jitter and 0.3 % outliers, between pairs of call paths that take turns.
func planted(n, pairs int, seed uint64) grouping.Bursts {
	random := rand.New(rand.NewPCG(seed, 0))
	b := grouping.Bursts{Before: make([]uint32, n), After: make([]uint32, n)}
	b.DurationNS = make([]int64, n)
	for i := range n {
		kind := i % 3
		duration := []float64{.2e6, 1e6, 5e6}[kind] * math.Exp([]float64{.05, .03, .02}[kind]*random.NormFloat64())
		if random.IntN(1000) < 3 {
			duration *= math.Exp(.3 + 1.2*random.Float64())
		}
		b.DurationNS[i] = int64(duration)
		pair := uint32(i / 3 % pairs)
		b.Before[i], b.After[i] = 1+pair, 1+(pair+1)%uint32(pairs)
	}
	return b
}

func TestPlantedLoopsAreThreeClusters(t *testing.T) {
	for seed := range uint64(50) {
		b := planted(2400, 1, seed)
		for _, o := range []grouping.Options{
			{Dims: logDuration, Filter: space.Filter{Auto: true}, JobThreads: 2},
			{Dims: logDuration, By: grouping.ByNone, JobThreads: 2},
		} {
			r, err := grouping.Compute(b, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Clusters) != 3 {
				t.Errorf("seed %d by %v: %d clusters, want 3: %+v", seed, o.By, len(r.Clusters), r.Groups)
			}
			if share := float64(r.Noise.Bursts) / 2400; share > .01 {
				t.Errorf("seed %d by %v: %.2f %% of the bursts are noise", seed, o.By, 100*share)
			}
			for row, label := range r.Labels {
				if want := int32(3 - row%3); label > 0 && label != want && b.DurationNS[row] < 5.5e6 {
					// An outlier may land in another kind.
					if d := math.Abs(math.Log(float64(b.DurationNS[row]) / []float64{.2e6, 1e6, 5e6}[row%3])); d < .25 {
						t.Errorf("seed %d: burst %d of %d ns is in cluster %d, want %d", seed, row, b.DurationNS[row], label, want)
					}
				}
			}
		}
	}
}

// withCounters adds instructions and cycles: 2 instructions a ns and an IPC that distinguishes the kinds.
func withCounters(b grouping.Bursts) grouping.Bursts {
	random := rand.New(rand.NewPCG(3, 0))
	ins, cyc := make([]int64, b.Len()), make([]int64, b.Len())
	for i := range ins {
		ins[i] = int64([]float64{.4e6, 2e6, 10e6}[i%3] * math.Exp(.004*random.NormFloat64()))
		cyc[i] = int64(float64(ins[i]) / ([]float64{.8, 1.2, 2.1}[i%3] * math.Exp(.01*random.NormFloat64())))
	}
	b.CounterNames, b.Counters = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, [][]int64{ins, cyc}
	return b
}

func TestPlantedLoopsByCounters(t *testing.T) {
	b := withCounters(planted(2400, 1, 1))
	dims, err := space.Parse("PAPI_TOT_INS:log,IPC")
	if err != nil {
		t.Fatal(err)
	}
	r, err := grouping.Compute(b, grouping.Options{Dims: dims, By: grouping.ByNone, JobThreads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Clusters) != 3 || r.Noise.Bursts > 24 {
		t.Errorf("%d clusters, %d noise: %+v", len(r.Clusters), r.Noise.Bursts, r.Groups)
	}
	for i, want := range []float64{10e6, 2e6, .4e6} {
		if got := r.Clusters[i].CounterMean[0]; math.Abs(got/want-1) > .01 {
			t.Errorf("cluster %d has %.0f instructions, want %.0f", i+1, got, want)
		}
	}
}
