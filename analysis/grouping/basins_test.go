package grouping_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/space"
	"moriens/internal/testenv"
)

// spreadOut are bursts of one pair of calls that lie evenly over decades, with a few far out: the knee is above a small
// resolution.
func spreadOut(random *rand.Rand, n int) grouping.Bursts {
	b := grouping.Bursts{Before: make([]uint32, n), After: make([]uint32, n)}
	for i := range n - n/100 {
		b.DurationNS = append(b.DurationNS, int64(1e5*math.Exp(9*(float64(i)+random.Float64())/float64(n))))
	}
	for range n / 100 {
		b.DurationNS = append(b.DurationNS, int64(1e3*math.Exp(4*random.Float64())))
	}
	return b
}

// Where in its cell a burst is, and which burst comes first, changes nothing of what its group is clustered with: who
// knows the cells alone knows that too.
func TestDensityIsOfCells(t *testing.T) {
	seed := testenv.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	o := grouping.Options{Dims: logDuration, Resolution: .01, Kinds: grouping.KindsByDensity}
	side := kinds.MostSide(1, o.Resolution)
	b := spreadOut(random, 3000)
	want := compute(t, b, o).Groups[0]
	if want.From != grouping.FromKnee {
		t.Fatalf("%+v: the case shows nothing", want)
	}
	moved := grouping.Bursts{Columns: space.Columns{DurationNS: slices.Clone(b.DurationNS)}, Before: b.Before, After: b.After}
	cellOf := func(ns int64) float64 { return math.Floor(math.Log(float64(ns)) / side) }
	for i, ns := range b.DurationNS {
		to := int64(math.Exp((cellOf(ns) + random.Float64()) * side))
		if cellOf(to) == cellOf(ns) {
			moved.DurationNS[i] = to
		}
	}
	random.Shuffle(len(b.DurationNS), func(i, j int) {
		moved.DurationNS[i], moved.DurationNS[j] = moved.DurationNS[j], moved.DurationNS[i]
	})
	if got := compute(t, moved, o).Groups[0]; got.MinPts != want.MinPts || got.Knee != want.Knee || got.Eps != want.Eps || got.From != want.From {
		t.Errorf("%+v, want the density of %+v", got, want)
	}
}

// A knee in two dimensions, too, hangs on no order of bursts.
func TestDensityHangsOnNoOrder(t *testing.T) {
	seed := testenv.Seed(t)
	random := rand.New(rand.NewPCG(seed, 2))
	dims, err := space.Parse("PAPI_TOT_INS:log,IPC")
	if err != nil {
		t.Fatal(err)
	}
	const n = 11_000 // over dbscan.DefaultQueries: those asked about are some
	b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}}
	for range n {
		instructions := 1e9 * math.Exp(.4*random.NormFloat64())
		b.DurationNS, b.Counters[0] = append(b.DurationNS, 1000), append(b.Counters[0], int64(instructions))
		b.Counters[1] = append(b.Counters[1], int64(instructions*math.Exp(.1*random.NormFloat64())))
	}
	o := grouping.Options{Dims: dims, By: grouping.ByNone, Kinds: grouping.KindsByDensity, Workers: 2}
	want := compute(t, b, o).Groups[0]
	if want.From != grouping.FromKnee {
		t.Fatalf("%+v: the case shows nothing", want)
	}
	random.Shuffle(b.Len(), func(i, j int) {
		for _, column := range [][]int64{b.DurationNS, b.Counters[0], b.Counters[1]} {
			column[i], column[j] = column[j], column[i]
		}
	})
	if got := compute(t, b, o).Groups[0]; got.MinPts != want.MinPts || got.Knee != want.Knee || got.Eps != want.Eps {
		t.Errorf("%+v, want the density of %+v", got, want)
	}
}

// Eps is not below that of the finest basins, whatever the resolution: cells resolve no less.
func TestNoEpsBelowThatOfTheFinestBasins(t *testing.T) {
	b := grouping.Bursts{Columns: space.Columns{DurationNS: slices.Repeat([]int64{1000, 1001, 1002}, 20)}, Before: make([]uint32, 60), After: make([]uint32, 60)}
	r := compute(t, b, grouping.Options{Dims: logDuration, Resolution: -1})
	if g := r.Groups[0]; g.Eps != kinds.DefaultLeast(true) || g.From != grouping.FromFloor || g.Clusters != 1 || g.NoiseBursts > 0 {
		t.Errorf("%+v", g)
	}
}
