package dbscan_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
)

// After any prefix, in any order and any batches, the answer is that of the batch algorithm; ids are kept.
func TestIncrementalIsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := drawPoints(t, 4, 150)
		if !(eps > 1e-99 && eps < 1e99) {
			eps = .5
		}
		minPts := rapid.IntRange(1, 10).Draw(t, "minPts")
		x, err := dbscan.NewIncremental(p.Dims, eps, minPts)
		if err != nil {
			t.Fatal(err)
		}
		var clusterOf []int32 // id per point after the last batch
		for done := 0; done < p.Len(); {
			size := rapid.IntRange(1, p.Len()-done).Draw(t, "batch")
			batch := dbscan.Points{Dims: p.Dims, Coords: p.Coords[done*p.Dims : (done+size)*p.Dims]}
			if err := x.Insert(batch); err != nil {
				var far *dbscan.RangeError
				if errors.As(err, &far) && x.Len() == done {
					return // nothing was added
				}
				t.Fatal(err)
			}
			done += size
			prefix := dbscan.Points{Dims: p.Dims, Coords: p.Coords[:done*p.Dims]}
			got, ids := x.Result()
			if err := sameResult(got, reference(prefix, eps, minPts)); err != nil {
				t.Fatalf("after %d points: %v", done, err)
			}
			clusterOf = checkIDs(t, got, ids, clusterOf)
		}
	})
}

// checkIDs checks that points that were core keep their cluster's id, but where an older cluster has
// taken it in: then all of that id have changed to the same one, and it is smaller.
func checkIDs(t interface{ Fatalf(string, ...any) }, r *dbscan.Result, ids, before []int32) []int32 {
	if len(ids) != r.Clusters {
		t.Fatalf("%d ids for %d clusters", len(ids), r.Clusters)
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != r.Clusters {
		t.Fatalf("ids %v are not different", ids)
	}
	now := make([]int32, len(r.Labels))
	for i, label := range r.Labels {
		now[i] = dbscan.Noise
		if r.Core[i] {
			now[i] = ids[label]
		}
	}
	became := map[int32]int32{}
	for i, id := range before {
		if id == dbscan.Noise {
			continue
		}
		if was, ok := became[id]; ok && was != now[i] || now[i] > id || now[i] == dbscan.Noise {
			t.Fatalf("point %d was in cluster %d, is in %d; others of it are in %d", i, id, now[i], was)
		}
		became[id] = now[i]
	}
	return now
}

// Many points, of which most fall into quiet and interior cells, in batches of all sizes.
func TestIncrementalOfManyPoints(t *testing.T) {
	for _, c := range []struct {
		dims int
		eps  float64
	}{{1, 2e-4}, {2, .006}, {3, .02}, {4, .03}} {
		t.Run(fmt.Sprintf("%dD", c.dims), func(t *testing.T) {
			p := burstLike(40_000, c.dims)
			x, err := dbscan.NewIncremental(c.dims, c.eps, 10)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(3, 4))
			var ids []int32
			for done := 0; done < p.Len(); {
				size := min(p.Len()-done, 1+random.IntN(9000))
				if err := x.Insert(dbscan.Points{Dims: c.dims, Coords: p.Coords[done*c.dims : (done+size)*c.dims]}); err != nil {
					t.Fatal(err)
				}
				done += size
				want, err := dbscan.Cluster(dbscan.Points{Dims: c.dims, Coords: p.Coords[:done*c.dims]}, c.eps, 10, 2)
				if err != nil {
					t.Fatal(err)
				}
				got, now := x.Result()
				if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Core, want.Core) || got.Clusters != want.Clusters {
					t.Fatalf("after %d points: another answer than that of Cluster", done)
				}
				if want.Clusters < 3 {
					t.Fatalf("%d clusters; these points should show more", want.Clusters)
				}
				ids = checkIDs(t, got, now, ids)
			}
		})
	}
}

