package microcell_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
)

// BenchmarkUnits clusters the units of 100 threads' million bursts of 20 kinds, without asking for any burst and asking
// for as many as it takes. What the source takes, which is other nodes' work, is left out of the time.
func BenchmarkUnits(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	bursts := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"A", "B"}, Counters: make([][]int64, 2)}}
	for range 100 {
		for i := range 10_000 {
			for j := range bursts.Counters {
				x := .3*float64(i%20/(1+3*j)%5) + .01*random.NormFloat64()
				if i%100 == 99 {
					x = 3 * random.Float64()
				}
				bursts.Counters[j] = append(bursts.Counters[j], int64(1e8*math.Exp(x)))
			}
			bursts.DurationNS = append(bursts.DurationNS, int64(1e5*math.Exp(.1*random.NormFloat64())))
		}
		bursts.ThreadEnds = append(bursts.ThreadEnds, bursts.Len())
	}
	o := grouping.Options{By: grouping.ByNone, JobThreads: 100, Workers: 2, Dims: []space.Dim{{Num: "A", Scale: space.Log}, {Num: "B", Scale: space.Log}}}
	o.Fixed = &grouping.Density{Eps: .025, MinPts: 5_000}
	set, m := summed(b, bursts, o, .02/(4*math.Sqrt2), nil)
	for _, most := range []int{-1, bursts.Len()} {
		set.MostSplit = most
		b.Run(fmt.Sprintf("units=%d/most=%d", len(set.Units), most), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := &memory{t: b, bursts: bursts, coords: m.coords, unit: slices.Clone(m.unit), units: slices.Clone(m.units)}
				b.StartTimer()
				r := compute(b, set, &untimed{b, m}, o)
				b.StopTimer()
				report(b, set, m, r, o)
				b.StartTimer()
			}
		})
	}
}

// report says how much was asked for, and how many bursts are in other clusters than those of the bursts themselves.
func report(b *testing.B, set microcell.Set, m *memory, r *microcell.Result, o grouping.Options) {
	want, err := grouping.Compute(m.bursts, o)
	if err != nil {
		b.Fatal(err)
	}
	both := make(map[[2]int32]int) // bursts by the labels of both, the most frequent of which belong together
	of := make(map[int32]int)
	for row, i := range m.unit {
		pair := [2]int32{r.Labels[i], want.Labels[row]}
		both[pair]++
		of[pair[0]] = max(of[pair[0]], both[pair])
	}
	same := 0
	for _, n := range of {
		same += n
	}
	b.ReportMetric(float64(len(m.unit)-same), "elsewhere")
	b.ReportMetric(float64(r.Certificate.Rounds), "rounds")
	b.ReportMetric(float64(len(r.Units)-len(set.Units)), "places")
	b.ReportMetric(float64(r.Certificate.Bursts), "in-question")
	b.ReportMetric(float64(len(r.Clusters)), "clusters")
}

// untimed is a source whose time does not count.
type untimed struct {
	b *testing.B
	m *memory
}

func (u *untimed) Score(labels []int32, count int) (*sequence.Score, error) {
	u.b.StopTimer()
	defer u.b.StartTimer()
	t := sequence.Threads{Count: count, DurationNS: u.m.bursts.DurationNS, Ends: u.m.bursts.ThreadEnds}
	for _, i := range u.m.unit {
		t.Labels = append(t.Labels, max(labels[i], refine.Noise))
	}
	return sequence.Align(t, 2)
}

func (u *untimed) Split(units []int32) ([][]microcell.Unit, error) {
	u.b.StopTimer()
	defer u.b.StartTimer()
	return u.m.Split(units)
}
