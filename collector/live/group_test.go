package live

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// options have a floor of that Eps.
func options(dims int, floor float64) grouping.Options {
	if floor == 0 {
		floor = -1
	}
	return grouping.Options{Dims: make([]space.Dim, dims), Resolution: floor}
}

// one is a burst that stands for itself.
func one(ns int64) amount { return amount{1, stand{1, ns}} }

// After any batches the clusters are those of all bursts at their places, with the density that is chosen.
func TestGroupIsTheBatchAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 6).Draw(t, "dims")
		floor := rapid.SampledFrom([]float64{0, .05, .1}).Draw(t, "floor")
		o := options(dims, floor)
		switch rapid.IntRange(0, 3).Draw(t, "density") {
		case 0:
			o.Fixed = &grouping.Density{Eps: rapid.SampledFrom([]float64{0, .1, 1}).Draw(t, "eps"), MinPts: rapid.IntRange(1, 9).Draw(t, "fixed")}
			floor = o.Fixed.Eps
		case 1:
			o.MinPts = rapid.IntRange(1, 9).Draw(t, "minPts")
		}
		far := rapid.IntRange(0, 9).Draw(t, "far") == 0
		kinds := rapid.IntRange(1, 4).Draw(t, "kinds")
		spread := rapid.SampledFrom([]float64{.01, .1, 1}).Draw(t, "spread")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		g := newGroup(calls{}, dims, floor/placesPerEps)
		var lastID int32
		var bursts int64
		threads := 1
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			threads += rapid.IntRange(0, 20).Draw(t, "threads")
			for range rapid.IntRange(0, 60).Draw(t, "bursts") {
				at := make([]float64, dims)
				kind := float64(random.IntN(kinds))
				for j := range at {
					at[j] = 3*kind + spread*random.NormFloat64()
					if far && random.IntN(30) == 0 {
						at[j] *= 1e9
					}
				}
				g.add(at, one(1+random.Int64N(1000)))
				bursts++
			}
			if err := g.cluster(densityOptions{&o, threads}, 0, &lastID); err != nil {
				t.Fatal(err)
			}
			if g.bursts != bursts {
				t.Fatalf("%d bursts, want %d", g.bursts, bursts)
			}
			checkGroup(t, g, o.Fixed == nil && floor > 0, floor)
		}
	})
}

// checkGroup compares the clusters of a group with those of its bursts, one by one at their places.
func checkGroup(t *rapid.T, g *group, ladder bool, floor float64) {
	t.Helper()
	all := dbscan.Points{Dims: g.dims}
	var place []int32
	for i := range g.keys {
		for range g.count[i] {
			all.Coords = append(all.Coords, g.at(int32(i))...)
			place = append(place, int32(i))
		}
	}
	if len(place) == 0 {
		return
	}
	if len(place) < g.minPts {
		if len(g.clusters) != 1 || g.clusters[0].Bursts != int64(len(place)) {
			t.Fatalf("a rare group has the clusters %+v", g.clusters)
		}
		return
	}
	if _, fraction := math.Modf(math.Log2(g.eps / floor)); ladder && (fraction != 0 || g.eps < floor) {
		t.Fatalf("Eps %v is not on the ladder from %v", g.eps, floor)
	}
	want, err := dbscan.Cluster(all, g.eps, g.minPts, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.clusters) != want.Clusters {
		t.Fatalf("%d clusters, want %d", len(g.clusters), want.Clusters)
	}
	sums := make([]Cluster, want.Clusters)
	for i, label := range want.Labels {
		id := int32(0)
		if label != dbscan.Noise {
			sums[label].Bursts++
			id = g.clusters[label].ID
		}
		if g.id[place[i]] != id {
			t.Fatalf("place %d has the id %d, want %d", place[i], g.id[place[i]], id)
		}
	}
	seen := make(map[int32]bool)
	for k, c := range g.clusters {
		if c.Bursts != sums[k].Bursts || c.kept != c.Bursts || c.ID == 0 || seen[c.ID] {
			t.Fatalf("cluster %+v, want %d bursts and an id of its own", c, sums[k].Bursts)
		}
		seen[c.ID] = true
	}
}

// A burst of a sample that stands for many is no cluster by itself, however small MinPts is; several in one place are,
// with all that they stand for, also where they arrive one by one.
func TestSampledBurstsWeigh(t *testing.T) {
	o := options(1, .1)
	o.Fixed = &grouping.Density{Eps: .1, MinPts: 8}
	g := newGroup(calls{}, 1, .1/placesPerEps)
	var lastID int32
	stands := amount{1, stand{100, 5000}}
	for i := range 20 {
		g.add([]float64{float64(i)}, stands)
	}
	for i := range leastSampled {
		if err := g.cluster(densityOptions{&o, 1}, 0, &lastID); err != nil {
			t.Fatal(err)
		}
		if len(g.clusters) != 0 {
			t.Fatalf("with %d bursts at a place: clusters %+v", i, g.clusters)
		}
		g.add([]float64{100 + .01*float64(i%2)}, stands)
	}
	if err := g.cluster(densityOptions{&o, 1}, 0, &lastID); err != nil {
		t.Fatal(err)
	}
	if len(g.clusters) != 1 || g.clusters[0].Bursts != 100*leastSampled || g.clusters[0].TimeNS != 5000*leastSampled {
		t.Errorf("clusters %+v", g.clusters)
	}
	few := newGroup(calls{}, 1, .1/placesPerEps)
	for i := range leastSampled - 1 {
		few.add([]float64{float64(i)}, stands)
	}
	if err := few.cluster(densityOptions{&o, 1}, 0, &lastID); err != nil {
		t.Fatal(err)
	}
	if len(few.clusters) != 1 || few.clusters[0].Bursts != 100*(leastSampled-1) {
		t.Errorf("clusters of a few %+v", few.clusters)
	}
}

