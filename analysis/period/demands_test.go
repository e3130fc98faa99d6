package period_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"moriens/analysis/period"
)

func TestNoPeriod(t *testing.T) {
	thueMorse := func(n int) string {
		s := "A"
		for len(s) < n {
			s += strings.NewReplacer("A", "B", "B", "A").Replace(s)
		}
		return s
	}
	fibonacci := func(n int) string {
		a, b := "A", "AB"
		for len(b) < n {
			a, b = b, b+a
		}
		return b
	}
	random := func(kinds, n int, first float64) string {
		r := rand.New(rand.NewPCG(3, uint64(kinds)))
		var b strings.Builder
		for range n {
			k := 0
			if r.Float64() >= first {
				k = 1 + r.IntN(kinds-1)
			}
			b.WriteByte(byte('A' + k))
		}
		return b.String()
	}
	tasks := func(kinds, n int, first float64) string {
		var b strings.Builder
		for _, c := range random(kinds, n, first) {
			b.WriteRune(c)
			b.WriteByte('Z')
		}
		return b.String()
	}
	var all strings.Builder
	for c := 'A'; c < 'Z'; c++ {
		all.WriteRune(c)
	}
	for name, letters := range map[string]string{
		"none": "", "one": "A", "two": "AA", "two iterations": "ABCABC", "all differ": all.String(),
		"Thue-Morse": thueMorse(4096), "Fibonacci": fibonacci(4000), "coin": random(2, 5000, .5), "dice": random(6, 5000, 1./6), "loaded coin": random(2, 5000, .8),
		"loaded dice": random(6, 5000, .6), "tasks": tasks(4, 3000, .25), "two tasks": tasks(2, 3000, .5), "a task more than others": tasks(4, 3000, .6),
	} {
		r := find(t, new(script).do(letters, 1), new(script).do(letters, 1))
		for _, p := range r.Phases {
			if p.Iterations > 0 {
				t.Errorf("%s: %s (%d to %d)", name, p.Reason, p.Threads[0].From, p.Threads[0].To)
			}
			if p.Reason == "" {
				t.Errorf("%s: no reason", name)
			}
		}
		if len(letters) == 0 != (len(r.Phases) == 0) {
			t.Errorf("%s: %d phases", name, len(r.Phases))
		}
	}
}

func TestConstant(t *testing.T) {
	checkPhases(t, find(t, new(script).do("A", 3)), 0, want{0, 3, 3, 1})
	checkPhases(t, find(t, new(script).do("A", 1000)), 0, want{0, 1000, 1000, 1})
	checkPhases(t, find(t, new(script).do("PQ", 1).do("A", 100).do("R", 1)), 0, want{0, 2, 0, 0}, want{2, 102, 100, 1}, want{102, 103, 0, 0})
	// Anchors say more: they come after every fourth burst.
	r := find(t, new(script).do("AAAA|", 50))
	checkPhases(t, r, 0, want{0, 200, 50, 4})
	if a := r.Phases[0].IterationAnchors; len(a) != 51 || a[0] != -1 || a[50] != 49 {
		t.Errorf("anchors %v", a)
	}
	// Durations say more.
	s := new(script)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		for _, us := range []float64{9, 2, 3, 2, 5} {
			s.burst(0, int64(1000*us*(1+.1*random.Float64())))
		}
	}
	r = find(t, s)
	checkPhases(t, r, 0, want{0, 1000, 200, 5})
	if c := r.Phases[0].Correlation; !(c > .9) {
		t.Errorf("correlation %g", c)
	}
	// Durations that vary at random say nothing.
	s = new(script)
	for range 1000 {
		s.burst(0, int64(1000*(1+random.ExpFloat64())))
	}
	checkPhases(t, find(t, s), 0, want{0, 1000, 1000, 1})
}

func TestAliases(t *testing.T) {
	for _, c := range []struct {
		letters string
		times   int
		wanted  []want
	}{
		{"ABCABC", 50, []want{{0, 300, 100, 3}}},       // twice the true one
		{"ABCABD", 50, []want{{0, 300, 50, 6}}},        // half of the true one nearly is one
		{"AAB", 50, []want{{0, 150, 50, 3}}},           //
		{"AAAB", 50, []want{{0, 200, 50, 4}}},          // an inner loop
		{"ABABABC", 50, []want{{0, 350, 50, 7}}},       // an inner loop of two
		{"ABACBC", 50, []want{{0, 300, 50, 6}}},        // no symbol comes once
		{"AABBAB", 50, []want{{0, 300, 50, 6}}},        // neither
		{"AAABBBAAACCC", 50, []want{{0, 600, 50, 12}}}, // loops of one burst, one of them twice
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 3, []want{{0, 78, 3, 26}}},
	} {
		checkPhases(t, find(t, new(script).do(c.letters, c.times)), 0, c.wanted...)
	}
}

