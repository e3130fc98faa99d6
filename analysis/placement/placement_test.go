package placement_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/placement"
	"moriens/internal/testenv"
)

// torus is one of so many dimensions, side ranks along each, its numbers shuffled.
func torus(r *rand.Rand, side, dimensions int) (ranks int, edges []placement.Edge) {
	ranks = 1
	for range dimensions {
		ranks *= side
	}
	number := r.Perm(ranks)
	for at := range ranks {
		for step := 1; step < ranks; step *= side {
			to := at + step
			if at/step%side == side-1 {
				to -= step * side
			}
			edges = append(edges, placement.Edge{A: int32(number[at]), B: int32(number[to]), Weight: 1})
		}
	}
	r.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
	return ranks, edges
}

// A case is a shuffled torus, and hosts that each have room for a square or cube of it, which is best.
type torusCase struct{ side, dimensions, square int }

func (c torusCase) String() string {
	return fmt.Sprintf("%d^%d on %d hosts", c.side, c.dimensions, c.hosts())
}

func (c torusCase) hosts() int {
	hosts := 1
	for range c.dimensions {
		hosts *= c.side / c.square
	}
	return hosts
}

// optimum is how many edges are between hosts if each has its square or cube.
func (c torusCase) optimum() float64 {
	face := 1
	for range c.dimensions - 1 {
		face *= c.square
	}
	return float64(c.hosts() * c.dimensions * face)
}

func (c torusCase) advise(t testing.TB, r *rand.Rand) (*placement.Plan, []placement.Edge, []int32) {
	t.Helper()
	ranks, edges := torus(r, c.side, c.dimensions)
	room := rooms(c.hosts(), ranks/c.hosts())
	p, err := placement.Advise(ranks, edges, room, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, edges, room
}

func rooms(hosts, each int) []int32 {
	list := make([]int32, hosts)
	for i := range list {
		list[i] = int32(each)
	}
	return list
}

func recount(edges []placement.Edge, of []int32) float64 {
	sum := 0.
	for _, e := range edges {
		if of[e.A] != of[e.B] {
			sum += e.Weight
		}
	}
	return sum
}

// On a shuffled torus, where squares or cubes are best, the plan has at most 1.1 times as many edges between hosts.
// The last has more ranks than are tried often.
func TestShuffledTorus(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	for _, c := range []struct {
		torusCase
		times int
	}{
		{torusCase{8, 2, 4}, 20}, {torusCase{16, 2, 4}, 10}, {torusCase{16, 2, 8}, 10}, {torusCase{32, 2, 8}, 5}, {torusCase{64, 2, 8}, 2},
		{torusCase{8, 3, 4}, 5}, {torusCase{8, 3, 2}, 5}, {torusCase{150, 2, 75}, 1},
	} {
		for range c.times {
			p, edges, room := c.advise(t, r)
			if p.Between > 1.1*c.optimum() {
				t.Errorf("%v: %g edges between hosts, at best %g", c, p.Between, c.optimum())
			}
			checkPlan(t, p, edges, room)
		}
	}
}

func checkPlan(t rapid.TB, p *placement.Plan, edges []placement.Edge, room []int32) {
	t.Helper()
	count := make([]int32, len(room))
	for _, host := range p.Of {
		count[host]++
	}
	if !slices.Equal(count, room) {
		t.Errorf("hosts have %v ranks, room for %v", count, room)
	}
	if again := recount(edges, p.Of); math.Abs(p.Between-again) > 1e-9*again {
		t.Errorf("%g between hosts, a recount gives %g", p.Between, again)
	}
}

// Groups that send each other little are kept together on the hosts that have room for just them, the last of which is
// not full; whatever the unit.
func TestPlantedGroups(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	for _, unit := range []float64{1e-12, 1, 1e12} {
		room := append(rooms(6, 12), 0, 7)
		planted := placement.Blocks(room)
		number := r.Perm(len(planted))
		of := make([]int32, len(planted))
		for i, n := range number {
			of[n] = planted[i]
		}
		var edges []placement.Edge
		for a := range of {
			for b := range a {
				switch {
				case of[a] == of[b]:
					edges = append(edges, placement.Edge{A: int32(a), B: int32(b), Weight: unit * (10 + r.Float64())})
				case r.IntN(10) == 0:
					edges = append(edges, placement.Edge{A: int32(b), B: int32(a), Weight: unit * r.Float64()})
				}
			}
		}
		p, err := placement.Advise(len(of), edges, room, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p, edges, room)
		if best := recount(edges, of); p.Between > best*(1+1e-9) {
			t.Errorf("unit %g: %g between hosts, planted %g", unit, p.Between, best)
		}
	}
}

// Where ranks lie best already, none is moved.
func TestPresentIsBest(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	var edges []placement.Edge
	for at := range int32(40) { // a ring
		edges = append(edges, placement.Edge{A: at, B: (at + 1) % 40, Weight: 3})
	}
	room := rooms(5, 8)
	present := placement.Blocks(room)
	host := r.Perm(5)
	for rank := range present {
		present[rank] = int32(host[present[rank]])
	}
	p, err := placement.Advise(40, edges, room, present)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Of, present) || p.Between != 15 {
		t.Errorf("%+v, want %v", p, present)
	}
}

