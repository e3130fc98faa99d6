package grouping_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	"moriens/analysis/space"
)

// perThread puts bursts of n threads together: of every kind count each in turn, where the second half of the threads
// is quicker by a third in the first kind.
func perThread(n, count int, kinds ...float64) grouping.Bursts {
	var b grouping.Bursts
	for thread := range n {
		for i := range count {
			for k, ns := range kinds {
				if k == 0 && thread >= n/2 {
					ns /= 1.5
				}
				b.DurationNS = append(b.DurationNS, int64(ns*(1+.001*float64(i%10))))
				b.Before = append(b.Before, uint32(k+1))
				b.After = append(b.After, uint32(k+2))
			}
		}
		b.ThreadEnds = append(b.ThreadEnds, len(b.DurationNS))
	}
	return b
}

func TestScores(t *testing.T) {
	b := perThread(4, 50, 1e6, 3e6)
	r := compute(t, b, grouping.Options{Dims: logDuration})
	// The first kind is two clusters, each on half of the threads: distinguished by more than the resolution.
	want := (2.5e6/3*.5 + 3e6) / (2.5e6/3 + 3e6)
	if len(r.Clusters) != 3 || math.Abs(r.Score-want) > 1e-6 || r.Clusters[0].Score != 1 || r.Clusters[1].Score != .5 || !math.IsNaN(r.NoiseScore) {
		t.Errorf("score %v, want %v; noise %v; %+v", r.Score, want, r.NoiseScore, r.Clusters)
	}
	if len(r.Tree.Merged) != 1 || len(r.Tree.Levels) != 1 || r.Tree.Why != "density proposes 3 clusters, order leaves 3 kinds" {
		t.Errorf("%+v", r.Tree)
	}
	b.ThreadEnds = nil
	if r := compute(t, b, grouping.Options{Dims: logDuration}); !math.IsNaN(r.Score) || !math.IsNaN(r.Clusters[0].Score) {
		t.Errorf("score %v without threads", r.Score)
	}
	b.ThreadEnds = []int{len(b.DurationNS)}
	if r := compute(t, b, grouping.Options{Dims: logDuration}); !math.IsNaN(r.Score) || len(r.Clusters) != 3 {
		t.Errorf("score %v of one thread", r.Score)
	}
}

// A given density is not refined, but scored.
func TestFixedIsNotRefined(t *testing.T) {
	b := perThread(4, 50, 1e6, 3e6)
	r := compute(t, b, grouping.Options{Dims: logDuration, By: grouping.ByNone, Fixed: &grouping.Density{Eps: .5, MinPts: 4}})
	if len(r.Clusters) != 2 || r.Score != 1 || len(r.Tree.Levels) != 1 {
		t.Errorf("%d clusters, score %v", len(r.Clusters), r.Score)
	}
}

// The clusters of the result are those of the chosen steps, and the groups of the tree those of the result.
func TestTreeFitsTheResult(t *testing.T) {
	for seed := range uint64(10) {
		b := planted(3000, 3, seed)
		b.ThreadEnds = []int{1000, 2000, 3000}
		r := compute(t, b, grouping.Options{Dims: logDuration, Resolution: -1, Workers: 2})
		if len(r.Tree.Chosen) != len(r.Groups) {
			t.Fatalf("%d groups, of the tree %d", len(r.Groups), len(r.Tree.Chosen))
		}
		for _, c := range r.Clusters {
			level := r.Tree.Levels[r.Tree.Chosen[c.Group]]
			i := slices.IndexFunc(level.Nodes, func(n refine.Node) bool { return n.ID == c.Node })
			if i < 0 {
				t.Fatalf("cluster %d is no node %d", c.ID, c.Node)
			}
			if n := level.Nodes[i]; n.Group != c.Group || n.Bursts != c.Bursts || n.TimeNS != c.TimeNS || n.Eps != c.Eps || n.MinPts != c.MinPts {
				t.Errorf("cluster %+v is node %+v", c, n)
			}
		}
		for i, g := range r.Groups {
			if eps := r.Tree.Levels[r.Tree.Chosen[i]].Eps[i]; eps != g.Eps || (g.From == grouping.FromKnee) != (g.Eps == g.Knee) {
				t.Errorf("group %+v, Eps of the tree %v", g, eps)
			}
		}
	}
}

func TestStrict(t *testing.T) {
	dims, err := space.Parse("PAPI_TOT_INS:log,IPC")
	if err != nil {
		t.Fatal(err)
	}
	b := withCounters(planted(2400, 1, 1))
	b.ThreadEnds = []int{1200, 2400}
	o, _ := grouping.Options{Dims: dims, By: grouping.ByAuto, Strict: true, JobThreads: 16}.Choose(b.CounterNames)
	if o.By != grouping.ByNone || !o.Normalise || o.Floor() != 0 {
		t.Errorf("%+v", o)
	}
	r := compute(t, b, o)
	if g := r.Groups[0]; g.MinPts != 4 || g.Knee == 0 || r.Tree.Levels[0].Eps[0] != g.Knee {
		t.Errorf("%+v", g)
	}
	if last := len(r.Tree.Levels) - 1; r.Tree.Chosen[0] != last {
		t.Errorf("chosen %v of %d", r.Tree.Chosen, last)
	}
	for _, c := range []struct {
		o    grouping.Options
		want string
	}{
		{grouping.Options{Dims: dims, Strict: true, Fixed: &grouping.Density{Eps: 1, MinPts: 1}}, "strict"},
		{grouping.Options{Dims: dims, Freeze: 2}, "freezing threshold 2"},
		{grouping.Options{Dims: dims, Freeze: math.NaN()}, "freezing threshold NaN"},
	} {
		if _, err := grouping.Compute(b, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}
