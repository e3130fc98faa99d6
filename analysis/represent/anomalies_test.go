package represent_test

import (
	"slices"
	"strings"
	"testing"

	"moriens/analysis/represent"
)

// Many anomalies of one kind are shown by a few; neighbours share a window.
func TestManyAnomalies(t *testing.T) {
	p := newPlan(4)
	p.loop(1000, func(th, k int) {
		ns := int64(ms)
		if th == 2 && k%50 < 2 && k > 1 {
			ns = int64(5+k/100) * ms
		}
		p.burst(th, 1, ns)
		p.burst(th, 2, ms)
	})
	f := find(t, p.run, represent.FindOptions{Anomalies: 12})
	if len(f.Anomalies) != 3 || f.More != 32 { // 2 × 19 iterations; three windows hold two each
		t.Fatalf("%d windows, %d more", len(f.Anomalies), f.More)
	}
	if a := f.Anomalies[0]; a.FromIteration != 900 || a.ToIteration != 902 || a.ExplainsNS < 12*ms || !strings.HasPrefix(a.Reason, "iterations 900-901 of phase 0, most of it in iteration 900 of phase 0: takes 7.4") {
		t.Errorf("%+v", a)
	}
	if f := find(t, p.run, represent.FindOptions{Anomalies: -1}); len(f.Anomalies) != 0 || f.More != 38 {
		t.Errorf("%d windows, %d more", len(f.Anomalies), f.More)
	}
}

// A cluster that one rank has twice in a thousand iterations is rare, one that it has in each is not.
func TestRareCluster(t *testing.T) {
	p := newPlan(4)
	p.loop(1000, func(th, k int) {
		p.burst(th, 1, ms)
		if th == 1 {
			p.burst(th, 2, ms)
		}
		if th == 3 && k%500 == 250 {
			p.burst(th, 3, ms/2)
		}
	})
	f := find(t, p.run, represent.FindOptions{})
	if len(f.Anomalies) != 2 {
		t.Fatalf("%+v", f.Anomalies)
	}
	for _, a := range f.Anomalies {
		if a.FromIteration%500 != 250 || !slices.Equal(a.Threads, []int32{3}) ||
			!strings.Contains(a.Reason, "cluster 3, of which the run has 2 bursts on 1 thread, takes 500 us on rank 3") {
			t.Errorf("%+v", a)
		}
	}
}

// A long iteration is of the kind of the burst that makes it long: another cluster's comes before the second of one,
// however much longer that is.
func TestEveryKindFirst(t *testing.T) {
	p := newPlan(4)
	p.loop(100, func(th, k int) {
		ns := [2]int64{ms, ms}
		if th == 1 {
			switch k {
			case 20:
				ns[0] = 60 * ms
			case 40:
				ns[0] = 50 * ms
			case 60:
				ns[1] = 40 * ms
			}
		}
		p.burst(th, 1, ns[0])
		p.burst(th, 2, ns[1])
	})
	f := find(t, p.run, represent.FindOptions{Anomalies: 2})
	if len(f.Anomalies) != 2 || f.More != 1 || f.Anomalies[0].FromIteration != 20 || f.Anomalies[1].FromIteration != 60 {
		t.Errorf("%d more than %+v", f.More, f.Anomalies)
	}
}

// Where the most unusual part of a window is all of it but less than its times show, the reason does not name them
// twice.
func TestAnomalyNamedOnce(t *testing.T) {
	p := newPlan(2)
	for k := range 100 {
		for th := range 2 {
			switch {
			case k == 50 && th == 0:
				p.burst(th, represent.Noise, 900*ms)
			case k == 51 && th == 0:
				p.burst(th, represent.Noise, 300*us)
			default:
				p.burst(th, 1, 10*us)
			}
		}
		p.barrier()
	}
	p.phase(0, nil)
	f := find(t, p.run, represent.FindOptions{})
	if len(f.Anomalies) == 0 {
		t.Fatal("no anomaly")
	}
	for _, a := range f.Anomalies {
		if where, most, two := strings.Cut(a.Reason, ", most of it in "); two && strings.HasPrefix(most, where+":") {
			t.Error(a.Reason)
		}
	}
}

// In long iterations what is unusual, and a cluster that is seen once, are shown with what is near them.
func TestNear(t *testing.T) {
	const near = 20
	p := newPlan(3)
	p.loop(40, func(th, k int) {
		for i := range 300 {
			switch {
			case th == 2 && k == 17 && i == 200:
				p.burst(th, 1, 30*ms)
			case th == 1 && k == 30 && i >= 100 && i < 103:
				p.burst(th, 3, 10*us) // too short to matter
			default:
				p.burst(th, int32(1+i%2), int64(10*us))
			}
		}
	})
	f := find(t, p.run, represent.FindOptions{Near: near})
	if len(f.Anomalies) != 1 || len(f.Windows) != 2 || f.Explained != 1 {
		t.Fatalf("%+v", f)
	}
	a := f.Anomalies[0]
	if first, behind := a.First[2], a.Behind[2]; behind-first != near || first > 17*300+200 || behind <= 17*300+200 || !slices.Equal(a.Threads, []int32{2}) || a.Phase != 0 || a.FromIteration != a.ToIteration {
		t.Errorf("%+v", a)
	}
	if want := "iteration 17 of phase 0, of which this is the worst part: takes "; !strings.HasPrefix(a.Reason, want) {
		t.Error(a.Reason)
	}
	if w := f.Windows[0]; w.Why != represent.Representative || w.ToIteration-w.FromIteration != 2 || w.Behind[0]-w.First[0] != 600 {
		t.Errorf("%+v", w)
	}
	w := f.Windows[1]
	if w.Why != represent.Fallback || int(w.Behind[1]-w.First[1]) > near || w.First[1] > 30*300+102 || w.Behind[1] <= 30*300+100 || !slices.Equal(w.Threads, []int32{1}) {
		t.Errorf("%+v", w)
	}
}

// An iteration that is long by what happens within one call is shown round that call.
func TestNearALongCall(t *testing.T) {
	p := newPlan(2)
	p.loop(20, func(th, k int) {
		for i := range 100 {
			p.burst(th, 1, int64(10*us))
			if k == 7 && i == 60 {
				p.now[th] += 50 * ms
			}
		}
	})
	f := find(t, p.run, represent.FindOptions{Near: 10})
	if len(f.Anomalies) != 1 {
		t.Fatalf("%+v", f.Anomalies)
	}
	a := f.Anomalies[0]
	for th := range a.First {
		if a.Behind[th]-a.First[th] != 10 || a.First[th] > 760 || a.Behind[th] < 762 {
			t.Errorf("%+v", a)
		}
	}
	if !strings.HasSuffix(a.Reason, ": takes 26.0 times as much time as the phase's median (52.0 ms, median 2.00 ms)") || a.EndNS-a.BeginNS < 50*ms || len(a.Threads) != 1 {
		t.Errorf("%+v", a)
	}
}
