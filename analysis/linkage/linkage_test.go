package linkage_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/linkage"
)

// graph draws a sparse graph; connected: all of it is one component.
func graph(r *rand.Rand, vertices, more int, connected bool) []linkage.Edge {
	have := make(map[[2]int32]bool)
	var edges []linkage.Edge
	add := func(a, b int32) {
		a, b = min(a, b), max(a, b)
		if a == b || have[[2]int32{a, b}] {
			return
		}
		have[[2]int32{a, b}] = true
		edges = append(edges, linkage.Edge{A: a, B: b, Weight: math.Exp(2 * r.NormFloat64())})
	}
	if connected {
		for v := 1; v < vertices; v++ {
			add(int32(r.IntN(v)), int32(v))
		}
	}
	for range more {
		add(int32(r.IntN(vertices)), int32(r.IntN(vertices)))
	}
	return edges
}

func trees(t testing.TB, vertices int, edges []linkage.Edge) (single, average *linkage.Tree) {
	t.Helper()
	single, err := linkage.Single(vertices, edges)
	if err != nil {
		t.Fatal(err)
	}
	if average, err = linkage.Average(vertices, edges); err != nil {
		t.Fatal(err)
	}
	return single, average
}

// Average linkage of what is drawn, some of it equal, is that of looking at all pairs of groups each time.
func TestAverageGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 24).Draw(t, "vertices")
		edges := graph(r, n, rapid.IntRange(0, 80).Draw(t, "edges"), rapid.Bool().Draw(t, "connected"))
		tree, err := linkage.Average(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		want := greedy(n, edges)
		if len(tree.Merges) != len(want) {
			t.Fatalf("%d merges, want %d", len(tree.Merges), len(want))
		}
		for i, m := range tree.Merges {
			if w := want[i]; m.Left != w.Left || m.Right != w.Right || m.Size != w.Size || math.Abs(m.Height-w.Height) > 1e-9*w.Height {
				t.Fatalf("merge %d: %+v, want %+v", i, m, w)
			}
		}
	})
}

// greedy looks at all pairs of groups.
func greedy(vertices int, edges []linkage.Edge) []linkage.Merge {
	type group struct {
		name    int32
		members []int32
	}
	var groups []group
	for v := range int32(vertices) {
		groups = append(groups, group{v, []int32{v}})
	}
	weight := make(map[[2]int32]float64)
	for _, e := range edges {
		weight[[2]int32{e.A, e.B}], weight[[2]int32{e.B, e.A}] = e.Weight, e.Weight
	}
	var merges []linkage.Merge
	for {
		best, x, y := 0., -1, -1
		for i := range groups {
			for k := range i {
				sum := 0.
				for _, a := range groups[i].members {
					for _, b := range groups[k].members {
						sum += weight[[2]int32{a, b}]
					}
				}
				if s := sum / float64(len(groups[i].members)*len(groups[k].members)); s > best {
					best, x, y = s, i, k
				}
			}
		}
		if x < 0 {
			return merges
		}
		a, b := groups[x], groups[y]
		members := slices.Concat(a.members, b.members)
		name := int32(vertices + len(merges))
		merges = append(merges, linkage.Merge{Left: min(a.name, b.name), Right: max(a.name, b.name), Height: 1 / best, Size: int32(len(members))})
		groups[y] = group{name, members}
		groups = slices.Delete(groups, x, x+1)
	}
}

// Whatever the graph: merges are as many as vertices less components, heights go up, groups have their sizes, the order
// is one of all vertices in which each group stands together; edges in another order give the same.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(0, 60).Draw(t, "vertices")
		var edges []linkage.Edge
		if n > 1 {
			edges = graph(r, n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "connected"))
		}
		if rapid.Bool().Draw(t, "equal") {
			for i := range edges {
				edges[i].Weight = .1 * float64(1+r.IntN(3)) // whose sums are rounded
			}
		}
		shuffled := slices.Clone(edges)
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		for name, link := range map[string]func(int, []linkage.Edge) (*linkage.Tree, error){"single": linkage.Single, "average": linkage.Average} {
			tree, err := link(n, edges)
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(shuffled)
			if again, err := link(n, shuffled); err != nil || !slices.Equal(again.Merges, tree.Merges) {
				t.Fatalf("%s: another order of edges gives other merges", name)
			}
			if !slices.Equal(shuffled, before) {
				t.Fatalf("%s has changed the edges", name)
			}
			for i := range shuffled {
				shuffled[i].Weight *= 4
			}
			fourfold, err := link(n, shuffled)
			if err != nil {
				t.Fatal(err)
			}
			for i := range shuffled {
				shuffled[i].Weight /= 4
			}
			for i, m := range fourfold.Merges {
				m.Height *= 4
				if m != tree.Merges[i] {
					t.Fatalf("%s: weights times 4 give merge %d %+v, want %+v", name, i, m, tree.Merges[i])
				}
			}
			checkTree(t, name, tree, edges)
		}
	})
}

