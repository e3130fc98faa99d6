package fidelity

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/profile"
)

// symbols of the planted clusters: those of noise, of 1, and of 2; one more of noise between other calls.
var symbols = []int32{-1, 1, 2, -1}

func symbolsOf(clusters []int32) []uint32 {
	list := make([]uint32, len(clusters))
	for k, c := range clusters {
		list[k] = uint32(max(c, 0))
	}
	return list
}

// A planted thread does iterations of cluster 1 and cluster 2, with one counter, and once something that is in no
// cluster.
type planted struct {
	profile.Thread
	clusters []int32
}

func plant(iterations int, ns func(iteration int, cluster int32) int64) planted {
	var p planted
	now := int64(0)
	add := func(cluster int32, d int64) {
		p.StartNS, p.DurationNS = append(p.StartNS, now), append(p.DurationNS, d)
		p.After, p.clusters = append(p.After, uint32(cluster+1)), append(p.clusters, cluster)
		now += d + 10
	}
	add(-1, 5000)
	begins := []int32{1}
	for i := range iterations {
		add(1, ns(i, 1))
		add(2, ns(i, 2))
		begins = append(begins, int32(len(p.clusters)))
	}
	p.Cluster = p.clusters
	counts := make([]int64, len(p.DurationNS))
	for k, d := range p.DurationNS {
		counts[k] = 3 * d
	}
	p.Counters = [][]int64{counts}
	p.Phases = []profile.Phase{{From: 0, To: 1}, {From: 1, To: int32(len(p.clusters)), Begins: begins}}
	return p
}

// part are the bursts of a thread in some iterations.
func (p *planted) part(from, to int) Bursts {
	a, b := p.Phases[1].Begins[from], p.Phases[1].Begins[to]
	return Bursts{Symbol: symbolsOf(p.Cluster[a:b]), DurationNS: p.DurationNS[a:b], Counters: [][]int64{p.Counters[0][a:b]}}
}

func input(t testing.TB, threads []planted) Input {
	t.Helper()
	in := Input{Counters: 1, Clusters: symbols, Phases: make([]Phase, 2)}
	var list []profile.Thread
	for _, p := range threads {
		list = append(list, p.Thread)
		in.Threads = append(in.Threads, Thread{Sequence: symbolsOf(p.Cluster)})
		in.Phases[0].Begins = append(in.Phases[0].Begins, nil)
		in.Phases[1].Begins = append(in.Phases[1].Begins, p.Phases[1].Begins)
	}
	var err error
	if in.Exact, err = profile.Sum(list, profile.Options{Counters: 1}); err != nil {
		t.Fatal(err)
	}
	return in
}

func judge(t testing.TB, in Input) *Result {
	t.Helper()
	r, err := Evaluate(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("not finite: %v", err)
	}
	return r
}

func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Where all iterations are alike two of them give the run, but for what was in no window.
func TestRegular(t *testing.T) {
	ns := func(_ int, cluster int32) int64 { return 1000 * int64(cluster) }
	threads := []planted{plant(100, ns), plant(100, ns)}
	in := input(t, threads)
	in.Threads[0].Kept = threads[0].part(50, 52)
	r := judge(t, in)
	total := 2 * (5000. + 100*3000)
	near(t, "time", r.Windows.Time, 10_000/total)
	near(t, "rebuilt", r.Windows.RebuiltNS, total-10_000)
	near(t, "worst", r.Windows.WorstTime, 0)
	near(t, "counter", r.Windows.Counters[0], 10_000/total)
	near(t, "lacking", r.Sources.Nothing, 10_000/total)
	near(t, "own", r.Sources.Thread, 300_000/total)
	near(t, "of the class", r.Sources.Class, 300_000/total)
	near(t, "represented", r.Sources.Represented(), 600_000/total)
	near(t, "inside", r.Inside, 6000/total)
	near(t, "curve", r.Windows.Curves[1].Worst, 0)
	if r.Windows.Curves[0].Points != 0 || r.Windows.Curves[1].Points != 100 {
		t.Errorf("curves %+v", r.Windows.Curves)
	}
	noise := r.Windows.Clusters[0]
	if noise.Label != -1 || noise.Time != 1 || noise.Kolmogorov != 1 {
		t.Errorf("what was not kept: %+v", noise)
	}
	for _, c := range r.Windows.Clusters[1:] {
		if c.Time != 0 || c.Wasserstein != 0 || c.Kolmogorov != 0 || c.Counters[0] != 0 {
			t.Errorf("%+v", c)
		}
	}
	// Weighted: nothing stands for what was dropped.
	near(t, "weighted", r.Weighted.Time, 1-6000/total)
}

