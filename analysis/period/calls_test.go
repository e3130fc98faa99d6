package period_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/period"
)

// pairs gives symbols 0 … 199 as pairs of calls of their own; those from 200 on are those below 200 with another
// cluster.
func pairs() []uint32 {
	list := make([]uint32, 400)
	for i := range list {
		list[i] = uint32(i % 200)
	}
	return list
}

func findByCalls(t *testing.T, list ...*script) *period.Result {
	t.Helper()
	r, err := period.Find(threads(list...), period.Options{Workers: 2, Calls: pairs()})
	if err != nil {
		t.Fatal(err)
	}
	checkPartition(t, threads(list...), r)
	checkTeam(t, threads(list...), period.Options{Workers: 2, Calls: pairs()}, inTurns(len(list), 2), 2, r)
	return r
}

// noisyIterations gives six iterations of 150 bursts, of which one in so many is noise; 0: none is.
func noisyIterations(random *rand.Rand, oneIn int) *script {
	s := new(script).do("ABC", 1)
	for range 6 {
		for k := range uint32(150) {
			if oneIn > 0 && random.IntN(oneIn) == 0 {
				k += 200
			}
			s.burst(20+k, 3000)
		}
	}
	return s.do("DE", 1)
}

// TestCallsWhereClustersAreNoisy has six iterations of 150 bursts, one in twenty of which is noise: hardly two
// iterations are equal by their symbols, all are by their calls.
func TestCallsWhereClustersAreNoisy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []*script
	for range 3 {
		list = append(list, noisyIterations(random, 20))
	}
	r := findByCalls(t, list...)
	for thread := range list {
		checkPhases(t, r, thread, want{0, 3, 0, 0}, want{3, 903, 6, 150}, want{903, 905, 0, 0})
	}
	p := r.Phases[1]
	if !p.ByCalls || !strings.Contains(p.Reason, "by the calls alone") || p.Agreement < .92 || p.Agreement > .98 {
		t.Errorf("by calls: %v, agreement %g: %s", p.ByCalls, p.Agreement, p.Reason)
	}
}

// TestCallsWhereClustersOfSomeThreadsAreNoisy has a thread whose iterations are all equal by their symbols beside
// others on which hardly two are; by their calls all are. No collective call shows where the others' iterations begin.
func TestCallsWhereClustersOfSomeThreadsAreNoisy(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var list []*script
	for _, oneIn := range []int{0, 20, 20} {
		list = append(list, noisyIterations(random, oneIn))
	}
	r := findByCalls(t, list...)
	for thread := range list {
		checkPhases(t, r, thread, want{0, 3, 0, 0}, want{3, 903, 6, 150}, want{903, 905, 0, 0})
	}
}

// TestAnchorsWhereClustersOfSomeThreadsAreNoisy has the same with a collective call at each begin: it cuts the noisy
// threads too, and phases that make the same calls are kept apart, of which one burst in thirty is of another cluster.
func TestAnchorsWhereClustersOfSomeThreadsAreNoisy(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	var list []*script
	for thread := range 3 {
		s := new(script)
		for trip := range 12 {
			s.do("|", 1)
			for k := range uint32(150) {
				if k < 5 && trip >= 6 || k >= 5 && thread > 0 && random.IntN(20) == 0 {
					k += 200
				}
				s.burst(k, 3000)
			}
		}
		list = append(list, s)
	}
	r := findByCalls(t, list...)
	for thread := range list {
		checkPhases(t, r, thread, want{0, 900, 6, 150}, want{900, 1800, 6, 150})
	}
}

// TestClustersSeparatePhases has the same calls throughout, and from the middle on another cluster.
func TestClustersSeparatePhases(t *testing.T) {
	s := new(script)
	for k := range uint32(200) {
		s.burst(0, 5000).burst(1+k/100*200, 7000).burst(2, 1000)
	}
	r := findByCalls(t, s, s)
	checkPhases(t, r, 0, want{0, 300, 100, 3}, want{300, 600, 100, 3})
	if r.Phases[0].ByCalls {
		t.Error("found by calls")
	}
}

// TestTasksOfManyKindsByCalls has a loop over tasks of many clusters: by its calls it is one, by what it does it is
// not.
func TestTasksOfManyKindsByCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	calls := make([]uint32, 10) // 0 … 7 are tasks, 8 is what is between
	calls[8] = 1
	s := new(script)
	for range 1000 {
		s.burst(random.Uint32N(8), 1000+random.Int64N(100_000)).burst(8, 500)
	}
	r, err := period.Find(threads(s), period.Options{Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	checkPhases(t, r, 0, want{0, 2000, 0, 0})
}

func TestSymbolsWithoutCalls(t *testing.T) {
	_, err := period.Find(threads(new(script).do("ABC", 5)), period.Options{Calls: make([]uint32, 2)})
	if err == nil || !strings.Contains(err.Error(), "symbol 2") {
		t.Errorf("%v", err)
	}
}

// melt gives iterations like those of a molecular dynamics program: lists are built again in 18 bursts, 19 steps of 12
// bursts follow, and every 50 steps there is a line of output, in the middle of one iteration in five and at the end of
// another. One burst in oneIn begins noise, of one burst or, one time in eight, of a hundred, half of which have
// another symbol; 0 = there is no noise. In so many iterations (disturbed) from the 80th on, most bursts have another
// symbol.
func melt(random *rand.Rand, iterations, oneIn, disturbed int) *script {
	s := new(script).do("ABC", 1)
	left, most := 0, false // of the noise in a row
	add := func(from, n uint32) {
		for k := from; k < from+n; k++ {
			symbol := k
			if oneIn > 0 && left == 0 && random.IntN(oneIn) == 0 {
				left = 1 + (random.IntN(8)+1)/8*100
			}
			if left > 0 {
				left--
				symbol += 200 * uint32(random.IntN(2))
			}
			if most && random.IntN(3) > 0 {
				symbol = k + 200
			}
			s.burst(symbol, 3000+int64(k))
		}
	}
	for i := range iterations {
		most = i >= 80 && i < 80+disturbed
		add(20, 18)
		for step := range 19 {
			add(50, 12)
			if i%5 == 2 && step == 9 {
				add(80, 5)
			}
		}
		if i%5 == 4 {
			add(80, 5)
		}
	}
	return s.do("DE", 1)
}

// TestDamagedIterationsBeginAtTheirCalls has iterations that by their symbols are found, but are broken by noise here
// and there: where each begins, and how many there are, calls show. So they do where the machine did something else for
// a while, which parts them.
func TestDamagedIterationsBeginAtTheirCalls(t *testing.T) {
	exact := findByCalls(t, melt(rand.New(rand.NewPCG(0, 0)), 200, 0, 0)).Phases[1]
	if exact.Iterations != 200 {
		t.Fatalf("%d iterations", exact.Iterations)
	}
	for _, disturbed := range []int{0, 7} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 1))
			r := findByCalls(t, melt(random, 200, 1000, disturbed), melt(random, 200, 1000, disturbed))
			if len(r.Phases) != 3 {
				t.Fatalf("%d disturbed, seed %d: %d phases, want 3", disturbed, seed, len(r.Phases))
			}
			p := r.Phases[1]
			for thread, l := range p.Threads {
				if !slices.Equal(l.Begins, exact.Threads[0].Begins) {
					t.Errorf("%d disturbed, seed %d: thread %d has %d iterations, not the %d that there are: %s", disturbed, seed, thread, len(l.Begins)-1, exact.Iterations, p.Reason)
				}
			}
		}
	}
}
