package dbscan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
)

// reference is DBSCAN as the package comment defines it, with all n² distances and nothing clever.
func reference(p dbscan.Points, eps float64, minPts int) *dbscan.Result {
	n := p.Len()
	at := func(i int) []float64 { return p.Coords[i*p.Dims : (i+1)*p.Dims] }
	near := make([][]bool, n)
	part, exponent := math.Frexp(eps)
	r := &dbscan.Result{Labels: make([]int32, n), Core: make([]bool, n)}
	for i := range n {
		near[i] = make([]bool, n)
		neighbours := 0
		for j := range n {
			sum := 0.0
			for d := range p.Dims {
				diff := at(i)[d] - at(j)[d]
				if eps > 0 {
					diff = math.Ldexp(diff, -exponent)
				} else if diff != 0 {
					diff = 1
				}
				sum += float64(diff * diff)
			}
			if sum <= part*part {
				near[i][j] = true
				neighbours++
			}
		}
		r.Core[i] = neighbours >= minPts
	}
	// Taking core points in lexicographic order numbers the components by their smallest one.
	order := make([]int, n)
	for i := range order {
		order[i] = i
		r.Labels[i] = dbscan.Noise
	}
	sort.SliceStable(order, func(a, b int) bool { return slices.Compare(at(order[a]), at(order[b])) < 0 })
	for _, first := range order {
		if !r.Core[first] || r.Labels[first] != dbscan.Noise {
			continue
		}
		cluster := int32(r.Clusters)
		r.Clusters++
		r.Labels[first] = cluster
		for todo := []int{first}; len(todo) > 0; {
			i := todo[0]
			todo = todo[1:]
			for j := range n {
				if near[i][j] && r.Core[j] && r.Labels[j] == dbscan.Noise {
					r.Labels[j] = cluster
					todo = append(todo, j)
				}
			}
		}
	}
	for i := range n {
		if r.Core[i] {
			continue
		}
		for j := range n {
			if near[i][j] && r.Core[j] && (r.Labels[i] == dbscan.Noise || r.Labels[j] < r.Labels[i]) {
				r.Labels[i] = r.Labels[j]
			}
		}
	}
	return r
}

func sameResult(a, b *dbscan.Result) error {
	switch {
	case !slices.Equal(a.Core, b.Core):
		return fmt.Errorf("core flags\n%v, want\n%v", a.Core, b.Core)
	case !slices.Equal(a.Labels, b.Labels):
		return fmt.Errorf("labels\n%v, want\n%v", a.Labels, b.Labels)
	case a.Clusters != b.Clusters:
		return fmt.Errorf("%d clusters, want %d", a.Clusters, b.Clusters)
	}
	return nil
}

