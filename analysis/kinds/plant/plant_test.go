package plant_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"moriens/analysis/kinds/plant"
)

// programs are one of each.
func programs(seed uint64) map[string]plant.Params {
	lost := plant.FourKinds(seed, 50, plant.Load4)
	lost.Lost, lost.Anchors = 5, true
	return map[string]plant.Params{
		"four": plant.FourKinds(seed, 50, plant.TwentyTasks), "classes": plant.Classes(seed, 50, plant.EightRanks), "ratios": plant.Ratios(seed, 5, 1.15, .05, 50, plant.Load20),
		"one": plant.One(seed, 3, 100, plant.Pareto(2)), "rare": plant.Rare(seed, 5, 2, .6, plant.Load{Share: .1, Turn: plant.Exponential(1e6)}), "change": plant.PhaseChange(seed, 50, plant.Storm),
		"tasks": plant.RandomTasks(seed, 50, plant.Quiet), "five": plant.FivePhases(seed), "throttled": plant.Throttled(seed, 50), "pairs": plant.ManyPairs(seed),
		"turns": plant.Turns(seed, 50), "counters": plant.ByCounters(seed, 50, plant.Load20), "large": plant.Large(seed, 1000, 10, .1), "lost": lost,
	}
}

func TestSameSeedSameBursts(t *testing.T) {
	for name, p := range programs(7) {
		r := p.Run()
		if !reflect.DeepEqual(r, p.Run()) {
			t.Errorf("%s: the same parameters give other bursts", name)
		}
		if other := programs(8)[name].Run(); reflect.DeepEqual(r.DurationNS, other.DurationNS) {
			t.Errorf("%s: another seed gives the same bursts", name)
		}
	}
}

// Columns have one length, threads end in order, and each call path after a burst is the one before the next where
// nothing is lost.
func TestRunsAreSound(t *testing.T) {
	for name, p := range programs(7) {
		r := p.Run()
		n := len(r.DurationNS)
		for _, c := range r.Counters {
			if len(c) != n {
				t.Fatalf("%s: %d counter values for %d bursts", name, len(c), n)
			}
		}
		if (r.Counters != nil) != p.Counters || (r.Anchors != nil) != p.Anchors {
			t.Errorf("%s: counters %v, anchors %v", name, r.Counters != nil, r.Anchors != nil)
		}
		if len(r.Before) != n || len(r.After) != n || len(r.Truth) != n || len(r.Disturbed) != n || len(r.ThreadEnds) != p.Ranks || r.ThreadEnds[p.Ranks-1] != n || !slices.IsSorted(r.ThreadEnds) {
			t.Fatalf("%s: columns of unequal length, or threads that end at %v of %d", name, r.ThreadEnds, n)
		}
		begin := 0
		for thread, end := range r.ThreadEnds {
			for i := begin; i < end; i++ {
				if r.DurationNS[i] <= 0 || int(r.Truth[i]) >= len(p.Kinds) || p.Lost == 0 && i > begin && r.Before[i] != r.After[i-1] {
					t.Fatalf("%s: burst %d: %d ns, kind %d, calls %d and %d", name, i, r.DurationNS[i], r.Truth[i], r.Before[i], r.After[i])
				}
			}
			last := 0
			for i := range r.Anchors {
				if i == thread {
					for _, a := range r.Anchors[i] {
						if a.At < last || a.At > end-begin {
							t.Fatalf("%s: thread %d has an anchor at %d after one at %d of %d", name, thread, a.At, last, end-begin)
						}
						last = a.At
					}
				}
			}
			begin = end
		}
	}
	if whole, lost := len(plant.FourKinds(7, 50, plant.Load4).Run().Truth), len(programs(7)["lost"].Run().Truth); lost >= whole || lost < whole/2 {
		t.Errorf("%d of %d bursts are left", lost, whole)
	}
}

