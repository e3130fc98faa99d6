package refine_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/internal/team"
)

// line makes one group of bursts at places on a line; those of a thread are together, and each lasts ns.
func line(t interface{ Fatal(...any) }, minPts int, eps []float64, ns int64, threads ...[]float64) refine.Bursts {
	var b refine.Bursts
	g := refine.Group{Points: dbscan.Points{Dims: 1}, Eps: eps, MinPts: minPts}
	for _, places := range threads {
		for _, x := range places {
			g.Rows = append(g.Rows, int32(len(b.DurationNS)))
			g.Points.Coords = append(g.Points.Coords, x)
			b.DurationNS = append(b.DurationNS, ns)
		}
		b.Ends = append(b.Ends, len(b.DurationNS))
	}
	var err error
	if g.Index, err = dbscan.NewShared(team.Solo{}, g.Points, 1); err != nil {
		t.Fatal(err)
	}
	b.Groups = []refine.Group{g}
	return b
}

func run(t interface{ Fatal(...any) }, b refine.Bursts, o refine.Options) *refine.Result {
	r, err := refine.Run(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two threads do at 0 … 1 and 10 … 11 the same, but for a gap of .4 in the first kind, which thread 1 has only the
// upper half of.
func TestRefinementByHand(t *testing.T) {
	places := func(first float64) []float64 {
		var list []float64
		for i := range 8 {
			list = append(list, first+.01*float64(i), 10+.01*float64(i))
		}
		return list
	}
	b := line(t, 4, []float64{.1, .6, 20}, 100, places(0), places(.5))
	r := run(t, b, refine.Options{Workers: 2})
	// Step 1: each thread's first kind is a cluster of its own (score 1/2 each), the second is frozen. Step 2: the first
	// kinds are one.
	if len(r.Tree.Levels) != 2 || !slices.Equal(r.Tree.Chosen, []int{1}) {
		t.Fatalf("%+v", r.Tree)
	}
	first, second := r.Tree.Levels[0], r.Tree.Levels[1]
	if first.Score != .75 || second.Score != 1 || r.Score.Global != 1 {
		t.Errorf("scores %v, %v", first.Score, second.Score)
	}
	// The second kind lasts as long as both halves of the first, so it is number 1.
	want := []refine.Node{
		{ID: 1, Eps: .1, MinPts: 4, Bursts: 16, TimeNS: 1600, Score: 1, Frozen: true, Parents: []refine.Parent{{ID: 1, Bursts: 16}}},
		{ID: 2, Eps: .6, MinPts: 4, Bursts: 16, TimeNS: 1600, Score: 1, Frozen: true, Parents: []refine.Parent{{ID: 2, Bursts: 8}, {ID: 3, Bursts: 8}}},
	}
	if !reflect.DeepEqual(second.Nodes, want) {
		t.Errorf("nodes\n%+v, want\n%+v", second.Nodes, want)
	}
	if r.Labels[0] != r.Labels[16] || r.Labels[1] != r.Labels[17] || r.Labels[0] == r.Labels[1] {
		t.Errorf("labels %v", r.Labels)
	}
	if !strings.HasPrefix(r.Tree.Why, "step 2 of 2 has the best score (1.0000)") {
		t.Error(r.Tree.Why)
	}

	// Where bursts have no length their number counts.
	r = run(t, line(t, 4, []float64{.1, .6, 20}, 0, places(0), places(.5)), refine.Options{})
	if !slices.Equal(r.Tree.Chosen, []int{1}) || !strings.HasPrefix(r.Tree.Why, "step 2 of 2 has the best score (1.0000)") {
		t.Errorf("without length: %+v", r.Tree)
	}

	// At the last step everything is one cluster with a score of 1; that is no reason to take it.
	r = run(t, line(t, 4, []float64{.6, 20}, 100, places(0), append(places(.5), 10.5)), refine.Options{Freeze: 1})
	if !slices.Equal(r.Tree.Chosen, []int{0}) || len(r.Nodes) != 2 {
		t.Errorf("%+v", r.Tree)
	}
	// A strict refinement does.
	r = run(t, line(t, 4, []float64{.6, 20}, 100, places(0), append(places(.5), 10.5)), refine.Options{Strict: true})
	if !slices.Equal(r.Tree.Chosen, []int{1}) || !strings.HasPrefix(r.Tree.Why, "the last step, of 2") {
		t.Errorf("%+v", r.Tree)
	}
}

// What some threads do where others do something else is one phase: strict rules merge it, others report it.
func TestAlternatives(t *testing.T) {
	var a, b, c []float64
	for i := range 8 {
		x := .01 * float64(i)
		a, b, c = append(a, 0+x, 10+x), append(b, 5+x, 10+x), append(c, 7+x, 10+x)
	}
	in := line(t, 4, []float64{.1}, 100, a, b, c)
	r := run(t, in, refine.Options{})
	if len(r.Nodes) != 4 || len(r.Tree.Merged) != 1 || len(r.Tree.Merged[0]) != 3 || math.Abs(r.Score.Global-2./3) > 1e-12 {
		t.Errorf("%d clusters, merged %v, score %v", len(r.Nodes), r.Tree.Merged, r.Score.Global)
	}
	r = run(t, in, refine.Options{Strict: true})
	if len(r.Nodes) != 2 || r.Score.Global != 1 || r.Labels[0] != r.Labels[16] || r.Labels[0] != r.Labels[32] || r.Labels[0] == r.Labels[1] {
		t.Errorf("%d clusters, score %v, labels %v", len(r.Nodes), r.Score.Global, r.Labels)
	}
	for _, n := range r.Nodes {
		if n.Bursts != 24 || n.TimeNS != 2400 || n.Score != 1 {
			t.Errorf("%+v", n)
		}
	}
}

// Where nothing shows what the threads did there is no score, and the least Eps decides.
func TestWithoutScore(t *testing.T) {
	places := []float64{0, .01, .02, .03, 1, 1.01, 1.02, 1.03}
	for _, b := range []refine.Bursts{
		line(t, 3, []float64{.1, 5}, 10, places),
		func() refine.Bursts { b := line(t, 3, []float64{.1, 5}, 10, places, places); b.Ends = nil; return b }(),
	} {
		r := run(t, b, refine.Options{})
		if len(r.Nodes) != 2 || !math.IsNaN(r.Score.Global) || len(r.Tree.Levels) != 1 || !strings.Contains(r.Tree.Why, "the knee of the distances decides") {
			t.Errorf("%+v", r.Tree)
		}
	}
	if r := run(t, refine.Bursts{}, refine.Options{}); len(r.Nodes) != 0 || r.Tree.Why == "" {
		t.Errorf("%+v", r)
	}
}

// rule is the automatic MinPts of a live job.
func rule(n int) int { return max(4, n/200) }

// A kind that is rare among many bursts but lasts long is found in the noise; a few that lie apart are not.
func TestRareKinds(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	thread := func(rareAt, lost float64) []float64 {
		var list []float64
		for i := range 4000 {
			list = append(list, .02*random.NormFloat64())
			if i == 100 {
				list = append(list, rareAt+.001*random.Float64())
			}
			if i%1000 == 500 {
				list = append(list, 3+rareAt/100)
			}
		}
		return append(list, lost)
	}
	in := func(threads ...[]float64) refine.Bursts {
		b := line(t, rule(2*4006), []float64{.1}, 10, threads...)
		for i, x := range b.Groups[0].Points.Coords {
			if x > 2 {
				b.DurationNS[i] = 3000
			}
		}
		return b
	}
	// Eight bursts at 3: a kind by MinPts 4. Two at 5, at the same time on both threads: confirmed by the sequence. One at
	// 20 and 30.
	r := run(t, in(thread(5, 20), thread(5, 30)), refine.Options{RareMinPts: rule})
	if len(r.Nodes) != 3 || r.Nodes[1].Bursts != 8 || r.Nodes[1].MinPts != 4 || r.Nodes[2].Bursts != 2 || r.Nodes[2].MinPts != 2 || r.Nodes[2].Score != 1 {
		t.Errorf("%+v", r.Nodes)
	}
	// Two that are alike, but of one thread: no cluster.
	r = run(t, in(thread(5, 20), thread(20, 30)), refine.Options{RareMinPts: rule})
	for _, n := range r.Nodes {
		if n.MinPts == 2 {
			t.Errorf("%+v", n)
		}
	}
	if noise := r.Tree.Levels[0].Nodes[0]; noise.ID != refine.Noise || noise.Bursts < 4 {
		t.Errorf("noise %+v", noise)
	}
	// Without the rule all of them are noise.
	r = run(t, in(thread(5, 20), thread(5, 30)), refine.Options{})
	if len(r.Nodes) != 1 {
		t.Errorf("%+v", r.Nodes)
	}
}

// values is a curve of which all is here.
type values []float64

func (v values) At(places ...int) ([]float64, error) {
	var at []float64
	for _, i := range places {
		at = append(at, v[i])
	}
	return at, nil
}

func (v values) Knee() (knee dbscan.Knee, ok bool, err error) {
	knee, ok = dbscan.FindKnee(v)
	return knee, ok, nil
}

func ladder(t interface{ Fatal(...any) }, curve refine.Curve, outliers int) []float64 {
	eps, err := refine.Ladder(curve, outliers)
	if err != nil {
		t.Fatal(err)
	}
	return eps
}

func TestLadder(t *testing.T) {
	curve := make(values, 2000)
	for i := range curve {
		curve[i] = 100/float64(1+i) + .001*float64(2000-i)
	}
	knee, ok := dbscan.FindKnee(curve)
	if !ok || knee.Range < 20 {
		t.Fatalf("%+v", knee)
	}
	eps := ladder(t, curve, 0)
	if len(eps) != 10 || !slices.IsSorted(eps) || eps[0] != knee.Eps || eps[9] != curve[10+10*knee.Range/100] {
		t.Errorf("%v, knee %+v", eps, knee)
	}
	few := ladder(t, curve, knee.Index-knee.Range/2)
	if len(few) < 5 || len(few) > 6 || few[0] != knee.Eps || !slices.Equal(few, eps[:len(few)]) {
		t.Errorf("%v of %v", few, eps)
	}
	if only := ladder(t, curve, 1999); !slices.Equal(only, eps[:1]) {
		t.Errorf("%v, want the knee", only)
	}
	short := values{9, 3, 2, 1.9, 1.8, 1.7, 1.6, 1.5}
	if got := ladder(t, short, 0); !slices.Equal(got, []float64{3, 9}) {
		t.Errorf("%v", got)
	}
	if got := ladder(t, values{1, 1, 1, 1, 1, 1}, 0); got != nil {
		t.Errorf("%v of a flat curve", got)
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(*refine.Bursts, *refine.Options)
	}{
		{"has no Eps", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].Eps = nil }},
		{"MinPts 0", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].MinPts = 0 }},
		{"3 points for 4 bursts", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].Points.Coords = b.Groups[0].Points.Coords[1:] }},
		{"burst 1 of 4 is out of range or in two groups", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].Rows[3] = 1 }},
		{"burst 4 of 4", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].Rows[3] = 4 }},
		{"Eps -1", func(b *refine.Bursts, _ *refine.Options) { b.Groups[0].Eps[0] = -1 }},
		{"thread 1 end at 1", func(b *refine.Bursts, _ *refine.Options) { b.Ends[1] = 1 }},
		{"last thread ends at burst 2 of 4", func(b *refine.Bursts, _ *refine.Options) { b.Ends = b.Ends[:1] }},
		{"anchors of 0 threads", func(b *refine.Bursts, _ *refine.Options) { b.Anchors = [][]sequence.Anchor{} }},
		{"freezing threshold NaN", func(_ *refine.Bursts, o *refine.Options) { o.Freeze = math.NaN() }},
		{"tolerance -1", func(_ *refine.Bursts, o *refine.Options) { o.Tolerance = -1 }},
	} {
		b := line(t, 2, []float64{.1}, 1, []float64{0, 1}, []float64{0, 1})
		var o refine.Options
		c.spoil(&b, &o)
		if _, err := refine.Run(b, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}