// A window that is 10 % slow makes cluster 2 10 % too long, and says so in every figure.
func TestSlowWindow(t *testing.T) {
	threads := []planted{plant(100, func(i int, cluster int32) int64 {
		if cluster == 2 && i == 7 {
			return 2200
		}
		return 1000 * int64(cluster)
	})}
	in := input(t, threads)
	in.Threads[0].Kept = threads[0].part(7, 8)
	in.Threads[0].Sample = Bursts{Symbol: []uint32{0}, DurationNS: []int64{5000}, Counters: [][]int64{{15_000}}, Weight: []float64{1}}
	r := judge(t, in)
	exact := 100*2000 + 200.
	two := r.Windows.Clusters[2]
	near(t, "cluster", two.Time, (220_000-exact)/exact)
	near(t, "counter", two.Counters[0], (220_000-exact)/exact)
	near(t, "Kolmogorov", two.Kolmogorov, .99)
	if math.Abs(two.Wasserstein-.99*math.Log(1.1)) > math.Log(1.1)/40 {
		t.Errorf("Wasserstein %v, want about %v", two.Wasserstein, .99*math.Log(1.1))
	}
	if r.Windows.Worst != 2 || r.Windows.WorstTime != two.Time {
		t.Errorf("worst is %d", r.Windows.Worst)
	}
	near(t, "sample", r.Sources.Sample, 5000/(305_000+200.))
	near(t, "nothing", r.Sources.Nothing, 0)
	c := r.Windows.Curves[1]
	near(t, "worst iteration", c.Worst, 200/3002.)
	if c.At == 7 {
		t.Error("the iteration that was kept has an error")
	}
	near(t, "mean iteration", c.Mean, .99*200/3002)
}

// Threads are rebuilt from their own class first.
func TestClasses(t *testing.T) {
	slow := func(factor int64) planted {
		return plant(50, func(_ int, cluster int32) int64 { return factor * 1000 * int64(cluster) })
	}
	threads := []planted{slow(1), slow(1), slow(3), slow(3)}
	in := input(t, threads)
	in.Threads[0].Kept, in.Threads[2].Kept = threads[0].part(1, 3), threads[2].part(1, 3)
	in.Threads[2].Class, in.Threads[3].Class = 1, 1
	if r := judge(t, in); r.Windows.WorstTime > 1e-12 {
		t.Errorf("by class: %v", r.Windows.WorstTime)
	}
	in.Threads[2].Class, in.Threads[3].Class = 0, 0
	r := judge(t, in)
	near(t, "in one class", r.Windows.WorstTime, 0) // (1+2+2+3)/(1+1+3+3) in sum
	in.Threads[3].Class = 5
	if r := judge(t, in); r.Sources.Run == 0 {
		t.Error("a class of which nothing was kept is rebuilt from the run: not reported")
	}
}