// Whatever the graph: rooms are kept, the figure is that of a recount, no better plan was given, nothing depends on the
// order of the edges.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		hosts := rapid.IntRange(1, 7).Draw(t, "hosts")
		room := make([]int32, hosts)
		ranks := 0
		for i := range room {
			room[i] = int32(rapid.IntRange(0, 9).Draw(t, "room"))
			ranks += int(room[i])
		}
		var edges []placement.Edge
		if ranks > 1 {
			for range rapid.IntRange(0, 4*ranks).Draw(t, "edges") {
				a, b := int32(r.IntN(ranks)), int32(r.IntN(ranks-1))
				if b >= a {
					b++
				}
				edges = append(edges, placement.Edge{A: a, B: b, Weight: float64(r.IntN(1000))})
			}
		}
		present := placement.Blocks(room)
		r.Shuffle(ranks, func(i, k int) { present[i], present[k] = present[k], present[i] })
		p, err := placement.Advise(ranks, edges, room, present)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p, edges, room)
		for name, of := range map[string][]int32{"present": present, "blocks": placement.Blocks(room), "round robin": placement.RoundRobin(room)} {
			if b := recount(edges, of); b < p.Between {
				t.Fatalf("%s has %g between, the plan %g", name, b, p.Between)
			}
		}
		if most, err := placement.MostSaved(ranks, edges, room, present); err != nil || (1-most)*recount(edges, present) > p.Between+1e-6 {
			t.Fatalf("%g of %g between is the most that can be saved, the plan has %g, %v", most, recount(edges, present), p.Between, err)
		}
		if without, err := placement.Advise(ranks, edges, room, nil); err != nil || p.Between > without.Between {
			t.Fatalf("%g between, without the present placement %g, %v", p.Between, without.Between, err)
		}
		r.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
		if again, err := placement.Advise(ranks, edges, room, present); err != nil || !slices.Equal(again.Of, p.Of) {
			t.Fatalf("edges in another order give another plan: %v, %v, %v", p.Of, again.Of, err)
		}
	})
}

