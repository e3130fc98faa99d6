package grouping_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// manyKinds returns the bursts of a loop over so many kinds, each of its own instructions and IPC, on 4 threads.
func manyKinds(kinds, iterations int) (grouping.Bursts, []int) {
	random := rand.New(rand.NewPCG(7, uint64(kinds)))
	across := int(math.Ceil(math.Sqrt(float64(kinds))))
	b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}}
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

// Kinds that are too many for any to have n/200 bursts are distinguished all the same.
func TestManySmallKinds(t *testing.T) {
	for _, kinds := range []int{20, 150, 300, 700} {
		b, kind := manyKinds(kinds, max(6, 6000/kinds))
		o, _ := grouping.Options{By: grouping.ByNone, JobThreads: 4}.Choose(b.CounterNames)
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

// A kind that has most of the bursts does not hide that the others are small, nor do kinds of many sizes.
func TestSmallKindsBesideLargeOnes(t *testing.T) {
	const kinds = 300
	for _, c := range []struct {
		name  string
		often func(kind int) int // in how many of 100 iterations
		first int                // how many bursts of the first kind in each of them
		found int                // clusters at least
	}{
		{"one has most", func(int) int { return 3 }, 500, kinds},
		{"many sizes", func(k int) int { return int(2 * math.Exp(3.9*float64(k)/kinds)) }, 1, kinds / 3},
	} {
		all, kindOf := manyKinds(kinds, 100)
		o, _ := grouping.Options{By: grouping.ByNone, JobThreads: 4}.Choose(all.CounterNames)
		b := grouping.Bursts{Columns: space.Columns{CounterNames: all.CounterNames, Counters: make([][]int64, 2)}}
		var kind []int
		for row, k := range kindOf {
			iteration := row / kinds % 100
			copies := 0
			if iteration < c.often(k) {
				copies = 1
			}
			if k == 0 {
				copies *= c.first
			}
			for i := range copies {
				for j := range b.Counters {
					b.Counters[j] = append(b.Counters[j], all.Counters[j][row]+int64(i))
				}
				b.DurationNS = append(b.DurationNS, all.DurationNS[row])
				kind = append(kind, k)
			}
			if (row+1)%(kinds*100) == 0 {
				b.ThreadEnds = append(b.ThreadEnds, len(kind))
			}
		}
		r := compute(t, b, o)
		if len(r.Clusters) < c.found {
			t.Errorf("%s: %d clusters, want at least %d: %+v", c.name, len(r.Clusters), c.found, r.Groups)
		}
		of := make(map[int32]int)
		for row, label := range r.Labels {
			if k, seen := of[label]; seen && label >= 0 && k != kind[row] {
				t.Fatalf("%s: cluster %d holds bursts of kinds %d and %d", c.name, label, k, kind[row])
			}
			of[label] = kind[row]
		}
	}
}