// Weights give back exact counts, so that a run of which everything is kept has no error by any measure.
func TestEverythingKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		var threads []planted
		iterations := rapid.IntRange(1, 4).Draw(t, "iterations")
		for range rapid.IntRange(1, 3).Draw(t, "threads") {
			threads = append(threads, plant(iterations, func(int, int32) int64 { return r.Int64N(1000) }))
		}
		in := Input{Counters: 1, Clusters: symbols}
		var list []profile.Thread
		for _, p := range threads {
			list = append(list, p.Thread)
			in.Threads = append(in.Threads, Thread{Sequence: symbolsOf(p.Cluster), Kept: Bursts{Symbol: symbolsOf(p.Cluster), DurationNS: p.DurationNS, Counters: p.Counters}})
		}
		var err error
		if in.Exact, err = profile.Sum(list, profile.Options{Counters: 1}); err != nil {
			t.Fatal(err)
		}
		got, err := Evaluate(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []Errors{got.Windows, got.Weighted} {
			for _, c := range e.Clusters {
				if c.Time > 1e-12 || c.Wasserstein > 1e-12 || c.Kolmogorov > 1e-12 || c.Counters[0] > 1e-12 {
					t.Fatalf("%+v", c)
				}
			}
			if e.Time > 1e-12 || e.WorstTime > 1e-12 || e.Counters[0] > 1e-12 {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// Bursts in no cluster are rebuilt by weights, which a long one among them does not spoil, of the thread where these
// add up to its bursts; in curves those between the same calls stand for them.
func TestNoise(t *testing.T) {
	noisy := func() planted {
		p := plant(10, func(_ int, cluster int32) int64 { return 1000 })
		p.Cluster[3], p.DurationNS[3] = -1, 40
		return p
	}
	threads := []planted{noisy(), noisy()}
	in := input(t, threads)
	in.Threads[0].Sequence[3], in.Threads[1].Sequence[3] = 3, 3
	long := Bursts{Symbol: []uint32{0}, DurationNS: []int64{5000}, Counters: [][]int64{{15_000}}}
	both := Bursts{Symbol: []uint32{3, 0}, DurationNS: []int64{40, 5000}, Counters: [][]int64{{1, 2}}}
	window := threads[0].part(5, 7)

	in.Threads[0].Kept = window
	in.Threads[0].Sample, in.Threads[1].Sample = both, both
	r := judge(t, in)
	if c := r.Windows.Clusters[0]; c.Time > 1e-12 || c.Label != -1 {
		t.Errorf("weights add up on each thread: %+v", c)
	}
	if c := r.Windows.Curves[1]; c.Worst > 1e-12 {
		t.Errorf("the iteration with a burst between other calls: %+v", c)
	}
	near(t, "share of the sample", r.Sources.Sample, 2*5040./(2*5040+2*19*1000))

	// Of the class they add up, not of a thread alone.
	in.Threads[0].Sample = long
	in.Threads[1].Sample = Bursts{Symbol: []uint32{3, 0, 3}, DurationNS: []int64{40, 5000, 40}, Counters: [][]int64{{1, 2, 3}}}
	if c := judge(t, in).Windows.Clusters[0]; c.Time > 1e-12 {
		t.Errorf("weights add up on both threads together: %+v", c)
	}
	// Of nothing they do: one that is kept stands for all.
	in.Threads[0].Sample, in.Threads[1].Sample = long, Bursts{}
	if c := judge(t, in).Windows.Clusters[0]; c.RebuiltNS != 4*5000 {
		t.Errorf("one long burst alone: %+v", c)
	}
}

func TestMissingCounts(t *testing.T) {
	p := plant(10, func(_ int, cluster int32) int64 { return 1000 })
	for k := range p.Counters[0] {
		if k%2 == 0 {
			p.Counters[0][k] = profile.NotRead // all of cluster 2
		}
	}
	in := input(t, []planted{p})
	in.Threads[0].Kept = p.part(0, 2)
	r := judge(t, in)
	if c := r.Windows.Clusters; c[1].Counters[0] != 0 || c[2].Counters[0] != 0 || r.Windows.Counters[0] != 0 {
		t.Errorf("%+v", c)
	}
}

func TestRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Input){
		"columns":    func(in *Input) { in.Threads[0].Kept.DurationNS = nil },
		"counters":   func(in *Input) { in.Threads[0].Kept.Counters = nil },
		"counter":    func(in *Input) { in.Threads[0].Kept.Counters = [][]int64{{}} },
		"weights":    func(in *Input) { in.Threads[0].Kept.Weight = []float64{1} },
		"weight":     func(in *Input) { in.Threads[0].Kept.Weight = []float64{1, 0, 1, 1} },
		"no weight":  func(in *Input) { in.Threads[0].Kept.Weight = []float64{1, math.NaN(), 1, 1} },
		"all weight": func(in *Input) { in.Threads[0].Kept.Weight = []float64{1, math.Inf(1), 1, 1} },
		"cluster":    func(in *Input) { in.Threads[0].Kept.Symbol = []uint32{1, 2, 4, 2} },
		"sequence":   func(in *Input) { in.Threads[0].Sequence = []uint32{9} },
		"unknown":    func(in *Input) { in.Clusters = []int32{-1, 1, 9, -1} },
		"threads":    func(in *Input) { in.Phases[0].Begins = nil },
		"phases":     func(in *Input) { in.Phases = in.Phases[:1] },
		"iterations": func(in *Input) { in.Threads[0].Sequence = in.Threads[0].Sequence[:5] },
	} {
		p := plant(10, func(_ int, cluster int32) int64 { return 1000 })
		in := input(t, []planted{p})
		in.Threads[0].Kept = p.part(0, 2)
		spoil(&in)
		if _, err := Evaluate(in); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var threads []planted
	for range 1000 {
		threads = append(threads, plant(500, func(_ int, cluster int32) int64 { return 1000*int64(cluster) + r.Int64N(100) }))
	}
	in := input(b, threads)
	for i := range 10 {
		in.Threads[i].Kept = threads[i].part(100, 102)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Evaluate(in); err != nil {
			b.Fatal(err)
		}
	}
}
