package fidelity

import (
	"math"
	"testing"

	"moriens/analysis/profile"
)

const (
	coreNS      = 1000
	disturbedNS = 3000
)

// ofOneKind is a thread that does the bursts of cluster 1, of which every fifth is disturbed: density puts it into
// cluster 2, in which it is at home nowhere, or into none.
func ofOneKind(bursts int) (p planted) {
	for k := range bursts {
		ns, cluster := int64(coreNS), int32(1)
		if k%5 == 4 {
			ns, cluster = disturbedNS, []int32{-1, 2}[k/5%2]
		}
		p.StartNS, p.DurationNS = append(p.StartNS, int64(10_000*k)), append(p.DurationNS, ns)
		p.After, p.Cluster, p.OfKind = append(p.After, 1), append(p.Cluster, cluster), append(p.OfKind, 1)
	}
	p.Counters = [][]int64{p.DurationNS}
	p.clusters = p.OfKind
	return p
}

func some(p *planted, bursts ...int) Bursts {
	b := Bursts{Counters: [][]int64{nil}}
	for _, k := range bursts {
		b.Symbol, b.Cluster = append(b.Symbol, 1), append(b.Cluster, p.Cluster[k])
		b.DurationNS, b.Counters[0] = append(b.DurationNS, p.DurationNS[k]), append(b.Counters[0], p.DurationNS[k])
	}
	return b
}

func inputOf(t *testing.T, threads ...*planted) Input {
	in := Input{Counters: 1, Clusters: symbols}
	var list []profile.Thread
	for _, p := range threads {
		list = append(list, p.Thread)
		in.Threads = append(in.Threads, Thread{Sequence: symbolsOf(p.clusters)})
	}
	var err error
	if in.Exact, err = profile.Sum(list, profile.Options{Counters: 1}); err != nil {
		t.Fatal(err)
	}
	return in
}

// Half of a window's bursts are disturbed, and a fifth of the run's: each half stands for as many as there are.
func TestPartsAreWeighed(t *testing.T) {
	p := ofOneKind(100)
	other := ofOneKind(50)
	in := inputOf(t, &p, &other)
	in.Threads[0].Kept = some(&p, 3, 4, 9, 10)
	r := judge(t, in)
	near(t, "time", r.Windows.Time, 0)
	near(t, "counter", r.Windows.Counters[0], 0)
	near(t, "represented", r.Sources.Represented(), 1)
	near(t, "of the thread", r.Sources.Thread, 2./3)
	if len(r.Windows.Clusters) != 1 || r.Windows.Clusters[0].Kolmogorov > 1e-9 {
		t.Errorf("%+v", r.Windows.Clusters)
	}
	for i, want := range []float64{140_000, 70_000} {
		if e := r.Windows.Threads[i]; e.Error() > 1e-9 || math.Abs(e.RebuiltNS-want) > 1e-6 {
			t.Errorf("thread %d: %+v, want %v", i, e, want)
		}
	}
	// What is in no window and in no sample is rebuilt from the rest of the kind.
	in.Threads[0].Kept = some(&p, 3, 4)
	if r = judge(t, in); r.Sources.Nothing > 0 || r.Windows.RebuiltNS != 150*.8*coreNS+15*disturbedNS+15*2000 {
		t.Errorf("without one of the clusters: %+v, %v ns", r.Sources, r.Windows.RebuiltNS)
	}
}

// Windows do not stand for what the sample contradicts, and do for the rest of the kind.
func TestWindowsGiveWay(t *testing.T) {
	p := ofOneKind(100)
	p.DurationNS[4] = 9000 // in a window
	in := inputOf(t, &p)
	in.Threads[0].Kept = some(&p, 3, 4)
	in.Threads[0].Sample = some(&p, 5, 9, 14)
	in.Threads[0].Sample.Weight = []float64{79, 10, 9}
	r := judge(t, in)
	near(t, "time", r.Windows.Time, 0)
	near(t, "by weights", r.Weighted.Time, 0)
	near(t, "represented", r.Sources.Represented(), 80*coreNS/146_000.)
	// With nothing to contradict it the window stands for all, wrong as it is.
	in.Threads[0].Sample = Bursts{}
	if r = judge(t, in); r.Windows.Time < .3 {
		t.Errorf("without a sample: off by %v", r.Windows.Time)
	}
}