// Points that stand for several, and for more and more, are as many points.
func TestWeightedIncrementalIsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := drawPoints(t, 4, 60)
		if !(eps > 1e-99 && eps < 1e99) {
			eps = .5
		}
		minPts := rapid.IntRange(1, 12).Draw(t, "minPts")
		x, err := dbscan.NewWeightedIncremental(p.Dims, eps, minPts)
		if err != nil {
			t.Fatal(err)
		}
		at := func(i int) []float64 { return p.Coords[i*p.Dims : (i+1)*p.Dims] }
		weights := []int64{}
		var clusterOf []int32
		for len(weights) < p.Len() {
			if n := len(weights); n > 0 && rapid.Bool().Draw(t, "grow") {
				row, by := rapid.IntRange(0, n-1).Draw(t, "row"), rapid.Int64Range(1, 6).Draw(t, "by")
				if err := x.Grow(row, at(row), by); err != nil {
					t.Fatal(err)
				}
				weights[row] += by
			} else {
				more := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, min(9, p.Len()-n)).Draw(t, "weights")
				batch := dbscan.Points{Dims: p.Dims, Coords: p.Coords[n*p.Dims : (n+len(more))*p.Dims]}
				if err := x.InsertWeighted(batch, more); err != nil {
					var far *dbscan.RangeError
					if errors.As(err, &far) && x.Len() == n {
						return
					}
					t.Fatal(err)
				}
				weights = append(weights, more...)
			}
			all, first := repeated(p, weights)
			want := reference(all, eps, minPts)
			got, ids := x.Result()
			for i, k := range first {
				if got.Labels[i] != want.Labels[k] || got.Core[i] != want.Core[k] {
					t.Fatalf("weights %v: place %d has label %d, core %v; want %d, %v", weights, i, got.Labels[i], got.Core[i], want.Labels[k], want.Core[k])
				}
			}
			if got.Clusters != want.Clusters {
				t.Fatalf("%d clusters, want %d", got.Clusters, want.Clusters)
			}
			clusterOf = checkIDs(t, got, ids, clusterOf)
		}
	})
}

// Places of a fine lattice, most of them in cells that settle, which go on growing.
func TestWeightedIncrementalOfManyPoints(t *testing.T) {
	for dims, eps := range map[int]float64{1: 5e-4, 2: .02, 3: .03} {
		t.Run(fmt.Sprintf("%dD", dims), func(t *testing.T) {
			side := eps / 16
			p := burstLike(40_000, dims)
			for i := range p.Coords {
				p.Coords[i] = (math.Floor(p.Coords[i]/side) + .5) * side
			}
			x, err := dbscan.NewWeightedIncremental(dims, eps, 30)
			if err != nil {
				t.Fatal(err)
			}
			rows := make(map[[3]float64]int)
			of := make([]int, p.Len())
			for i := range of {
				at := p.Coords[i*dims : (i+1)*dims]
				var place [3]float64
				copy(place[:], at)
				row, known := rows[place]
				if known {
					err = x.Grow(row, at, 1)
				} else {
					row = len(rows)
					rows[place] = row
					err = x.Insert(dbscan.Points{Dims: dims, Coords: at})
				}
				if err != nil {
					t.Fatal(err)
				}
				of[i] = row
				if i%9999 != 0 {
					continue
				}
				want, err := dbscan.Cluster(dbscan.Points{Dims: dims, Coords: p.Coords[:(i+1)*dims]}, eps, 30, 2)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := x.Result()
				for k := range want.Labels {
					if want.Labels[k] != got.Labels[of[k]] || want.Core[k] != got.Core[of[k]] {
						t.Fatalf("after %d points: point %d has another label than with Cluster", i+1, k)
					}
				}
				if i > 0 && want.Clusters < 3 {
					t.Fatalf("%d clusters; these points should show more", want.Clusters)
				}
			}
		})
	}
}

