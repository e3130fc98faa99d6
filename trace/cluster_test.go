package trace

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummariseClusters(t *testing.T) {
	run := &Run{
		CallPaths: make([]CallPath, 3),
		Counters:  []Counter{{Name: "A"}},
		Clusters:  []Cluster{{ID: 1, Eps: .5, MinPts: 4, Bursts: 99}},
		Threads: []Thread{
			{Bursts: Bursts{
				StartNS: []int64{0, 10, 20, 30}, DurationNS: []int64{2, 4, 10, 4}, Before: []uint32{1, 2, 0, 0}, After: []uint32{2, 2, 0, 0},
				Cluster: []int32{1, 1, LabelNoise, 3}, Counters: [][]int64{{10, NoCount, 7, 5}},
			}},
			{Rank: 1, Bursts: Bursts{
				StartNS: []int64{0}, DurationNS: []int64{6}, Before: []uint32{2}, After: []uint32{1}, Cluster: []int32{1}, Counters: [][]int64{{30}},
			}},
		},
	}
	run.SummariseClusters()
	want := []Cluster{
		{
			ID: 1, Bursts: 3, TimeNS: 12, Share: 12. / 26, MeanNS: 4, StdNS: math.Sqrt(8. / 3), Eps: .5, MinPts: 4,
			Before: []PathCount{{2, 2}, {1, 1}}, After: []PathCount{{2, 2}, {1, 1}}, CounterMean: []float64{20}, CounterStd: []float64{10},
			WholeBefore: []PathCount{{2, 2}, {1, 1}}, WholeAfter: []PathCount{{2, 2}, {1, 1}},
		},
		{ID: 2, Before: []PathCount{}, After: []PathCount{}},
		{
			ID: 3, Bursts: 1, TimeNS: 4, Share: 4. / 26, MeanNS: 4,
			Before: []PathCount{{0, 1}}, After: []PathCount{{0, 1}}, CounterMean: []float64{5}, CounterStd: []float64{0},
			WholeBefore: []PathCount{{0, 1}}, WholeAfter: []PathCount{{0, 1}},
		},
	}
	if d := cmp.Diff(want, run.Clusters); d != "" {
		t.Error(d)
	}
	run.SummariseClusters()
	if d := cmp.Diff(want, run.Clusters); d != "" {
		t.Errorf("a second time: %s", d)
	}
}