func checkTree(t *rapid.T, name string, tree *linkage.Tree, edges []linkage.Edge) {
	n := tree.Vertices
	components := n
	root := make([]int, n)
	for i := range root {
		root[i] = i
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if low := min(root[e.A], root[e.B]); root[e.A] != low || root[e.B] != low {
				root[e.A], root[e.B], changed = low, low, true
			}
		}
	}
	for i, r := range root {
		if i != r {
			components--
		}
	}
	if len(tree.Merges) != n-components || len(tree.Roots()) != components {
		t.Fatalf("%s: %d merges and %d roots of %d vertices in %d components", name, len(tree.Merges), len(tree.Roots()), n, components)
	}
	order := tree.Order()
	place := make([]int, n)
	if sorted := slices.Sorted(slices.Values(order)); len(sorted) != n || n > 0 && (sorted[0] != 0 || int(sorted[n-1]) != n-1 || len(slices.Compact(sorted)) != n) {
		t.Fatalf("%s: order %v", name, order)
	}
	for i, v := range order {
		place[v] = i
	}
	members := make([][]int32, n)
	for v := range members {
		members[v] = []int32{int32(v)}
	}
	for i, m := range tree.Merges {
		if m.Left >= m.Right || int(m.Right) >= n+i || i > 0 && m.Height < tree.Merges[i-1].Height {
			t.Fatalf("%s: merge %d: %+v", name, i, m)
		}
		all := slices.Concat(members[m.Left], members[m.Right])
		members = append(members, all)
		first, last := n, -1
		for _, v := range all {
			first, last = min(first, place[v]), max(last, place[v])
		}
		if int(m.Size) != len(all) || last-first+1 != len(all) {
			t.Fatalf("%s: merge %d of %v: %+v in places %d to %d", name, i, all, m, first, last)
		}
	}
	for _, p := range []linkage.Partition{tree.Best(edges), tree.Groups(3, edges), tree.Height(.5, edges)} {
		weights, topology := modularity(p.Of, edges)
		if math.Abs(weights-p.Modularity) > 1e-9 || math.Abs(topology-p.Topology) > 1e-9 {
			t.Fatalf("%s: modularity %g and %g, want %g and %g", name, p.Modularity, p.Topology, weights, topology)
		}
		seen := 0
		for g, group := range p.Groups {
			for _, v := range group {
				if int(p.Of[v]) != g {
					t.Fatalf("%s: %d is in group %d and %d", name, v, g, p.Of[v])
				}
				seen++
			}
			if !slices.IsSorted(group) || g > 0 && group[0] < p.Groups[g-1][0] {
				t.Fatalf("%s: groups %v", name, p.Groups)
			}
		}
		if seen != n {
			t.Fatalf("%s: %d of %d vertices are in groups", name, seen, n)
		}
	}
	best, whole := tree.Best(edges), false
	for i := -1; i < len(tree.Merges); i++ {
		height, within := 0., 0
		if i >= 0 {
			height = tree.Merges[i].Height
		}
		for _, m := range tree.Merges {
			if m.Height <= height {
				within++
			}
		}
		p := tree.Height(height, edges)
		if len(p.Groups) != n-within {
			t.Fatalf("%s: %d groups at height %g, want %d", name, len(p.Groups), height, n-within)
		}
		whole = whole || slices.Equal(p.Of, best.Of)
	}
	if !whole {
		t.Fatalf("%s: the best cut %v parts merges of one height", name, best.Groups)
	}
	if g := tree.Groups(3, edges); len(g.Groups) != max(min(3, n), components) {
		t.Fatalf("%s: %d groups of %d components, want 3", name, len(g.Groups), components)
	}
}

// modularity is Newman's, group by group.
func modularity(of []int32, edges []linkage.Edge) (weights, topology float64) {
	var q [2]float64
	for k := range q {
		weight := func(e linkage.Edge) float64 {
			if k == 0 {
				return e.Weight
			}
			return 1
		}
		all, within, degree := 0., make(map[int32]float64), make(map[int32]float64)
		for _, e := range edges {
			all += weight(e)
			degree[of[e.A]] += weight(e)
			degree[of[e.B]] += weight(e)
			if of[e.A] == of[e.B] {
				within[of[e.A]] += weight(e)
			}
		}
		if all == 0 {
			continue
		}
		for g, d := range degree {
			q[k] += within[g]/all - d/(2*all)*d/(2*all)
		}
	}
	return q[0], q[1]
}