// Shapes have the median that they are given, and durations are positive.
func TestMediansOfShapes(t *testing.T) {
	for name, s := range map[string]plant.Shape{
		"jitter": plant.Jitter(.01, .01), "log-normal": plant.LogNormal(.3), "normal": plant.Normal(.2), "gamma": plant.Gamma(3), "skewed": plant.Skewed(.3), "Pareto": plant.Pareto(2),
		"uniform": plant.Uniform(.6), "drifting": plant.Drifting(.6, .02),
	} {
		random := rand.New(rand.NewPCG(3, 3))
		var drawn []float64
		for i := range 20_001 {
			drawn = append(drawn, s(random, 5e6, float64(i)/20_001))
		}
		slices.Sort(drawn)
		if m := drawn[10_000]; math.Abs(m/5e6-1) > .02 || drawn[0] <= 0 {
			t.Errorf("%s: median %.0f, least %.0f", name, m, drawn[0])
		}
	}
}

// shareDisturbed is the share of a kind's bursts that lost their core, and of such as are within 5 % of the median.
func shareDisturbed(p plant.Params, kind int32) (disturbed, near float64) {
	r := p.Run()
	var of []int64
	for i, k := range r.Truth {
		if k == kind {
			of = append(of, r.DurationNS[i])
			if r.Disturbed[i] {
				disturbed++
			}
		}
	}
	slices.Sort(of)
	median := float64(of[len(of)/2])
	for _, d := range of {
		if math.Abs(float64(d)/median-1) < .05 {
			near++
		}
	}
	return disturbed / float64(len(of)), near / float64(len(of))
}

// Loads disturb as many bursts of 1.1 and 4.1 ms as was measured.
func TestLoads(t *testing.T) {
	for _, c := range []struct {
		name        string
		load        plant.Load
		short, long [2]float64 // least and most
	}{
		{"quiet", plant.Quiet, [2]float64{0, .01}, [2]float64{0, .03}},
		{"load 4", plant.Load4, [2]float64{.05, .12}, [2]float64{.25, .35}},
		{"load 20", plant.Load20, [2]float64{.1, .25}, [2]float64{.45, .6}},
		{"storm", plant.Storm, [2]float64{.2, .4}, [2]float64{.7, .85}},
		{"eight ranks", plant.EightRanks, [2]float64{0, .05}, [2]float64{.8, .92}},
		{"twenty tasks", plant.TwentyTasks, [2]float64{0, .05}, [2]float64{.95, 1}},
		{"a share", plant.Load{Share: .3, Turn: plant.Ticks(4e6, 2)}, [2]float64{.27, .33}, [2]float64{.27, .33}},
	} {
		p := plant.FourKinds(5, 1000, c.load)
		p.Slow = nil
		for kind, want := range map[int32][2]float64{0: c.short, 3: c.long} {
			if share, _ := shareDisturbed(p, kind); share < want[0] || share > want[1] {
				t.Errorf("%s: %.3f of kind %d are disturbed, want %v", c.name, share, kind, want)
			}
		}
	}
	p := plant.FourKinds(5, 1000, plant.Load4)
	p.Slow = nil
	if _, near := shareDisturbed(p, 0); near < .88 || near > .98 {
		t.Errorf("%.2f of the shortest kind are within 5 %% of their median", near)
	}
	if _, near := shareDisturbed(p, 3); near < .66 || near > .76 {
		t.Errorf("%.2f of the longest kind are within 5 %% of their median", near)
	}
}

// Other tasks and slow ranks change no count of instructions by more than its own noise.
func TestInstructionsAreExact(t *testing.T) {
	p := plant.ByCounters(1, 200, plant.Load20)
	r := p.Run()
	for i, k := range r.Truth {
		kind := p.Kinds[k]
		if want := kind.MedianNS * 3 * kind.IPC; math.Abs(float64(r.Counters[0][i])/want-1) > .002 {
			t.Fatalf("burst %d of kind %d: %d instructions, want %.0f", i, k, r.Counters[0][i], want)
		}
		if ipc := float64(r.Counters[0][i]) / float64(r.Counters[1][i]); ipc > kind.IPC*1.1 || ipc < kind.IPC/1.25 {
			t.Fatalf("burst %d of kind %d: IPC %.2f, want %.2f", i, k, ipc, kind.IPC)
		}
	}
}

