package period_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"moriens/analysis/period"
)

// pairs gives symbols 0 … 199 as pairs of calls of their own; those from 200 on are those below 200 with another cluster.
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

// TestCallsWhereClustersAreNoisy has six iterations of 150 bursts, one in twenty of which is noise: hardly two iterations are equal by their symbols, all are by their calls.
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

// TestCallsWhereClustersOfSomeThreadsAreNoisy has a thread whose iterations are all equal by their symbols beside others on which hardly two are; by their calls all are. No collective call
// tells where the others' iterations begin.
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

// TestAnchorsWhereClustersOfSomeThreadsAreNoisy has the same with a collective call at each begin: it cuts the noisy threads too, and phases that make the same calls stay apart,
// of which one burst in thirty is of another cluster.
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

// TestClustersTellPhasesApart has the same calls throughout, and from the middle on another cluster.
func TestClustersTellPhasesApart(t *testing.T) {
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

// TestTasksOfManyKindsByCalls has a loop over tasks of many clusters: by its calls it is one, by what it does it is not.
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