func TestWeightedIncrementalMistakes(t *testing.T) {
	plain, err := dbscan.NewIncremental(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := dbscan.NewWeightedIncremental(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := dbscan.Points{Dims: 1, Coords: []float64{1, 2}}
	if err := plain.Insert(p); err != nil {
		t.Fatal(err)
	}
	if err := x.InsertWeighted(p, []int64{1, 1 << 40}); err != nil {
		t.Fatal(err)
	}
	_, notOne := dbscan.NewWeightedIncremental(9, 1, 1)
	for want, err := range map[string]error{
		"9 dimensions":                  notOne,
		"weights for points without":    plain.InsertWeighted(p, []int64{1, 1}),
		"no point 0 has a weight":       plain.Grow(0, p.Coords[:1], 1),
		"1 weights for 2 points":        x.InsertWeighted(p, []int64{1}),
		"row 1 has weight 0":            x.InsertWeighted(p, []int64{1, 0}),
		"no point 2 has":                x.Grow(2, p.Coords[:1], 1),
		"no point -1 has":               x.Grow(-1, p.Coords[:1], 1),
		"point 1 grows by 0":            x.Grow(1, p.Coords[1:], 0),
		"point 1 of 2 dimensions among": x.Grow(1, p.Coords, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
	if x.Len() != 2 {
		t.Errorf("bad calls left %d points", x.Len())
	}
}

func TestIncrementalMistakes(t *testing.T) {
	for _, c := range []struct {
		dims   int
		eps    float64
		minPts int
		want   string
	}{
		{0, 1, 1, "0 dimensions"}, {5, 1, 1, "5 dimensions: want 1 to 4"}, {2, 0, 1, "Eps 0"}, {2, -1, 1, "Eps -1"},
		{2, math.NaN(), 1, "Eps NaN"}, {2, math.Inf(1), 1, "Eps +Inf"}, {2, 1e-300, 1, "Eps 1e-300"}, {2, 1, 0, "MinPts 0"},
		{2, 1, math.MaxInt32 + 1, "MinPts 2147483648: want at most"},
	} {
		if _, err := dbscan.NewIncremental(c.dims, c.eps, c.minPts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	x, err := dbscan.NewIncremental(2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	insert := func(dims int, coords ...float64) error {
		return x.Insert(dbscan.Points{Dims: dims, Coords: coords})
	}
	if r, ids := x.Result(); len(r.Labels) != 0 || r.Clusters != 0 || len(ids) != 0 {
		t.Errorf("no points: %+v %v", r, ids)
	}
	if err := insert(2); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
	var notFinite *dbscan.NotFiniteError
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := insert(2, 1, 2, 3, v); !errors.As(err, &notFinite) || notFinite.Row != 1 || notFinite.Dim != 1 {
			t.Errorf("%v at first: %v", v, err)
		}
	}
	if err := insert(2, 5, 5); err != nil {
		t.Fatal(err)
	}
	if err := insert(2, 1, 2, 3, math.NaN()); !errors.As(err, &notFinite) || notFinite.Row != 1 {
		t.Errorf("NaN later: %v", err)
	}
	var far *dbscan.RangeError
	if err := insert(2, 6, 6, 5, 1e9); !errors.As(err, &far) || !strings.Contains(err.Error(), "row 1, dimension 1: 1e+09") || far.Row != 1 || far.Dim != 1 || far.Value != 1e9 {
		t.Errorf("too far: %v", err)
	}
	if err := insert(3, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "3 dimensions among points of 2") {
		t.Errorf("3-D: %v", err)
	}
	if err := insert(2, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "whole number of rows") {
		t.Errorf("half a row: %v", err)
	}
	if r, _ := x.Result(); x.Len() != 1 || len(r.Labels) != 1 || r.Clusters != 1 {
		t.Errorf("bad batches left %d points, %+v", x.Len(), r)
	}
}
