package live

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
)

func newLive(t testing.TB, o grouping.Options) *Live {
	t.Helper()
	l := New(store.New(), o, slog.New(slog.DiscardHandler))
	l.chosen, _ = l.options.Choose([]string{"PAPI_TOT_INS", "PAPI_TOT_CYC"})
	return l
}

// addAll adds bursts and clusters them.
func addAll(t testing.TB, l *Live, b grouping.Bursts) Progress {
	t.Helper()
	a := arrived{bursts: b}
	for _, ns := range b.DurationNS {
		a.stands = append(a.stands, stand{1, ns})
	}
	if err := l.add(&a); err != nil {
		t.Fatal(err)
	}
	if err := l.clusterGroups(4); err != nil {
		t.Fatal(err)
	}
	return l.Progress()
}

// planted are bursts of three kinds, between call paths of their own: 5 ms, 1 ms, and four in five of all of 2 us.
func planted(n int, random *rand.Rand) grouping.Bursts {
	var b grouping.Bursts
	b.CounterNames = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}
	b.Counters = make([][]int64, 2)
	for range n {
		kind := uint32(max(0, random.IntN(10)-7))
		ns := []float64{2e3, 1e6, 5e6}[kind] * math.Exp(.01*random.NormFloat64())
		b.DurationNS = append(b.DurationNS, int64(ns))
		b.Before, b.After = append(b.Before, kind), append(b.After, kind+1)
		b.Counters[0] = append(b.Counters[0], int64(2*ns))
		b.Counters[1] = append(b.Counters[1], int64(ns*(1+float64(kind))*math.Exp(.001*random.NormFloat64())))
	}
	return b
}

// The automatic filter leaves out clusters of short bursts, which return when they turn out to be most of the run.
func TestShortBursts(t *testing.T) {
	for _, by := range []grouping.By{grouping.ByCalls, grouping.ByNone} {
		t.Run(by.String(), func(t *testing.T) {
			dims, err := space.Parse("duration")
			if err != nil {
				t.Fatal(err)
			}
			l := newLive(t, grouping.Options{Dims: dims, By: by, Filter: space.Filter{Auto: true}})
			random := rand.New(rand.NewPCG(1, 2))
			p := addAll(t, l, planted(5000, random))
			if len(p.Clusters) != 2 || p.Explained < .99 || p.Explained == 1 || p.Bursts != 5000 {
				t.Fatalf("%d bursts, explained %v, clusters %+v", p.Bursts, p.Explained, p.Clusters)
			}
			for i, ms := range []float64{5, 1} {
				if mean := float64(p.Clusters[i].TimeNS) / float64(p.Clusters[i].Bursts) / 1e6; math.Abs(mean-ms) > .01*ms {
					t.Errorf("cluster %d has bursts of %v ms, want %v", i, mean, ms)
				}
			}
			if by == grouping.ByNone {
				return // MinPts, a part of all bursts, becomes too large for the long ones
			}
			long := p.Clusters[0].ID
			const n = 200_000
			short := grouping.Bursts{Columns: space.Columns{DurationNS: make([]int64, n)}, Before: make([]uint32, n), After: make([]uint32, n)}
			for i := range short.DurationNS {
				short.DurationNS[i], short.After[i] = 2000, 1
			}
			p = addAll(t, l, short)
			if len(p.Clusters) != 3 || p.Clusters[0].ID != long || p.Explained != 1 {
				t.Fatalf("with many short bursts: explained %v, clusters %+v", p.Explained, p.Clusters)
			}
		})
	}
}

// Strict runs have axes that depend on all bursts; live they are as they are without.
func TestStrictIsNotLive(t *testing.T) {
	l := newLive(t, grouping.Options{Strict: true, By: grouping.ByAuto, Resolution: 1e-3})
	if o := l.chosen; o.Strict || o.Normalise || o.By != grouping.ByNone || o.Floor() != .02 {
		t.Errorf("%+v", o)
	}
	p := addAll(t, l, planted(2000, rand.New(rand.NewPCG(1, 2))))
	if len(p.Clusters) != 3 {
		t.Errorf("clusters %+v", p.Clusters)
	}
}

func benchmarkAdd(b *testing.B, o grouping.Options) {
	random := rand.New(rand.NewPCG(1, 2))
	const batch = 1 << 16
	bursts := planted(batch, random)
	l := newLive(b, o)
	addAll(b, l, bursts)
	for b.Loop() {
		addAll(b, l, bursts)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/burst")
}

func BenchmarkDurationByCalls(b *testing.B) {
	benchmarkAdd(b, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, By: grouping.ByCalls})
}

func BenchmarkInstructionsAndIPC(b *testing.B) {
	benchmarkAdd(b, grouping.Options{By: grouping.ByAuto})
}
