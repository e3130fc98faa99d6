package microcell_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/refine"
	"moriens/analysis/space"
)

func momentOf(column []int64, rows []int32) (e moment.Exact) {
	for _, row := range rows {
		if v := column[row]; v >= 0 {
			e.Add(uint64(v))
		}
	}
	return e
}

func compute(t rapid.TB, s microcell.Set, m microcell.Source, o grouping.Options) *microcell.Result {
	t.Helper()
	r, err := microcell.Compute(s, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same fails where a clustering of units is not that of their bursts.
func same(t rapid.TB, m *memory, r *microcell.Result, want *grouping.Result) {
	t.Helper()
	if len(r.Units) != len(m.units) || len(r.Labels) != len(m.units) || len(r.Lineage) != len(m.units) {
		t.Fatalf("%d units, %d labels, %d lineages, want %d", len(r.Units), len(r.Labels), len(r.Lineage), len(m.units))
	}
	for row, i := range m.unit {
		switch {
		case i < 0 && want.Labels[row] > grouping.LabelFiltered:
			t.Fatalf("burst %d is in no unit, and has label %d", row, want.Labels[row])
		case i >= 0 && r.Labels[i] != want.Labels[row]:
			t.Fatalf("burst %d in unit %d (%v): label %d, want %d; %+v", row, i, m.coords[row], r.Labels[i], want.Labels[row], r.Certificate)
		case i >= 0 && way(r.Tree, r.Lineage[i]) != way(want.Tree, want.Lineage[row]):
			t.Fatalf("burst %d has come by %s, want %s", row, way(r.Tree, r.Lineage[i]), way(want.Tree, want.Lineage[row]))
		}
	}
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"clusters", r.Clusters, want.Clusters},
		{"groups", r.Groups, want.Groups},
		{"noise", r.Noise, want.Noise},
		{"clustered", r.Clustered, want.Clustered},
		{"time", r.TotalNS, want.TotalNS},
		{"score", [2]float64{r.Score, r.NoiseScore}, [2]float64{want.Score, want.NoiseScore}},
		{"tree", shape(r.Tree), shape(want.Tree)},
	} {
		if got, want := fmt.Sprintf("%+v", x.got), fmt.Sprintf("%+v", x.want); got != want {
			t.Fatalf("%s\n%s, want\n%s", x.name, got, want)
		}
	}
}

// shape is a tree without its lineages, whose numbers follow the order of bursts.
func shape(tree *refine.Tree) refine.Tree {
	x := *tree
	x.Lineages = nil
	return x
}

func way(tree *refine.Tree, lineage uint32) string {
	text := ""
	for ; lineage != 0; lineage = tree.Lineages[lineage].From {
		text += fmt.Sprintf(" %d at %d", tree.Lineages[lineage].Node, tree.Lineages[lineage].Level)
	}
	return text
}

// With a density that is given, the clustering is that of the bursts.
func TestComputeIsThatOfTheBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dims")
		eps := rapid.SampledFrom([]int{7, 40, 80}).Draw(t, "eps")
		b := drawRun(t, dims, eps)
		o := drawOptions(t, &b, dims)
		o.Fixed = &grouping.Density{Eps: float64(eps), MinPts: rapid.SampledFrom([]int{6, 3, 10, 20, 1}).Draw(t, "minPts")}
		s, m := summedInParts(t, b, o, sideOf(t, o.Fixed.Eps, dims), nil, rapid.IntRange(1, 2).Draw(t, "parts"))
		r := compute(t, s, m, o)
		if !r.Certificate.Exact || r.Certificate.Bound {
			t.Fatalf("%+v", r.Certificate)
		}
		want, err := grouping.Compute(b, o)
		if err != nil {
			t.Fatal(err)
		}
		same(t, m, r, want)
	})
}

// Where the floor binds, it is the resolution of the bursts.
func TestComputeAtTheFloor(t *testing.T) {
	compared := 0
	property := func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dims")
		floor := rapid.SampledFrom([]int{40, 80, 10}).Draw(t, "floor")
		b := drawRun(t, dims, floor)
		o := drawOptions(t, &b, dims)
		s, m := summed(t, b, o, float64(floor)/(4*math.Sqrt(float64(dims))), nil)
		r := compute(t, s, m, o)
		if !r.Certificate.Exact {
			t.Fatalf("%+v", r.Certificate)
		}
		o.Resolution, o.Kinds = r.Resolution, grouping.KindsByScore // cells have nothing to evaluate kinds by
		want, err := grouping.Compute(b, o)
		if err != nil {
			t.Fatal(err)
		}
		if !sameEps(r.Tree, want.Tree) || !sameKnees(r.Groups, want.Groups) {
			return // the knee that the units have is not quite that of the bursts
		}
		same(t, m, r, want)
		compared++
	}
	// Chance may draw as few as a short test takes with nothing to compare.
	for try := 0; compared == 0 && try < 100; try++ {
		rapid.Check(t, property)
	}
	t.Logf("%d compared", compared)
	if compared == 0 {
		t.Error("none compared")
	}
}

func sameEps(a, b *refine.Tree) bool {
	return slices.EqualFunc(a.Levels, b.Levels, func(x, y refine.Level) bool { return slices.Equal(x.Eps, y.Eps) })
}

func sameKnees(a, b []grouping.Group) bool {
	return slices.EqualFunc(a, b, func(x, y grouping.Group) bool { return x.Knee == y.Knee && x.MinPts == y.MinPts })
}