func TestOutputNowAndThen(t *testing.T) {
	s := new(script).do("PQ|", 1)
	for k := range 1000 {
		s.do("ABC|", 1)
		if k%100 == 99 {
			s.do("O", 1)
		}
	}
	r := find(t, s)
	var iterating []period.Phase
	for _, p := range r.Phases {
		if p.Iterations > 0 {
			iterating = append(iterating, p)
		}
	}
	if len(iterating) != 1 || iterating[0].Iterations != 1000 || iterating[0].Period != 3 {
		t.Fatalf("%+v", r.Phases)
	}
	if a := iterating[0].Agreement; a < .99 || a >= 1 {
		t.Errorf("agreement %g", a)
	}
}

func TestInnerLoops(t *testing.T) {
	s := new(script).do("PQ", 1)
	for step := range 60 {
		s.do("C", 1)
		for range 4 {
			s.do("AB", 3+step%4).do("D", 1)
		}
		s.do("EF|", 1)
	}
	s.do("G", 1)
	r := find(t, s)
	i := len(r.Phases) - 2
	if p := r.Phases[i]; p.Iterations != 60 {
		t.Fatalf("%d iterations: %s", p.Iterations, p.Reason)
	}
	inner := r.Phases[i].Inner
	if len(inner) != 1 || inner[0].Offset != 1 || inner[0].Trips != 4 || inner[0].Share < .98 || len(inner[0].Inner) == 0 {
		t.Fatalf("inner loops %+v", inner)
	}
	if x := inner[0].Inner[0]; x.Period != 2 || x.MinTrips > 3 || x.MaxTrips != 6 {
		t.Errorf("innermost %+v", x)
	}
}

// TestOutputWithinInnerLoop is what a molecular dynamics program does: a rebuild of lists every 20 steps, which takes a
// good part of the time, and every 100 steps a little output in the middle of the inner loop of steps. The rebuilds are
// the iterations: with output there are only a few, and it takes hardly any time.
func TestOutputWithinInnerLoop(t *testing.T) {
	s := new(script).do("PQ", 1)
	step := func() { s.burst(0, 90_000).burst(1, 2000).burst(2, 2000).burst(3, 2000).burst(4, 1000) }
	for rebuild := range 20 {
		s.burst(10, 3000).burst(11, 400_000).burst(12, 5000).burst(13, 2000)
		for k := range 19 {
			if rebuild%5 == 2 && k == 9 {
				s.burst(20, 200).burst(21, 200).burst(22, 200).burst(23, 90_000).burst(24, 2000).burst(2, 2000).burst(3, 2000).burst(4, 1000)
				continue
			}
			step()
		}
	}
	s.do("RST", 1)
	r := find(t, s)
	if len(r.Phases) != 3 || r.Phases[1].Iterations != 20 || r.Phases[1].Period != 99 {
		t.Fatalf("%+v", r.Phases)
	}
	l := r.Phases[1].Threads[0]
	for k := range 20 {
		if n := l.Begins[k+1] - l.Begins[k]; n < 99 || n > 102 {
			t.Errorf("iteration %d has %d bursts", k, n)
		}
	}
}

func TestTwoIterationsAreNoPeriodThreeAre(t *testing.T) {
	checkPhases(t, find(t, new(script).do("P", 1).do("ABCDE", 2).do("Q", 1)), 0, want{0, 12, 0, 0})
	checkPhases(t, find(t, new(script).do("P", 1).do("ABCDE", 3).do("Q", 1)), 0, want{0, 1, 0, 0}, want{1, 16, 3, 5}, want{16, 17, 0, 0})
}

