package conclude

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	keeping "moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// byKinds are options by which kinds are found, and micro-cells that allow for it.
func byKinds() (grouping.Options, keeping.Config) {
	dims, _ := space.Parse("duration:log")
	return grouping.Options{Dims: dims, By: grouping.ByCalls, Workers: 2}, keeping.Config{Dims: dims, By: grouping.ByCalls, Kinds: true}
}

// Where bursts are kept on their nodes kinds are what they are when the bursts arrive as usual: of each burst, and in
// their description.
func TestCellsKinds(t *testing.T) {
	const ranks = 12
	r := planted(t, ranks, 60)
	for _, who := range []grouping.KindsBy{grouping.KindsByOrder, grouping.KindsByDensity} {
		o, config := byKinds()
		o.Kinds = who
		whole := func(int) bool { return true }
		keep := retention.Options{All: true}
		want, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), whole), Options: o, Keep: keep, Stages: stage.New(0)})
		if err != nil {
			t.Fatal(err)
		}
		want.Describe()
		f, agents := r.keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
		got, dir := concludeCells(t, f, agents, o, keep)
		if c := got.Manifest.Cells; c.RanksInFull != ranks || !c.Exact || c.BurstsMoved != 0 || c.BurstsAstray != 0 {
			t.Errorf("%+v", c)
		}
		for i := range want.Run.Threads {
			x, y := &want.Run.Threads[i].Bursts, &got.Run.Threads[i].Bursts
			if !slices.Equal(x.Cluster, y.Cluster) || !slices.Equal(x.Kind, y.Kind) || y.Kind == nil {
				t.Errorf("thread %d has other clusters or kinds", i)
			}
		}
		sameKinds(t, want.Clusters, got.Clusters)
		if x, y := want.Manifest, got.Manifest; len(x.Speed) != len(y.Speed) || x.Bursts != y.Bursts || x.ComputingSeconds != y.ComputingSeconds {
			t.Errorf("speeds %v, %d bursts of %v s: want %v, %d, %v", y.Speed, y.Bursts, y.ComputingSeconds, x.Speed, x.Bursts, x.ComputingSeconds)
		}
		if run, _, c, err := rundir.Read(dir); err != nil || len(run.Clusters) != len(want.Run.Clusters) || c.Refinement.Rules != "kinds" {
			t.Errorf("read back: %v, %+v", err, c.Refinement)
		}
	}
}

// sameKinds compares what clusters.json says.
func sameKinds(t *testing.T, x, y *rundir.Clusters) {
	t.Helper()
	close := func(a, b rundir.Number, off float64) bool {
		return math.IsNaN(float64(a)) && math.IsNaN(float64(b)) || math.Abs(float64(a-b)) <= off
	}
	if x.How != y.How || x.Refinement.Why != y.Refinement.Why || !close(x.Predicted, y.Predicted, 1e-9) || !close(x.Score, y.Score, .01) || !close(x.Shuffled, y.Shuffled, .03) {
		t.Errorf("%q, %q, predicted %v, score %v, shuffled %v: want %q, %q, %v, %v, %v", y.How, y.Refinement.Why, y.Predicted, y.Score, y.Shuffled, x.How, x.Refinement.Why, x.Predicted, x.Score, x.Shuffled)
	}
	numbers := cmp.Comparer(func(a, b rundir.Number) bool { return close(a, b, 1e-9*math.Abs(float64(a))) })
	if d := cmp.Diff(x.Refinement.Basins, y.Refinement.Basins, numbers); d != "" {
		t.Errorf("basins: %s", d)
	}
	if d := cmp.Diff(x.Refinement.Joins, y.Refinement.Joins, numbers); d != "" {
		t.Errorf("joins: %s", d)
	}
	if len(x.Clusters) != len(y.Clusters) {
		t.Fatalf("%d clusters, want %d", len(y.Clusters), len(x.Clusters))
	}
	for i := range x.Clusters {
		a, b := x.Clusters[i], y.Clusters[i]
		if a.Kind != b.Kind || a.DistinctBy != b.DistinctBy || a.Why != b.Why || a.DisturbedBursts != b.DisturbedBursts {
			t.Errorf("cluster %d: kind %d, %s, %q, %d disturbed, want %d, %s, %q, %d", a.ID, b.Kind, b.DistinctBy, b.Why, b.DisturbedBursts, a.Kind, a.DistinctBy, a.Why, a.DisturbedBursts)
		}
		if a.ID != b.ID || a.Bursts != b.Bursts || !close(a.Seconds, b.Seconds, 1e-3*float64(a.Seconds)) || !close(a.Share, b.Share, 1e-3) {
			t.Errorf("cluster %+v, want %+v", b, a)
		}
	}
}

// Ranks as totals only have those of their own clusters, and of the ranks in full each burst has its label, also where
// windows between others are gone.
func TestCellsKindsInSum(t *testing.T) {
	const ranks = 12
	r := planted(t, ranks, 60)
	o, config := byKinds()
	whole := func(int) bool { return true }
	all, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), whole), Options: o, Keep: retention.Options{All: true}, Stages: stage.New(0)})
	if err != nil {
		t.Fatal(err)
	}
	all.Describe()
	f, agents := r.keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
	for _, a := range agents {
		for process, messages := range a.held {
			a.held[process] = slices.Delete(messages, 2, 6) // the second window and the third
		}
	}
	got, _ := concludeCells(t, f, agents, o, retention.Options{Budget: units.Bytes(1 << 20), Outliers: -1})
	if c := got.Manifest.Cells; c.RanksInFull < 1 || c.RanksInFull == ranks || c.BurstsAstray != 0 {
		t.Fatalf("%+v", c)
	}
	sameKinds(t, all.Clusters, got.Clusters)
	seen := 0
	for i := range got.Run.Threads {
		x, y, at := &all.Run.Threads[i].Bursts, &got.Run.Threads[i].Bursts, 0
		for k, ns := range y.DurationNS {
			for x.DurationNS[at] != ns { // times are drawn
				at++
			}
			if seen++; y.Cluster[k] != x.Cluster[at] || y.Kind[k] != x.Kind[at] {
				t.Fatalf("thread %d, burst %d of %d: cluster %d, kind %d, want %d, %d", i, at, len(x.DurationNS), y.Cluster[k], y.Kind[k], x.Cluster[at], x.Kind[at])
			}
			at++
		}
	}
	if seen == 0 {
		t.Error("no burst was compared")
	}
}