// Where the best plan is known, the bound is it: all to all nothing can be saved, of pairs on different hosts all.
func TestMostSaved(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	const ranks = 32
	room := rooms(4, ranks/4)
	var all, pairs []placement.Edge
	for a := range int32(ranks) {
		for b := range a {
			all = append(all, placement.Edge{A: a, B: b, Weight: 3}, placement.Edge{A: b, B: a, Weight: 4}) // twice
		}
		if a < ranks/2 {
			pairs = append(pairs, placement.Edge{A: a, B: a + ranks/2, Weight: float64(1 + r.IntN(9))})
		}
	}
	for _, tt := range []struct {
		name  string
		edges []placement.Edge
		want  float64
	}{{"all to all", all, 0}, {"pairs", pairs, 1}, {"nothing", nil, 0}} {
		if got, err := placement.MostSaved(ranks, tt.edges, room, placement.Blocks(room)); err != nil || math.Abs(got-tt.want) > 1e-8 {
			t.Errorf("%s: %g of it can be saved, want %g, %v", tt.name, got, tt.want, err)
		}
	}
	if _, err := placement.MostSaved(ranks, all, room[1:], placement.Blocks(room)); err == nil {
		t.Error("too little room, and no error")
	}
}

// Nearly all small graphs have the best plan of all.
func TestSmall(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	const ranks, graphs = 8, 400
	best, sum, least := 0, 0., 0.
	for range graphs {
		var edges []placement.Edge
		for a := range int32(ranks) {
			for b := range a {
				if r.IntN(3) == 0 {
					edges = append(edges, placement.Edge{A: a, B: b, Weight: float64(1 + r.IntN(20))})
				}
			}
		}
		p, err := placement.Advise(ranks, edges, rooms(2, ranks/2), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := leastBetween(ranks, edges)
		if p.Between < l {
			t.Fatalf("%g between hosts, at best %g", p.Between, l)
		}
		if p.Between == l {
			best++
		}
		sum, least = sum+p.Between, least+l
	}
	if best < graphs*97/100 || sum > 1.01*least {
		t.Errorf("%d of %d graphs have the best plan; all have %g between hosts, at best %g", best, graphs, sum, least)
	}
}

// leastBetween tries all ways to put half of the ranks on one host.
func leastBetween(ranks int, edges []placement.Edge) float64 {
	least := math.Inf(1)
	of := make([]int32, ranks)
	for set := range 1 << ranks {
		n := 0
		for v := range of {
			of[v] = int32(set >> v & 1)
			n += int(of[v])
		}
		if n == ranks/2 {
			least = min(least, recount(edges, of))
		}
	}
	return least
}

func TestBadInput(t *testing.T) {
	for name, advise := range map[string]func() (*placement.Plan, error){
		"room":     func() (*placement.Plan, error) { return placement.Advise(4, nil, []int32{2, 1}, nil) },
		"negative": func() (*placement.Plan, error) { return placement.Advise(1, nil, []int32{2, -1}, nil) },
		"rank": func() (*placement.Plan, error) {
			return placement.Advise(2, []placement.Edge{{A: 0, B: 2, Weight: 1}}, []int32{2}, nil)
		},
		"self": func() (*placement.Plan, error) {
			return placement.Advise(2, []placement.Edge{{A: 1, B: 1, Weight: 1}}, []int32{2}, nil)
		},
		"weight": func() (*placement.Plan, error) {
			return placement.Advise(2, []placement.Edge{{A: 0, B: 1, Weight: math.NaN()}}, []int32{2}, nil)
		},
		"present":        func() (*placement.Plan, error) { return placement.Advise(2, nil, []int32{1, 1}, []int32{0, 0}) },
		"present, short": func() (*placement.Plan, error) { return placement.Advise(2, nil, []int32{1, 1}, []int32{0}) },
		"present, far":   func() (*placement.Plan, error) { return placement.Advise(2, nil, []int32{1, 1}, []int32{0, 5}) },
	} {
		if p, err := advise(); err == nil {
			t.Errorf("%s: %+v, no error", name, p)
		}
	}
}

func BenchmarkAdvise(b *testing.B) {
	for _, c := range []torusCase{{16, 2, 4}, {64, 2, 8}, {16, 3, 4}, {256, 2, 8}} {
		b.Run(c.String(), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				p, _, _ := c.advise(b, r)
				b.ReportMetric(p.Between/c.optimum(), "of-optimum")
			}
		})
	}
}