func TestDamage(t *testing.T) {
	for _, body := range []string{"ABC|", "ABCDEFGH|", "ABCDEFGHIJKLMNOPQRST|", "ABACADE|", "ABC", "ABCDEFGH", "ABACADE", "ABCDEFGHIJKLMNOPQRST"} {
		for _, other := range []float64{.001, .01, .03, .06} {
			for _, lost := range []float64{0, .003} {
				var list []*script
				for seed := range uint64(8) {
					s := new(script).do("XY|", 1).do(body, 300).do("ZX", 1)
					list = append(list, noisy(s, 7+seed, other, lost, lost))
				}
				r := find(t, list...)
				name := fmt.Sprintf("%s, %g noise, %g lost", body, other, lost)
				var iterating []period.Phase
				for _, p := range r.Phases {
					if p.Iterations > 0 {
						iterating = append(iterating, p)
					}
				}
				anchored := strings.Contains(body, "|")
				if len(iterating) != 1 {
					t.Errorf("%s: %d phases with iterations", name, len(iterating))
					for _, p := range r.Phases {
						t.Log(p.Threads[0].From, p.Threads[0].To, p.Reason)
					}
					continue
				}
				p := iterating[0]
				// Without anchors an iteration that is broken at the border cannot be distinguished from what is around.
				if n := p.Iterations; anchored && n != 300 || n < 297 || n > 301 {
					t.Errorf("%s: %d iterations", name, n)
				}
				if want := len(strings.Trim(body, "|")); p.Period != want {
					t.Errorf("%s: period %d", name, p.Period)
				}
				if a := p.Agreement; a < 1-1.3*(other+2*lost)-.003 || a > 1 {
					t.Errorf("%s: agreement %g", name, a)
				}
			}
		}
	}
}

// TestSlowRankAndAnomaly is a program of 8 ranks whose border ranks do less, with a change of phase in the middle, a
// slow rank and one iteration that takes ten times as long.
func TestSlowRankAndAnomaly(t *testing.T) {
	list := make([]*script, 8)
	for rank := range list {
		list[rank] = new(script).do("PQR", 1)
	}
	meet(list)
	for k := range 1000 {
		for rank, s := range list {
			factor := int64(1)
			switch {
			case k == 700 && rank == 2:
				factor = 10
			case rank == 5:
				factor = 2
			}
			s.burst(10, 50_000*factor).burst(11, 1000)
			if rank > 0 {
				s.burst(12, 900)
			}
			if rank < 7 {
				s.burst(13, 900)
			}
			if k < 500 {
				s.burst(14, 20_000*factor)
			} else {
				s.burst(15, 30_000*factor).burst(16, 5_000)
			}
		}
		meet(list)
	}
	for _, s := range list {
		s.do("S", 1)
	}
	r := find(t, list...)
	checkPhases(t, r, 0, want{0, 3, 0, 0}, want{3, 2003, 500, 4}, want{2003, 4503, 500, 5}, want{4503, 4504, 0, 0})
	checkPhases(t, r, 4, want{0, 3, 0, 0}, want{3, 2503, 500, 5}, want{2503, 5503, 500, 6}, want{5503, 5504, 0, 0})
	first, second := r.Phases[1], r.Phases[2]
	if first.FromAnchor != 0 || first.ToAnchor != 500 || second.FromAnchor != 500 || second.ToAnchor != 1000 {
		t.Errorf("anchors %d to %d and %d to %d", first.FromAnchor, first.ToAnchor, second.FromAnchor, second.ToAnchor)
	}
	if second.IterationNS[200] < 3*second.MedianNS {
		t.Errorf("iteration 200 of the second phase takes %d ns, the median %d", second.IterationNS[200], second.MedianNS)
	}
	if first.Agreement != 1 || !(first.Correlation > .99) || len(r.Warnings) > 0 {
		t.Errorf("agreement %g, correlation %g, warnings %q", first.Agreement, first.Correlation, r.Warnings)
	}
}

// TestTwoClustersAtOnePlace has a burst that is now of one cluster and now of another, by chance.
func TestTwoClustersAtOnePlace(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	s := new(script).do("PQ", 1)
	for range 200 {
		s.do("ABC", 1)
		s.burst(uint32(20+random.IntN(2)), 4000).burst(uint32(22+random.IntN(2)), 4000)
		s.do("DEFGH", 1)
	}
	r := find(t, s)
	checkPhases(t, r, 0, want{0, 2, 0, 0}, want{2, 2002, 200, 10})
}