func TestReorderAndShuffle(t *testing.T) {
	r := programs(7)["lost"].Run()
	order := []int{3, 1, 0, 7, 6, 5, 4, 2}
	p, rows := r.Reorder(order)
	begin := 0
	for i, thread := range order {
		from := 0
		if thread > 0 {
			from = r.ThreadEnds[thread-1]
		}
		to, end := r.ThreadEnds[thread], p.ThreadEnds[i]
		if !slices.Equal(r.DurationNS[from:to], p.DurationNS[begin:end]) || !slices.Equal(r.Truth[from:to], p.Truth[begin:end]) || rows[begin] != from || !slices.Equal(r.Anchors[thread], p.Anchors[i]) {
			t.Errorf("thread %d is not what thread %d was", i, thread)
		}
		begin = end
	}

	s := r.Shuffle(1)
	if slices.Equal(s.DurationNS, r.DurationNS) || !slices.Equal(s.Before, r.Before) {
		t.Error("a shuffle leaves the durations, or moves the calls")
	}
	begin = 0
	for thread, end := range r.ThreadEnds {
		if !slices.Equal(sorted(s.DurationNS[begin:end]), sorted(r.DurationNS[begin:end])) {
			t.Errorf("thread %d has other durations after a shuffle", thread)
		}
		begin = end
	}
}

func sorted(x []int64) []int64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}

func TestSwapScaleThen(t *testing.T) {
	r := plant.ByCounters(1, 50, plant.Load4).Run()
	swapped := r.SwapInCells(1, .005)
	moved := 0
	for i, d := range swapped.DurationNS {
		if d != r.DurationNS[i] {
			moved++
			if r.Disturbed[i] || math.Abs(math.Log(float64(d)/float64(r.DurationNS[i]))) > .005 {
				t.Fatalf("burst %d of %d ns has %d", i, r.DurationNS[i], d)
			}
		}
	}
	if moved < len(r.Truth)/10 || !slices.Equal(sorted(swapped.DurationNS), sorted(r.DurationNS)) {
		t.Errorf("%d of %d durations are swapped", moved, len(r.Truth))
	}

	one, all := r.Scale(2, 1.3), r.Scale(-1, 4)
	for i, d := range r.DurationNS {
		want := d
		if i >= r.ThreadEnds[1] && i < r.ThreadEnds[2] {
			want = int64(math.Round(1.3 * float64(d)))
		}
		if one.DurationNS[i] != want || all.DurationNS[i] != 4*d {
			t.Fatalf("burst %d of %d ns: %d and %d", i, d, one.DurationNS[i], all.DurationNS[i])
		}
	}

	more, rows := r.Then(plant.ByCounters(2, 20, plant.Quiet).Run())
	if len(more.Truth) != len(r.Truth)*7/5 || len(rows) != len(r.Truth) || len(more.Counters[1]) != len(more.Truth) {
		t.Fatalf("%d bursts, %d of them the first run's %d", len(more.Truth), len(rows), len(r.Truth))
	}
	first := make([]bool, len(more.Truth))
	for i, row := range rows {
		first[row] = true
		if more.DurationNS[row] != r.DurationNS[i] || more.Truth[row] != r.Truth[i] || more.After[row] != r.After[i] {
			t.Fatalf("burst %d is not burst %d", row, i)
		}
	}
	highest := slices.Max(r.After)
	for row, k := range more.Truth {
		if !first[row] && (k < 5 || more.Before[row] <= highest) {
			t.Fatalf("burst %d has kind %d and call %d of the first run", row, k, more.Before[row])
		}
	}
}

// A run without counters has none after a change either.
func TestNoCountersStayNone(t *testing.T) {
	r := plant.FourKinds(1, 5, plant.Quiet).Run()
	then, _ := r.Then(r)
	turned, _ := r.Reorder([]int{1, 0, 2, 3, 4, 5, 6, 7})
	for name, p := range map[string]*plant.Run{"then": then, "reorder": turned, "shuffle": r.Shuffle(1), "scale": r.Scale(-1, 2)} {
		if b := p.Bursts(); b.Counters != nil || b.CounterNames != nil || b.Anchors != nil {
			t.Errorf("%s: counters %v of %v, anchors %v", name, b.CounterNames, b.Counters, b.Anchors)
		}
	}
}

func BenchmarkRun10M(b *testing.B) {
	for b.Loop() {
		plant.Large(1, 10_000_000, 100, .12).Run()
	}
}
