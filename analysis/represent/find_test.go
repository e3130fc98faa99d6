package represent_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/represent"
)

func TestHalo(t *testing.T) {
	run := halo(8)
	f := find(t, run, represent.FindOptions{Workers: 2})
	if len(f.Windows) != 4 || len(f.Anomalies) != 1 || f.More != 0 || f.Explained != 1 || len(f.Warnings) != 0 {
		t.Fatalf("%+v", f)
	}
	setup, first, output, second := f.Windows[0], f.Windows[1], f.Windows[2], f.Windows[3]
	if from, to := anchorsOf(&run, &setup); setup.Phase != 0 || from != -1 || to != 0 || setup.BeginNS != 0 || setup.EndNS < 400*ms ||
		!strings.HasPrefix(setup.Reason, "in phase 0: has cluster 5, which no earlier window has (100 % of the computing time of phase 0)") {
		t.Errorf("%+v", setup)
	}
	for i, w := range []represent.Window{first, second} {
		from, to := anchorsOf(&run, &w)
		if w.Why != represent.Representative || w.Phase != i+1 || w.ToIteration != w.FromIteration+2 || w.FromIteration == 0 ||
			from != 500*i+w.FromIteration || to != from+2 {
			t.Errorf("%+v", w)
		}
		want := fmt.Sprintf("iterations %d-%d of phase %d: of 500 the closest to the median (", w.FromIteration, w.ToIteration-1, i+1)
		if !strings.HasPrefix(w.Reason, want) {
			t.Errorf("%q, want %q", w.Reason, want)
		}
	}
	if first.FromIteration <= 412 && 412 < first.ToIteration {
		t.Errorf("the anomaly represents its phase: %s", first.Reason)
	}
	a := f.Anomalies[0]
	if a.FromIteration != 412 || a.ToIteration != 413 || a.Phase != 1 || !slices.Equal(a.Threads, []int32{3}) {
		t.Errorf("%+v", a)
	}
	for _, part := range []string{
		"iteration 412 of phase 1: takes 2.2", " times as much time as the phase's median (", "; a burst of cluster 2 on rank 3 takes 8.9", " times as much time as its median (9.0", " ms, median 1.0",
	} {
		if !strings.Contains(a.Reason, part) {
			t.Errorf("%q lacks %q", a.Reason, part)
		}
	}
	// The output is too short to be an anomaly, but has a window.
	if w := output; w.Phase != 2 || (w.FromIteration+1)%100 != 0 || !slices.Equal(w.Threads, []int32{0}) || !strings.Contains(w.Reason, "has cluster 6, which no earlier window has (0.00") {
		t.Errorf("%+v", w)
	}
}

// What stands for a phase is what most of its iterations are, even if few are, and in the middle where all are alike.
func TestTypical(t *testing.T) {
	build := func(times ...int64) represent.Run {
		p := newPlan(2)
		p.loop(len(times), func(th, k int) { p.burst(th, 1, times[k]) })
		return p.run
	}
	for _, tt := range []struct {
		times  []int64
		w      int
		from   int
		reason string
	}{
		{slices.Repeat([]int64{ms}, 100), 2, 49, "iterations 49-50 of phase 0: of 100 the closest to the median (1.000 of the median time, 1.01 ms; 0 % off"},
		{[]int64{5 * ms, ms, ms, ms}, 3, 1, "iterations 1-3"}, // the first is warming up
		{[]int64{ms, ms, ms}, 3, 0, "iterations 0-2 of phase 0: all of them"},
		{[]int64{ms, ms, ms}, 9, 0, "iterations 0-2 of phase 0: all of them"},
		{[]int64{ms}, 2, 0, "iteration 0 of phase 0: all of them"},
		{[]int64{100 * us, 110 * us, 120 * us, 130 * us, 140 * us, 150 * us, 160 * us}, 1, 3, "iteration 3"}, // drifts
		{[]int64{100 * us, 9 * ms, 100 * us, 9 * ms, 100 * us, 9 * ms, 100 * us, 100 * us, 9 * ms}, 2, 6, "iterations 6-7"},
	} {
		f := find(t, build(tt.times...), represent.FindOptions{Windows: tt.w})
		if len(f.Windows) != 1 || f.Windows[0].FromIteration != tt.from || !strings.HasPrefix(f.Windows[0].Reason, tt.reason) {
			t.Errorf("%v: %+v", tt.times, f.Windows)
		}
	}
}