func TestNoAnchors(t *testing.T) {
	var list []*script
	for rank := range 6 {
		s := new(script).do("PQ", 1)
		body := "ABCD"
		if rank == 0 || rank == 5 {
			body = "ABE"
		}
		s.do(body, 200).do("FGH"[rank%3:rank%3+1], 1)
		list = append(list, s)
	}
	r := find(t, list...)
	checkPhases(t, r, 1, want{0, 2, 0, 0}, want{2, 802, 200, 4}, want{802, 803, 0, 0})
	checkPhases(t, r, 5, want{0, 2, 0, 0}, want{2, 602, 200, 3}, want{602, 603, 0, 0})
	if r.Phases[1].IterationAnchors != nil {
		t.Error("there are no anchors")
	}
}

func TestThreadsThatDiffer(t *testing.T) {
	worker := func() *script { return new(script).do("PQ|", 1).do("ABC|", 300).do("R", 1) }
	early := new(script).do("PQ|", 1).do("ABC|", 120).do("A", 1)
	master := new(script).do("PQ|", 1)
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		for range 1 + random.IntN(4) {
			master.burst(uint32(30+random.IntN(8)), 1000)
		}
		master.do("|", 1)
	}
	empty := new(script)
	idle := new(script).do("|", 301)
	silent := new(script).do("XY", 1) // a thread without any collective call
	r := find(t, master, worker(), worker(), worker(), early, empty, idle, silent)
	checkPhases(t, r, 1, want{0, 2, 0, 0}, want{2, 902, 300, 3}, want{902, 903, 0, 0})
	p := r.Phases[1]
	if n := len(p.Threads[0].Begins); n != 301 {
		t.Errorf("master: %d begins", n)
	} else if p.Threads[0].Agreement > .7 {
		t.Errorf("master agrees by %g", p.Threads[0].Agreement)
	}
	if b := p.Threads[4].Begins; b[120] != 362 || b[121] != 363 || b[300] != 363 {
		t.Errorf("a thread that ends early: iteration 120 begins at %d, 121 at %d, the last ends at %d", b[120], b[121], b[300])
	}
	if len(p.Threads[5].Begins) != 0 || len(p.Threads[6].Begins) != 0 {
		t.Error("threads without bursts have iterations")
	}
	if p.ToAnchor != 300 {
		t.Errorf("to anchor %d", p.ToAnchor)
	}
}

func TestFirstIterationComesFromOutside(t *testing.T) {
	// The first burst of the loop comes after another call, so that it has another symbol: Y for A.
	r := find(t, new(script).do("PQ|YBC|", 1).do("ABC|", 99).do("R", 1))
	checkPhases(t, r, 0, want{0, 2, 0, 0}, want{2, 302, 100, 3}, want{302, 303, 0, 0})
	r = find(t, new(script).do("PQYBC", 1).do("ABC", 99).do("R", 1))
	if p := r.Phases[1]; p.Iterations != 99 || p.Threads[0].Begins[0] != 3 { // Y takes 25 times as long as A, and is not its like
		t.Errorf("%d iterations from %d", p.Iterations, p.Threads[0].Begins[0])
	}
	s := new(script).do("PQ", 1).burst(24, 1200).do("BC", 1).do("ABC", 99).do("R", 1)
	checkPhases(t, find(t, s), 0, want{0, 2, 0, 0}, want{2, 302, 100, 3}, want{302, 303, 0, 0})
}

func TestBadInput(t *testing.T) {
	good := func() *script { return new(script).do("AB|", 3) }
	for name, spoil := range map[string]func(*period.Thread){
		"begins":    func(t *period.Thread) { t.BeginNS = t.BeginNS[1:] },
		"durations": func(t *period.Thread) { t.DurationNS[2] = -1 },
		"back":      func(t *period.Thread) { t.BeginNS[3] = 0 },
		"behind":    func(t *period.Thread) { t.Anchors[2] = 7 },
		"order":     func(t *period.Thread) { t.Anchors[1] = 1 },
	} {
		s := good()
		spoil(&s.Thread)
		if _, err := period.Find([]period.Thread{good().Thread, s.Thread}, period.Options{}); err == nil || !strings.Contains(err.Error(), "thread 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCorrelationSaysNothingOfEqualDurations(t *testing.T) {
	s := new(script)
	for range 50 {
		s.burst(0, 1000).burst(1, 1000)
	}
	if c := find(t, s).Phases[0].Correlation; !math.IsNaN(c) {
		t.Errorf("correlation %g", c)
	}
}
