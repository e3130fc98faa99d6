package partition_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/partition"
	"moriens/analysis/space"
)

// manyKinds returns the bursts of a loop over so many kinds, each of its own instructions and IPC, on 4 threads.
func manyKinds(kinds, iterations int) (partition.Bursts, []int) {
	random := rand.New(rand.NewPCG(7, uint64(kinds)))
	across := int(math.Ceil(math.Sqrt(float64(kinds))))
	b := partition.Bursts{Columns: space.Columns{CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}}
	var kind []int
	for range 4 {
		for range iterations {
			for k := range kinds {
				ins := 1e5 * math.Exp(float64(k%across)*.3+.004*random.NormFloat64())
				ipc := .2 + .1*float64(k/across) + .004*random.NormFloat64()
				b.Counters[0], b.Counters[1] = append(b.Counters[0], int64(ins)), append(b.Counters[1], int64(ins/ipc))
				b.DurationNS = append(b.DurationNS, int64(1e6*math.Exp(.02*random.NormFloat64())))
				kind = append(kind, k)
			}
		}
		b.ThreadEnds = append(b.ThreadEnds, len(b.DurationNS))
	}
	return b, kind
}

// Kinds that are too many for any to have n/200 bursts are told apart all the same.
func TestManySmallKinds(t *testing.T) {
	for _, kinds := range []int{20, 150, 300, 700} {
		b, kind := manyKinds(kinds, max(6, 6000/kinds))
		o, _ := partition.Options{By: partition.ByNone, JobThreads: 4}.Choose(b.CounterNames)
		r := compute(t, b, o)
		if len(r.Clusters) != kinds || r.Noise.Bursts*100 > len(kind) {
			t.Errorf("%d kinds: %d clusters, %d of %d bursts are noise: %+v", kinds, len(r.Clusters), r.Noise.Bursts, len(kind), r.Groups)
			continue
		}
		of := make(map[int32]int)
		for row, label := range r.Labels {
			if label < 0 {
				continue
			}
			if k, seen := of[label]; seen && k != kind[row] {
				t.Fatalf("%d kinds: cluster %d holds bursts of kinds %d and %d", kinds, label, k, kind[row])
			}
			of[label] = kind[row]
		}
	}
}