// A stretch in which everything is unusual gets a window all the same, which says so.
func TestNothingUsual(t *testing.T) {
	p := newPlan(1)
	p.loop(6, func(_, k int) { p.burst(0, represent.Noise, int64(k+1)*ms) })
	f := find(t, p.run, represent.FindOptions{})
	if len(f.Windows) != 1 || !strings.Contains(f.Windows[0].Reason, "2 of 2 contain something unusual") || f.Explained != 0 {
		t.Errorf("%+v", f)
	}
	if len(f.Anomalies) == 0 || !strings.Contains(f.Anomalies[0].Reason, "in no dense region") {
		t.Errorf("%+v", f.Anomalies)
	}
}

// Without iterations windows hold all clusters, and then those with most computing time.
func TestAperiodic(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	p := newPlan(5)
	for range 300 {
		for th := 1; th < 5; th++ {
			for range 1 + random.IntN(3) {
				p.burst(th, int32(1+random.IntN(7)), int64(1+random.IntN(4))*ms)
			}
		}
		p.burst(0, 8, 50*us) // the master
		if random.IntN(2) == 0 {
			p.barrier()
		}
	}
	for _, anchored := range []bool{true, false} {
		run := p.run
		if !anchored {
			run.Threads = slices.Clone(run.Threads)
			for i := range run.Threads {
				run.Threads[i].Anchors = nil
			}
		}
		f := find(t, run, represent.FindOptions{Fallback: 20})
		if n := len(f.Windows) + len(f.Anomalies); n < 20 || f.Explained != 1 {
			for _, w := range slices.Concat(f.Windows, f.Anomalies) {
				t.Log(w.Why, w.Reason)
			}
			t.Fatalf("%d windows, %v explained", n, f.Explained)
		}
		for i, w := range f.Windows {
			if w.Why != represent.Fallback || w.FromIteration != w.ToIteration || w.BeginNS >= w.EndNS {
				t.Errorf("%+v", w)
			}
			if i > 0 && w.BeginNS < f.Windows[i-1].BeginNS {
				t.Error("windows are not in the order of time")
			}
		}
	}
}

// Of very many anchors not all cut, and those that do are the same on all threads.
func TestManyAnchors(t *testing.T) {
	p := newPlan(2)
	for k := range 9001 {
		for th := range 2 {
			p.burst(th, int32(1+k/3000), int64(100-th)*us)
		}
		p.barrier()
	}
	f := find(t, p.run, represent.FindOptions{})
	if len(f.Windows)+len(f.Anomalies) != represent.DefaultFallback || f.Explained != 1 {
		t.Fatalf("%d windows, %d anomalies", len(f.Windows), len(f.Anomalies))
	}
	for _, w := range f.Windows {
		from, to := anchorsOf(&p.run, &w)
		if n := w.Behind[0] - w.First[0]; n != 3 && w.Behind[0] != 9001 || w.First[0] != w.First[1] || w.Behind[0] != w.Behind[1] || to-from != int(n) {
			t.Errorf("%+v", w)
		}
	}
}