// The best cut is that of all cuts between heights.
func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(2, 30).Draw(t, "vertices")
		edges := graph(r, n, rapid.IntRange(1, 60).Draw(t, "edges"), true)
		tree, err := linkage.Single(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		best := tree.Best(edges)
		for _, m := range tree.Merges {
			if p := tree.Height(m.Height, edges); p.Modularity > best.Modularity+1e-9 {
				t.Fatalf("cut at %g has %g, the best %g", m.Height, p.Modularity, best.Modularity)
			}
		}
	})
}

// Two groups of heavy pairs with one light edge between are what the best cut gives; a torus of equal weights has no
// groups but those of its topology.
func TestGroups(t *testing.T) {
	var edges []linkage.Edge
	for g := range int32(2) {
		for a := range int32(4) {
			for b := range a {
				edges = append(edges, linkage.Edge{A: 4*g + b, B: 4*g + a, Weight: 10 + float64(a+b)})
			}
		}
	}
	edges = append(edges, linkage.Edge{A: 0, B: 5, Weight: 1})
	single, average := trees(t, 8, edges)
	for _, tree := range []*linkage.Tree{single, average} {
		if p := tree.Best(edges); fmt.Sprint(p.Groups) != "[[0 1 2 3] [4 5 6 7]]" || p.Modularity < .4 {
			t.Errorf("%+v", p)
		}
	}
	torus := torusEdges(8, 8)
	_, tree := trees(t, 64, torus)
	if p := tree.Best(torus); p.Modularity-p.Topology > 1e-9 {
		t.Errorf("a torus of equal weights: %+v", p)
	}
}

func torusEdges(width, height int) []linkage.Edge {
	var edges []linkage.Edge
	for y := range height {
		for x := range width {
			at := int32(y*width + x)
			for _, to := range []int32{int32(y*width + (x+1)%width), int32((y+1)%height*width + x)} {
				edges = append(edges, linkage.Edge{A: min(at, to), B: max(at, to), Weight: 1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b linkage.Edge) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return edges
}

func TestBadEdges(t *testing.T) {
	for _, e := range []linkage.Edge{{1, 1, 1}, {1, 0, 1}, {0, 4, 1}, {-1, 2, 1}, {0, 1, 0}, {0, 1, -1}, {0, 1, math.NaN()}, {0, 1, math.Inf(1)}, {0, 1, 1e-320}} {
		if _, err := linkage.Single(4, []linkage.Edge{e}); err == nil {
			t.Errorf("%+v: no error", e)
		}
		if _, err := linkage.Average(4, []linkage.Edge{e}); err == nil {
			t.Errorf("%+v: no error", e)
		}
	}
}

// BenchmarkLinkage is of 100,000 ranks with 26 neighbours each in three dimensions.
func BenchmarkLinkage(b *testing.B) {
	const n = 100_000
	edges := stencil(47, 47, 46, n)
	for name, link := range map[string]func(int, []linkage.Edge) (*linkage.Tree, error){"single": linkage.Single, "average": linkage.Average} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				tree, err := link(n, edges)
				if err != nil {
					b.Fatal(err)
				}
				tree.Best(edges)
			}
		})
	}
}

func stencil(x, y, z, n int) []linkage.Edge {
	r := rand.New(rand.NewPCG(1, 2))
	var edges []linkage.Edge
	for a := range n {
		ax, ay, az := a%x, a/x%y, a/x/y
		for dz := -1; dz <= 1; dz++ {
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					b := (ax+dx+x)%x + x*((ay+dy+y)%y) + x*y*((az+dz+z)%z)
					if a < b && b < n {
						edges = append(edges, linkage.Edge{A: int32(a), B: int32(b), Weight: math.Exp(r.NormFloat64())})
					}
				}
			}
		}
	}
	return edges
}

// One group has no modularity, however sums of its edges are rounded.
func TestModularityOfOneGroup(t *testing.T) {
	var edges []linkage.Edge
	for a := range int32(8) {
		for b := a + 1; b < 8; b++ {
			edges = append(edges, linkage.Edge{A: a, B: b, Weight: .1 + float64(3*a+7*b)/13})
		}
	}
	for _, build := range []func(int, []linkage.Edge) (*linkage.Tree, error){linkage.Single, linkage.Average} {
		tree, err := build(8, edges)
		if err != nil {
			t.Fatal(err)
		}
		if p := tree.Groups(1, edges); p.Modularity != 0 || math.Signbit(p.Modularity) || p.Topology != 0 || math.Signbit(p.Topology) {
			t.Errorf("%g, %g", p.Modularity, p.Topology)
		}
	}
}