// Three kinds keep their ids through any number of bursts, while MinPts and Eps change, and take little memory.
func TestIDsAreKept(t *testing.T) {
	o := options(2, .02)
	g := newGroup(calls{7, 8}, 2, .02/placesPerEps)
	random := rand.New(rand.NewPCG(5, 6))
	var lastID int32
	minPts := make(map[int]bool)
	for batch := range 60 {
		for range 5000 {
			kind := random.IntN(3)
			x := float64(kind) + .004*random.NormFloat64()
			g.add([]float64{x, -x}, one(int64(1000*(3-kind))))
		}
		if err := g.cluster(densityOptions{&o, 2}, 0, &lastID); err != nil {
			t.Fatal(err)
		}
		minPts[g.minPts] = true
		got := make(map[int32]int)
		for _, k := range g.clusters {
			got[k.ID] = int(math.Round(float64(k.TimeNS) / float64(k.Bursts) / 1000))
			if k.Before != 7 || k.After != 8 {
				t.Errorf("%+v", k)
			}
		}
		if want := map[int32]int{1: 3, 2: 2, 3: 1}; !maps.Equal(got, want) {
			t.Fatalf("after %d batches: kinds by id %v, want %v (Eps %v, MinPts %d)", batch+1, got, want, g.eps, g.minPts)
		}
	}
	if len(minPts) < 4 {
		t.Errorf("MinPts %v only", slices.Sorted(maps.Keys(minPts)))
	}
	if len(g.keys) > 2000 {
		t.Errorf("%d places for 300,000 bursts of three kinds", len(g.keys))
	}
}

// A cluster that falls apart leaves its id to the larger part; where clusters merge the id of the larger one is kept.
func TestIdentify(t *testing.T) {
	g := newGroup(calls{}, 1, 1)
	for i, ns := range []int64{10, 30, 5, 7, 100} {
		g.add([]float64{float64(i) + .5}, one(ns))
	}
	lastID := int32(0)
	for _, c := range []struct {
		labels []int32
		want   []int32
	}{
		{[]int32{0, 0, 1, 2, -1}, []int32{1, 1, 3, 2, 0}}, // the first ids go by time
		{[]int32{0, 1, 1, 2, -1}, []int32{4, 1, 1, 2, 0}}, // 30 of the first and 5 of the third: the first
		{[]int32{0, 0, 0, 0, 1}, []int32{1, 1, 1, 1, 5}},  // all but one merge
		{[]int32{-1, -1, -1, 0, 1}, []int32{0, 0, 0, 1, 5}},
	} {
		g.describe(c.labels, int(slices.Max(c.labels))+1, &lastID)
		if !slices.Equal(g.id, c.want) {
			t.Fatalf("labels %v: ids %v, want %v", c.labels, g.id, c.want)
		}
	}
}

// Places remain few where bursts are everywhere, and none is lost.
func TestPlacesAreBounded(t *testing.T) {
	for _, side := range []float64{0, 1. / 1024} {
		t.Run(fmt.Sprint(side), func(t *testing.T) {
			g := newGroup(calls{}, 2, side)
			random := rand.New(rand.NewPCG(1, 1))
			const n = 150_000
			for range n {
				g.add([]float64{random.Float64(), random.Float64()}, one(2))
			}
			if len(g.keys) > mostPlaces || g.side <= side {
				t.Fatalf("%d places of side %v", len(g.keys), g.side)
			}
			o := options(2, side*placesPerEps)
			o.MinPts = 4
			var lastID int32
			if err := g.cluster(densityOptions{&o, 1}, 0, &lastID); err != nil {
				t.Fatal(err)
			}
			if len(g.clusters) != 1 || g.clusters[0].Bursts != n || g.clusters[0].TimeNS != 2*n || g.eps < 4*g.side {
				t.Fatalf("Eps %v, side %v: %d clusters", g.eps, g.side, len(g.clusters))
			}
		})
	}
}

// Places of twice the side are those that the bursts themselves give.
func TestWidenedPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dims")
		from := rapid.SampledFrom([]float64{0, .25}).Draw(t, "side")
		got, want := newPlaces(dims, from), newPlaces(dims, .5)
		for range rapid.IntRange(1, 50).Draw(t, "bursts") {
			at := make([]float64, dims)
			for j := range at {
				at[j] = rapid.Float64Range(-3, 3).Draw(t, "x")
			}
			got.add(got.key(at), one(3), 0)
			want.add(want.key(at), one(3), 0)
		}
		got = got.widened(.5)
		if !slices.Equal(got.keys, want.keys) || !slices.Equal(got.coords, want.coords) || !slices.Equal(got.count, want.count) || !slices.Equal(got.timeNS, want.timeNS) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func TestRung(t *testing.T) {
	for _, c := range []struct{ knee, floor, eps, want float64 }{
		{0, .1, 0, .1}, {.05, .1, 0, .1}, {.13, .1, 0, .1}, {.15, .1, 0, .2}, {1.6, .1, 0, 1.6},
		{.19, .1, .1, .1}, {.21, .1, .1, .2}, {.11, .1, .2, .2}, {.09, .1, .2, .1}, {0, .1, .1, .1},
		{0, 0, 0, 0}, {3, 0, 0, 4}, {3, 0, 2, 2}, {.3, 0, 2, .25}, {0, 0, 2, 0},
	} {
		if got := rung(c.knee, c.floor, c.eps); got != c.want {
			t.Errorf("knee %v, floor %v, Eps %v: %v, want %v", c.knee, c.floor, c.eps, got, c.want)
		}
	}
}