// Windows that would not fit are cut: iterations of a thousand bursts into parts of a hundred.
func TestMaxBursts(t *testing.T) {
	p := newPlan(2)
	p.loop(10, func(th, _ int) {
		for i := range 1000 {
			p.burst(th, int32(1+i/500), int64(10*us))
		}
	})
	for _, tt := range []struct{ most, iterations int }{{0, 2}, {5000, 2}, {1500, 1}, {100, 0}} {
		f := find(t, p.run, represent.FindOptions{MaxBursts: tt.most})
		for _, w := range slices.Concat(f.Windows, f.Anomalies) {
			if w.ToIteration-w.FromIteration != tt.iterations {
				t.Errorf("at most %d bursts: %s", tt.most, w.Reason)
			}
			for th := range w.First {
				if n := int(w.Behind[th] - w.First[th]); tt.most > 0 && n > tt.most {
					t.Errorf("%d bursts, at most %d: %s", n, tt.most, w.Reason)
				}
			}
		}
		if len(f.Windows) == 0 || f.Explained != 1 {
			t.Errorf("%+v", f)
		}
	}
}

// Threads with no part in the iterations, that end early, or that do nothing.
func TestUnevenThreads(t *testing.T) {
	p := newPlan(5)
	p.loop(100, func(th, k int) {
		if th < 2 || th == 3 && k < 50 {
			p.burst(th, 1, ms)
		}
		if th == 2 && k%7 == 0 {
			p.burst(th, 2, ms)
		}
	})
	p.run.Phases[0].Begins[2] = nil // a master
	p.run.Threads[3].Anchors = p.run.Threads[3].Anchors[:50]
	p.run.Threads[4] = represent.Thread{}
	p.run.Phases[0].Begins[4] = nil
	f := find(t, p.run, represent.FindOptions{Windows: 10})
	w := f.Windows[0]
	if from, to := anchorsOf(&p.run, &w); w.Behind[0]-w.First[0] != 10 || from < w.FromIteration-1 || to > w.ToIteration {
		t.Errorf("%+v", w)
	}
	if n := w.Behind[2] - w.First[2]; n < 1 || n > 2 {
		t.Errorf("the master has %d bursts in it", n)
	}
	if w.First[4] != 0 || w.Behind[4] != 0 {
		t.Errorf("%+v", w)
	}
	// And runs of nothing.
	for _, run := range []represent.Run{{}, {Threads: make([]represent.Thread, 3)}} {
		if f := find(t, run, represent.FindOptions{}); len(f.Windows)+len(f.Anomalies) != 0 || math.IsNaN(f.Explained) {
			t.Errorf("%+v", f)
		}
	}
}

// So many iterations of so many clusters that there is no room to look at all.
func TestManyClusters(t *testing.T) {
	p := newPlan(1)
	p.loop(20_000, func(th, k int) { p.burst(th, int32(1+k%1000), int64(1000-k%1000)*us) })
	f := find(t, p.run, represent.FindOptions{Anomalies: -1})
	want := "phase 0: only the 838 clusters with most time are used, not the other 162: it has 20000 pieces"
	if len(f.Warnings) != 1 || f.Warnings[0] != want || f.Explained < .02 || f.Explained > .3 { // 2 + 64 of 1000, the largest
		t.Errorf("%v, %v", f.Warnings, f.Explained)
	}
}