// drawPoints draws points of several kinds: lattices, whose distances hit Eps exactly, duplicates,
// blobs, and any floats.
func drawPoints(t *rapid.T, maxDims, maxPoints int) (dbscan.Points, float64) {
	dims := rapid.IntRange(1, maxDims).Draw(t, "dims")
	n := rapid.IntRange(0, maxPoints).Draw(t, "n")
	p := dbscan.Points{Dims: dims, Coords: make([]float64, n*dims)}
	switch rapid.SampledFrom([]string{"lattice", "tenths", "blobs", "places", "any"}).Draw(t, "kind") {
	case "lattice":
		side := rapid.IntRange(1, 12).Draw(t, "side")
		for i := range p.Coords {
			p.Coords[i] = float64(rapid.IntRange(-side, side).Draw(t, "x"))
		}
		// Distances on the lattice: 1, 5 as 3-4-5, and those of steps along axes.
		return p, float64(rapid.IntRange(0, 5).Draw(t, "eps"))
	case "tenths": // not representable, so that rounding decides
		side := rapid.IntRange(1, 12).Draw(t, "side")
		for i := range p.Coords {
			p.Coords[i] = float64(rapid.IntRange(0, side).Draw(t, "x")) * .1
		}
		return p, float64(rapid.IntRange(0, 5).Draw(t, "eps")) * .1
	case "blobs":
		for i := range n {
			centre := float64(rapid.IntRange(0, 3).Draw(t, "centre"))
			for d := range dims {
				p.Coords[i*dims+d] = centre + rapid.Float64Range(-.3, .3).Draw(t, "x")
			}
		}
		return p, rapid.SampledFrom([]float64{1e-9, .05, .1, .3, .7, 1, 20, 1e300}).Draw(t, "eps")
	case "places":
		places := rapid.SliceOfN(rapid.Float64Range(-1, 1), dims, 4*dims).Draw(t, "places")
		for i := range n {
			k := rapid.IntRange(0, len(places)-dims).Draw(t, "place")
			copy(p.Coords[i*dims:], places[k:k+dims])
		}
		return p, rapid.SampledFrom([]float64{0, 1e-12, .2, .5, 1}).Draw(t, "eps")
	}
	scale := rapid.SampledFrom([]float64{1e-300, 1e-5, 1, 1e9, 1e300}).Draw(t, "scale")
	for i := range p.Coords {
		p.Coords[i] = scale * rapid.Float64Range(-1, 1).Draw(t, "x")
	}
	return p, scale * rapid.Float64Range(0, 2).Draw(t, "eps")
}

func TestClusterIsTheReference(t *testing.T) {
	for _, c := range []struct{ maxDims, maxPoints int }{{1, 120}, {4, 120}, {8, 60}} {
		t.Run(fmt.Sprintf("to%dD", c.maxDims), rapid.MakeCheck(func(t *rapid.T) {
			p, eps := drawPoints(t, c.maxDims, c.maxPoints)
			minPts := rapid.IntRange(1, 10).Draw(t, "minPts")
			input := slices.Clone(p.Coords)
			want := reference(p, eps, minPts)
			for _, threads := range []int{1, 2, 8} {
				got, err := dbscan.Cluster(p, eps, minPts, threads)
				if err != nil {
					t.Fatal(err)
				}
				if err := sameResult(got, want); err != nil {
					t.Fatalf("%d threads: %v", threads, err)
				}
			}
			if !slices.Equal(input, p.Coords) {
				t.Fatal("the input was changed")
			}
		}))
	}
}

// repeated are points that occur as often as weights say; first says where each begins.
func repeated(p dbscan.Points, weights []int64) (all dbscan.Points, first []int) {
	all.Dims = p.Dims
	for i, w := range weights {
		first = append(first, all.Len())
		for range w {
			all.Coords = append(all.Coords, p.Coords[i*p.Dims:(i+1)*p.Dims]...)
		}
	}
	return all, first
}

// Points that stand for several are as many points.
func TestWeightedClusterIsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := drawPoints(t, 5, 60)
		weights := rapid.SliceOfN(rapid.Int64Range(1, 9), p.Len(), p.Len()).Draw(t, "weights")
		minPts := rapid.IntRange(1, 20).Draw(t, "minPts")
		all, first := repeated(p, weights)
		want := reference(all, eps, minPts)
		for _, threads := range []int{1, 8} {
			got, err := dbscan.WeightedCluster(p, weights, eps, minPts, threads)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range first {
				if got.Labels[i] != want.Labels[k] || got.Core[i] != want.Core[k] {
					t.Fatalf("weights %v: point %d has label %d, core %v; want %d, %v", weights, i, got.Labels[i], got.Core[i], want.Labels[k], want.Core[k])
				}
			}
			if got.Clusters != want.Clusters || len(got.Labels) != p.Len() {
				t.Fatalf("%d clusters of %d points, want %d of %d", got.Clusters, len(got.Labels), want.Clusters, p.Len())
			}
		}
	})
}