// With a ladder of densities, the refinement is that of the bursts with the same ladder: labels, scores and all that
// the tree says.
func TestLadderIsThatOfTheBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dims")
		eps := rapid.SampledFrom([]int{40, 80}).Draw(t, "eps")
		b := drawRun(t, dims, eps)
		o := drawOptions(t, &b, dims)
		o.Resolution = float64(eps)
		s, m := summed(t, b, o, sideOf(t, float64(eps), dims), nil)
		r := compute(t, s, m, o)
		if !r.Certificate.Exact {
			t.Fatalf("%+v", r.Certificate)
		}
		sameRefinement(t, s, m, o, r)
	})
}

// Many bursts raise questions at many steps, and kinds of all sorts come out.
func TestManyBursts(t *testing.T) {
	steps, rounds, frozen, rare := 0, 0, 0, 0
	for seed := range uint64(12) {
		b, o := manyBursts(seed)
		s, m := summedInParts(t, b, o, .1/4, nil, 1+int(seed%2))
		r := compute(t, s, m, o)
		if !r.Certificate.Exact || r.Certificate.Bound || len(r.Warnings) > 0 {
			t.Fatalf("%+v, %q", r.Certificate, r.Warnings)
		}
		sameRefinement(t, s, m, o, r)
		steps, rounds = max(steps, len(r.Tree.Levels)), max(rounds, r.Certificate.Rounds)
		for _, l := range r.Tree.Levels[:len(r.Tree.Levels)-1] {
			for _, n := range l.Nodes {
				if n.Frozen {
					frozen++
				}
			}
		}
		for _, k := range r.Clusters {
			if k.MinPts == 2 {
				rare++
			}
		}
	}
	t.Logf("%d steps and %d rounds at most; %d clusters frozen on the way, %d of rare kinds", steps, rounds, frozen, rare)
	if steps < 2 || rounds < 3 || frozen == 0 || rare == 0 {
		t.Error("want some of each")
	}
}

// manyBursts are loops of 3 threads over kinds of several sizes, some of them about a tenth from each other, with
// noise, and with bursts that occur once on every thread.
func manyBursts(seed uint64) (grouping.Bursts, grouping.Options) {
	random := rand.New(rand.NewPCG(seed, 3))
	b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"A"}, Counters: make([][]int64, 1)}}
	add := func(x, spread float64, ns int64) {
		b.Counters[0] = append(b.Counters[0], int64(1e6*math.Exp(x+spread*random.NormFloat64())))
		b.DurationNS = append(b.DurationNS, ns)
	}
	for thread := range 3 {
		for iteration := range 40 {
			for kind := range 12 {
				x := .18 * float64(kind)
				if kind == 5 && thread == 1 && iteration%3 == 0 {
					x += .4
				}
				add(x, .005+.002*float64(kind), 10_000)
			}
			if random.IntN(4) == 0 {
				add(4*random.Float64(), .01, 5_000)
			}
			if iteration == 20 {
				add(-2, .01, 1_000_000)
			}
		}
		b.ThreadEnds = append(b.ThreadEnds, b.Len())
	}
	return b, grouping.Options{By: grouping.ByNone, Dims: []space.Dim{{Num: "A", Scale: space.Log}}, JobThreads: 3, Resolution: .1}
}

// sameRefinement fails where a refinement of the bursts themselves gives another tree, or puts a burst elsewhere.
func sameRefinement(t rapid.TB, s microcell.Set, m *memory, o grouping.Options, r *microcell.Result) {
	t.Helper()
	ladders, err := microcell.Ladders(s, o)
	if err != nil {
		t.Fatal(err)
	}
	all := refine.Bursts{DurationNS: m.bursts.DurationNS, Ends: m.bursts.ThreadEnds, Anchors: m.bursts.Anchors}
	for i, g := range r.Groups {
		x := refine.Group{Eps: ladders[i], MinPts: g.MinPts, Points: dbscan.Points{Dims: len(o.Dims)}}
		for row, unit := range m.unit {
			if unit >= 0 && (o.By == grouping.ByNone || m.bursts.Before[row] == g.Before && m.bursts.After[row] == g.After) {
				x.Rows, x.Points.Coords = append(x.Rows, int32(row)), append(x.Points.Coords, m.coords[row]...)
			}
		}
		all.Groups = append(all.Groups, x)
	}
	want, err := refine.Run(all, o.Refinement())
	if err != nil {
		t.Fatal(err)
	}
	for row, unit := range m.unit {
		node := refine.Noise
		if unit < 0 {
			node = refine.Absent
		} else if label := r.Labels[unit]; label > 0 {
			node = r.Clusters[label-1].Node
		}
		if node != want.Labels[row] {
			t.Fatalf("burst %d in unit %d (%v) is in node %d, want %d", row, unit, m.coords[row], node, want.Labels[row])
		}
		if unit >= 0 && way(r.Tree, r.Lineage[unit]) != way(&want.Tree, want.Lineage[row]) {
			t.Fatalf("burst %d has come by %s, want %s", row, way(r.Tree, r.Lineage[unit]), way(&want.Tree, want.Lineage[row]))
		}
	}
	if got, want := fmt.Sprintf("%v %+v", r.Score, shape(r.Tree)), fmt.Sprintf("%v %+v", want.Score.Global, shape(&want.Tree)); got != want {
		t.Fatalf("tree\n%s, want\n%s", got, want)
	}
}