func TestFindRefuses(t *testing.T) {
	good := func() represent.Run {
		p := newPlan(2)
		p.loop(3, func(th, _ int) { p.burst(th, 1, ms) })
		return p.run
	}
	find(t, good(), represent.FindOptions{})
	for name, break1 := range map[string]func(*represent.Run){
		"lengths":       func(r *represent.Run) { r.Threads[0].BeginNS = nil },
		"order":         func(r *represent.Run) { r.Threads[1].BeginNS[0] = 1 << 60 },
		"duration":      func(r *represent.Run) { r.Threads[1].DurationNS[0] = -1 },
		"end":           func(r *represent.Run) { r.Threads[1].DurationNS[2] = math.MaxInt64 },
		"anchors":       func(r *represent.Run) { r.Threads[1].Anchors[0] = 4 },
		"threads":       func(r *represent.Run) { r.Phases[0].First = nil },
		"begins":        func(r *represent.Run) { r.Phases[0].Begins[1] = r.Phases[0].Begins[1][:2] },
		"begins' order": func(r *represent.Run) { r.Phases[0].Begins[1][0] = 3 },
		"no begins":     func(r *represent.Run) { r.Phases[0].Begins = nil },
		"two phases":    func(r *represent.Run) { r.Phases = append(r.Phases, r.Phases[0]) },
		"iterations":    func(r *represent.Run) { r.Phases[0].Iterations = -1 },
	} {
		run := good()
		break1(&run)
		if _, err := represent.Find(run, represent.FindOptions{}); err == nil || !strings.HasPrefix(err.Error(), "represent: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []represent.FindOptions{{Windows: -1}, {Fallback: -1}, {MaxBursts: -1}, {Near: -1}} {
		if _, err := represent.Find(good(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Whatever the run is like: windows are within it, none of two that stand for it overlap, anomalies are sorted, and
// workers do not matter.
func TestFoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlan(rapid.IntRange(1, 4).Draw(t, "threads"))
		for range rapid.IntRange(0, 3).Draw(t, "phases") {
			clusters := rapid.Int32Range(-2, 4)
			durations := rapid.OneOf(rapid.Int64Range(900, 1100), rapid.Int64Range(0, 50_000))
			if rapid.Bool().Draw(t, "iterates") {
				p.loop(rapid.IntRange(1, 12).Draw(t, "iterations"), func(th, _ int) {
					for range rapid.IntRange(0, 3).Draw(t, "bursts") {
						p.burst(th, clusters.Draw(t, "cluster"), durations.Draw(t, "ns"))
					}
				})
				continue
			}
			for th := range p.now {
				for range rapid.IntRange(0, 20).Draw(t, "bursts") {
					p.burst(th, clusters.Draw(t, "cluster"), durations.Draw(t, "ns"))
				}
			}
			if rapid.Bool().Draw(t, "barrier") {
				p.barrier()
			}
			p.phase(0, nil)
		}
		o := represent.FindOptions{Windows: rapid.IntRange(0, 4).Draw(t, "windows"), Anomalies: rapid.IntRange(-1, 6).Draw(t, "anomalies"), MaxBursts: rapid.IntRange(0, 8).Draw(t, "most"), Near: rapid.IntRange(0, 3).Draw(t, "near"), Workers: 1}
		o.Show = rapid.SliceOfN(rapid.Int32Range(0, int32(len(p.run.Threads)-1)), 0, 3).Draw(t, "show")
		f := find(t, p.run, o)
		checkShown(t, p.run, f, o.Show)
		if !slices.IsSortedFunc(f.Anomalies, func(a, b represent.Window) int { return cmp.Compare(b.ExplainsNS, a.ExplainsNS) }) {
			t.Fatal("anomalies are not sorted")
		}
		for i, w := range slices.Concat(f.Windows, f.Anomalies) {
			bursts := int32(0)
			for th := range w.First {
				if w.First[th] > w.Behind[th] || int(w.Behind[th]) > len(p.run.Threads[th].Cluster) {
					t.Fatalf("%+v", w)
				}
				bursts += w.Behind[th] - w.First[th]
				for b := w.First[th]; b < w.Behind[th]; b++ {
					if begin := p.run.Threads[th].BeginNS[b]; begin < w.BeginNS || begin+p.run.Threads[th].DurationNS[b] > w.EndNS {
						t.Fatalf("burst %d of rank %d is not within %+v", b, th, w)
					}
				}
			}
			if w.Reason == "" || (w.Why == represent.Anomaly) != (i >= len(f.Windows)) {
				t.Fatalf("%+v", w)
			}
			for _, other := range f.Windows[:min(i, len(f.Windows))] {
				for th := range w.First {
					if max(w.First[th], other.First[th]) < min(w.Behind[th], other.Behind[th]) && w.Phase == other.Phase && w.Why != represent.Anomaly {
						t.Fatalf("%+v overlaps %+v", w, other)
					}
				}
			}
		}
		if f.Explained < 0 || f.Explained > 1 {
			t.Fatal(f.Explained)
		}
		o.Workers = 3
		if other := find(t, p.run, o); !reflect.DeepEqual(f, other) {
			t.Fatalf("%+v, with 3 workers %+v", f, other)
		}
	})
}

// checkShown checks that each of the threads that have bursts has some in a window that is for it.
func checkShown(t interface {
	Helper()
	Fatalf(string, ...any)
}, run represent.Run, f *represent.Selection, threads []int32) {
	t.Helper()
	iterates := slices.ContainsFunc(f.Windows, func(w represent.Window) bool { return w.Why == represent.Representative })
	for _, th := range threads {
		if len(run.Threads[th].Cluster) > 0 && !slices.ContainsFunc(f.Windows, func(w represent.Window) bool {
			return w.First[th] < w.Behind[th] && (w.Why == represent.Representative || !iterates || slices.Contains(w.Threads, th))
		}) {
			t.Fatalf("no window shows rank %d: %+v", th, f.Windows)
		}
	}
}

// An exemplar or an outlier that does nothing while those are that stand for a phase has a window all the same: one
// that is there for something else, or one of its own.
func TestThreadsThatTheWindowsLeaveOut(t *testing.T) {
	build := func(other int32) represent.Run {
		p := newPlan(4)
		p.loop(100, func(th, k int) {
			switch {
			case th < 2:
				p.burst(th, 1, ms)
			case k == 20+th || k == 30 && th == 3:
				p.burst(th, other, ms/10*int64(th))
			}
		})
		return p.run
	}
	for _, tt := range []struct {
		name  string
		other int32 // the cluster of what ranks 2 and 3 do
		show  []int32
		want  []string // of reasons, of windows beside the one that stands for the phase
	}{
		{"nobody", 1, nil, nil},
		{"those of iterations", 1, []int32{0, 1}, nil},
		{"one", 1, []int32{2, 0, 2}, []string{"iteration 22 of phase 0; shows rank 2, which has nothing in representative windows"}},
		{"two", 1, []int32{2, 3}, []string{"iteration 22 of phase 0; shows rank 2, which", "iteration 23 of phase 0; shows rank 3, which"}},
		{"has a window for its cluster", 2, []int32{2, 3}, []string{"iteration 22 of phase 0: has cluster 2, which no earlier window has", "iteration 23 of phase 0; shows rank 3, which"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := build(tt.other)
			f := find(t, run, represent.FindOptions{Anomalies: -1, Show: tt.show})
			var reasons []string
			for _, w := range f.Windows {
				if w.Why != represent.Representative {
					reasons = append(reasons, w.Reason)
				}
			}
			if !slices.EqualFunc(reasons, tt.want, strings.HasPrefix) {
				t.Errorf("%q, want %q", reasons, tt.want)
			}
			checkShown(t, run, f, tt.show)
		})
	}
	if _, err := represent.Find(build(1), represent.FindOptions{Show: []int32{4}}); err == nil || !strings.Contains(err.Error(), "thread 4") {
		t.Error(err)
	}
}

// BenchmarkFind is 10,000 ranks of 1,000 iterations, a burst each of one of 20 clusters.
func BenchmarkFind(b *testing.B) {
	for _, ranks := range []int{100, 1_000, 10_000} {
		random := rand.New(rand.NewPCG(1, 1))
		p := newPlan(ranks)
		p.loop(1000, func(th, k int) {
			p.burst(th, int32(1+k%20), int64(float64(1+k%20)*100*us*(1+.05*random.Float64())))
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("ranks=%d/bursts=%d/workers=%d", ranks, ranks*1000, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := represent.Find(p.run, represent.FindOptions{Workers: workers}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