func TestWeightedClusterMistakes(t *testing.T) {
	p := dbscan.Points{Dims: 1, Coords: []float64{1, 2}}
	for want, call := range map[string]func() (*dbscan.Result, error){
		"Eps -1":             func() (*dbscan.Result, error) { return dbscan.WeightedCluster(p, []int64{1, 1}, -1, 1, 1) },
		"MinPts 0":           func() (*dbscan.Result, error) { return dbscan.WeightedCluster(p, []int64{1, 1}, 1, 0, 1) },
		"1 weights for 2":    func() (*dbscan.Result, error) { return dbscan.WeightedCluster(p, []int64{1}, 1, 1, 1) },
		"row 1 has weight 0": func() (*dbscan.Result, error) { return dbscan.WeightedCluster(p, []int64{1, 0}, 1, 1, 1) },
		"0 dimensions":       func() (*dbscan.Result, error) { return dbscan.WeightedCluster(dbscan.Points{}, nil, 1, 1, 1) },
		"not a finite": func() (*dbscan.Result, error) {
			return dbscan.WeightedCluster(dbscan.Points{Dims: 1, Coords: []float64{math.NaN()}}, []int64{1}, 1, 1, 1)
		},
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}

// Many points with the reference are slow; the same points in another order exercise big trees,
// many threads and the radix sort.
func TestClusterOfPermutedPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := drawPoints(t, 5, 200)
		minPts := rapid.IntRange(1, 10).Draw(t, "minPts")
		order := rapid.Permutation(sequence(p.Len())).Draw(t, "order")
		q := dbscan.Points{Dims: p.Dims, Coords: make([]float64, len(p.Coords))}
		for to, from := range order {
			copy(q.Coords[to*p.Dims:(to+1)*p.Dims], p.Coords[from*p.Dims:])
		}
		a, err := dbscan.Cluster(p, eps, minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := dbscan.Cluster(q, eps, minPts, 2)
		if err != nil {
			t.Fatal(err)
		}
		for to, from := range order {
			if a.Labels[from] != b.Labels[to] || a.Core[from] != b.Core[to] {
				t.Fatalf("point %d: label %d core %v, permuted %d %v", from, a.Labels[from], a.Core[from], b.Labels[to], b.Core[to])
			}
		}
	})
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// Eps at a distance to the MinPts-th point makes about that many neighbours the rule, so that cells
// are core in part, borders lie between clusters and distances equal Eps to the last bit.
func TestClusterAtTheThreshold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for trial := range 600 {
		dims := 1 + trial%4
		p, _ := kindsOfPoints(random, 50+random.IntN(250), dims)
		minPts := 2 + random.IntN(9)
		if trial%5 == 0 {
			minPts = 20 + random.IntN(40) // more than a leaf of the tree holds
		}
		curve := referenceCurve(p, minPts-1)
		eps := curve[random.IntN(len(curve))]
		want := reference(p, eps, minPts)
		for _, threads := range []int{1, 4} {
			got, err := dbscan.Cluster(p, eps, minPts, threads)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameResult(got, want); err != nil {
				t.Fatalf("trial %d, %d-D, %d points, Eps %v, MinPts %d, %d threads: %v", trial, dims, p.Len(), eps, minPts, threads, err)
			}
		}
	}
}

// kindsOfPoints gives points of some kinds, each in a box of the width, on a lattice or anywhere.
func kindsOfPoints(random *rand.Rand, n, dims int) (p dbscan.Points, width float64) {
	p = dbscan.Points{Dims: dims, Coords: make([]float64, n*dims)}
	kinds := 1 + random.IntN(4)
	width = []float64{.02, .2, 1}[random.IntN(3)]
	lattice := []float64{0, 4, 20, 100}[random.IntN(4)]
	for i := range p.Coords {
		x := float64(i/dims%kinds) + width*random.Float64()
		if lattice != 0 {
			x = math.Round(x*lattice) / lattice
		}
		p.Coords[i] = x
	}
	return p, width
}
