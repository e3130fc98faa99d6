package refine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
)

// place puts the points of bursts on a grid, so that many are at one place.
func place(t *rapid.T, b refine.Bursts) refine.Bursts {
	side := rapid.SampledFrom([]float64{.005, .02, .1}).Draw(t, "side")
	for i := range b.Groups {
		g := &b.Groups[i]
		g.Index = nil
		for k := range g.Points.Coords {
			g.Points.Coords[k] = side * math.Round(g.Points.Coords[k]/side)
		}
	}
	return b
}

// weigh makes one row of all bursts of a group at one place; of says for each burst which.
func weigh(b refine.Bursts) (w refine.Bursts, of []int32) {
	w = refine.Bursts{Groups: make([]refine.Group, len(b.Groups))}
	group, point := make([]int, len(b.DurationNS)), make([]float64, len(b.DurationNS))
	for i := range group {
		group[i] = -1
	}
	for i, g := range b.Groups {
		w.Groups[i] = refine.Group{Points: dbscan.Points{Dims: 1}, Weights: []int64{}, Eps: g.Eps, MinPts: g.MinPts}
		for k, row := range g.Rows {
			group[row], point[row] = i, g.Points.Coords[k]
		}
	}
	for row, ns := range b.DurationNS {
		at := -1
		if group[row] >= 0 {
			g := &w.Groups[group[row]]
			if at = slices.Index(g.Points.Coords, point[row]); at < 0 {
				at = len(g.Rows)
				g.Rows = append(g.Rows, int32(len(w.DurationNS)))
				g.Points.Coords, g.Weights = append(g.Points.Coords, point[row]), append(g.Weights, 0)
				w.DurationNS = append(w.DurationNS, 0)
			}
			g.Weights[at]++
			of = append(of, g.Rows[at])
		} else {
			of = append(of, int32(len(w.DurationNS)))
			w.DurationNS = append(w.DurationNS, 0)
		}
		w.DurationNS[of[row]] += ns
	}
	w.Score = func(labels []int32, count int) (*sequence.Score, error) {
		if len(labels) != len(w.DurationNS) {
			return nil, fmt.Errorf("%d labels for %d rows", len(labels), len(w.DurationNS))
		}
		in := sequence.Threads{Count: count}
		begin := 0
		for _, end := range b.Ends {
			for row := begin; row < end; row++ {
				if label := labels[of[row]]; label != refine.Absent {
					in.Labels, in.DurationNS = append(in.Labels, label), append(in.DurationNS, b.DurationNS[row])
				}
			}
			in.Ends = append(in.Ends, len(in.Labels))
			begin = end
		}
		return sequence.Align(in, 1)
	}
	return w, of
}

// ownClustering has a group cluster the points that its rows stand for, one by one.
func ownClustering(g *refine.Group) {
	points, weights := g.Points, g.Weights
	g.Points = dbscan.Points{}
	g.Cluster = func(at []int32, eps float64, minPts int) ([]int32, int, error) {
		all := dbscan.Points{Dims: 1}
		for _, i := range at {
			all.Coords = append(all.Coords, slices.Repeat([]float64{points.Coords[i]}, int(weights[i]))...)
		}
		r, err := dbscan.Cluster(all, eps, minPts, 1)
		if err != nil {
			return nil, 0, err
		}
		var labels []int32
		next := 0
		for _, i := range at {
			labels = append(labels, r.Labels[next])
			next += int(weights[i])
		}
		return labels, r.Clusters, nil
	}
}

// Rows that stand for several bursts come to what these come to.
func TestWeightsAreRepetitions(t *testing.T) {
	several := 0
	property := func(t *rapid.T) {
		b, o := place(t, drawBursts(t)), drawOptions(t)
		want := run(t, b, o)
		w, of := weigh(b)
		for i := range w.Groups {
			if rapid.Bool().Draw(t, "of its own") {
				ownClustering(&w.Groups[i])
			}
		}
		got := run(t, w, o)
		for row, at := range of {
			if got.Labels[at] != want.Labels[row] || got.Lineage[at] != want.Lineage[row] {
				t.Fatalf("burst %d: label %d and lineage %d, want %d and %d", row, got.Labels[at], got.Lineage[at], want.Labels[row], want.Lineage[row])
			}
		}
		if g, w := fmt.Sprintf("%+v %+v %+v", got.Nodes, *got.Score, got.Tree), fmt.Sprintf("%+v %+v %+v", want.Nodes, *want.Score, want.Tree); g != w {
			t.Fatalf("%s\nof the bursts themselves:\n%s", g, w)
		}
		if len(w.DurationNS) < len(b.DurationNS) && len(got.Tree.Levels) > 1 {
			several++
		}
	}
	// Chance may draw as few as a short test takes without such a refinement.
	for try := 0; several == 0 && try < 100; try++ {
		rapid.Check(t, property)
	}
	if several == 0 {
		t.Error("no refinement had steps and rows for several bursts")
	}
}

// Weights alone, without any order of the bursts, are a refinement without a score.
func TestWeightsWithoutScore(t *testing.T) {
	g := refine.Group{
		Rows: []int32{0, 1, 2}, Points: dbscan.Points{Dims: 1, Coords: []float64{0, .01, 7}}, Eps: []float64{.1, 1}, MinPts: 10, Weights: []int64{6, 5, 9},
	}
	r := run(t, refine.Bursts{DurationNS: []int64{60, 50, 90}, Groups: []refine.Group{g}}, refine.Options{})
	want := refine.Node{ID: 1, Eps: .1, MinPts: 10, Bursts: 11, TimeNS: 110, Score: math.NaN()}
	if len(r.Nodes) != 1 || fmt.Sprint(r.Nodes[0]) != fmt.Sprint(want) || !slices.Equal(r.Labels, []int32{1, 1, refine.Noise}) {
		t.Errorf("%+v, want %+v; labels %v", r.Nodes, want, r.Labels)
	}
	if noise := r.Tree.Levels[0].Nodes[0]; noise.Bursts != 9 || noise.TimeNS != 90 {
		t.Errorf("noise %+v", noise)
	}
	g.MinPts = 21 // more than there are
	if r := run(t, refine.Bursts{DurationNS: []int64{60, 50, 90}, Groups: []refine.Group{g}}, refine.Options{}); len(r.Nodes) != 1 || r.Nodes[0].Bursts != 20 {
		t.Errorf("%+v", r.Nodes)
	}
}

func TestBadWeights(t *testing.T) {
	broken := errors.New("broken")
	good := func([]int32, float64, int) ([]int32, int, error) { return []int32{0, 1, 0, dbscan.Noise}, 2, nil }
	for _, c := range []struct {
		want  string
		spoil func(*refine.Bursts)
	}{
		{"group 0 has 3 weights for 4 rows", func(b *refine.Bursts) { b.Groups[0].Weights = []int64{1, 1, 1} }},
		{"the weight 0 for row 2", func(b *refine.Bursts) { b.Groups[0].Weights[2] = 0 }},
		{"for row 3: want at least 1, and all together at most", func(b *refine.Bursts) { b.Groups[0].Weights[0] = 1<<48 - 2 }},
		{"want one of them", func(b *refine.Bursts) { b.Ends = []int{2, 4} }},
		{"broken", func(b *refine.Bursts) {
			b.Score = func([]int32, int) (*sequence.Score, error) { return nil, broken }
		}},
		{"the score is of 0 labels: want 3", func(b *refine.Bursts) {
			b.Score = func([]int32, int) (*sequence.Score, error) { return &sequence.Score{}, nil }
		}},
		{"broken", func(b *refine.Bursts) {
			b.Groups[0].Cluster = func([]int32, float64, int) ([]int32, int, error) { return nil, 0, broken }
		}},
		{"gives 2 labels to 4 rows", func(b *refine.Bursts) {
			b.Groups[0].Cluster = func([]int32, float64, int) ([]int32, int, error) { return []int32{0, 0}, 1, nil }
		}},
		{"gives row 1 the label 1: want -1, or one below 1", func(b *refine.Bursts) {
			b.Groups[0].Cluster = func([]int32, float64, int) ([]int32, int, error) { return []int32{0, 1, 0, 0}, 1, nil }
		}},
		{"gives row 3 the label -2", func(b *refine.Bursts) {
			b.Groups[0].Cluster = func([]int32, float64, int) ([]int32, int, error) { return []int32{0, 0, 0, -2}, 1, nil }
		}},
	} {
		b := line(t, 2, []float64{.1}, 1, []float64{0, 1}, []float64{0, 1})
		b.Ends = nil
		b.Groups[0].Weights, b.Groups[0].Cluster = []int64{1, 1, 1, 1}, good
		b.Score = func(_ []int32, count int) (*sequence.Score, error) {
			return &sequence.Score{Global: math.NaN(), Labels: make([]sequence.LabelScore, count)}, nil
		}
		if _, err := refine.Run(b, refine.Options{}); err != nil {
			t.Fatal(err)
		}
		c.spoil(&b)
		if _, err := refine.Run(b, refine.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}
