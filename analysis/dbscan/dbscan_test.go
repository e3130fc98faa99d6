package dbscan_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/dbscan"
)

const noise = dbscan.Noise

func TestClusterByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		dims   int
		coords []float64
		eps    float64
		minPts int
		labels []int32
		core   string // 1 for core points
	}{
		{"none", 3, nil, 1, 2, nil, ""},
		{"one point, MinPts 1", 2, []float64{5, 5}, 0, 1, []int32{0}, "1"},
		{"one point, MinPts 2", 2, []float64{5, 5}, 9, 2, []int32{noise}, "0"},
		{"distance exactly Eps", 1, []float64{0, 1, 2}, 1, 3, []int32{0, 0, 0}, "010"},
		{"distance just above Eps", 1, []float64{0, 1, math.Nextafter(2, 3)}, 1, 3, []int32{noise, noise, noise}, "000"},
		{"3-4-5", 2, []float64{0, 0, 3, 4}, 5, 2, []int32{0, 0}, "11"},
		{"numbered by key, not by place", 1, []float64{9, 9, 1, 1, 5, 5}, 0, 2, []int32{2, 2, 0, 0, 1, 1}, "111111"},
		{"duplicates at Eps 0", 2, []float64{1, 1, 2, 2, 1, 1, 1, 1}, 0, 3, []int32{0, noise, 0, 0}, "1011"},
		{"zeros of both signs", 1, []float64{0, math.Copysign(0, -1)}, 0, 2, []int32{0, 0}, "11"},
		{"border between two clusters", 1, []float64{0, .5, 1, 2, 3, 3.5, 4}, 1, 4,
			// 1 sees 0, .5, 1, 2; 3 sees 2, 3, 3.5, 4; 2 is within Eps of both and goes to the left.
			[]int32{0, 0, 0, 0, 1, 1, 1}, "0010100"},
		{"that border, mirrored in y", 2, []float64{0, 0, 0, -.5, 0, -1, 0, -2, 0, -3, 0, -3.5, 0, -4}, 1, 4,
			[]int32{1, 1, 1, 0, 0, 0, 0}, "0010100"},
		{"Eps above the range", 2, []float64{0, 0, 1, 7, -3, 2}, 1e9, 3, []int32{0, 0, 0}, "111"},
		{"Eps whose square overflows", 2, []float64{-1e300, 0, 1e300, 0, 3e199, 0, 3e199, 9e199}, 1e200, 2, []int32{noise, noise, 0, 0}, "0011"},
		{"Eps whose square vanishes", 2, []float64{0, 0, 0x4p-965, 0, 0, 0x3p-965, 0x9p-964, 0}, 0x5p-965, 3, []int32{0, 0, 0, noise}, "1110"},
		{"the smallest Eps", 3, []float64{0, 0, 0, 5e-324, 0, 0, 5e-324, 5e-324, 0, 0, 0, 1}, 5e-324, 2, []int32{0, 0, 0, noise}, "1110"},
		{"the largest Eps", 2, []float64{-1e308, 0, 7e307, 3e307, 1.7e308, 0}, math.MaxFloat64, 2, []int32{0, 0, 0}, "111"},
		{"Eps 0 among the smallest numbers", 2, []float64{0, 0, 5e-324, 0, 0, 5e-324, 0, 0}, 0, 2, []int32{0, noise, noise, 0}, "1001"},
		{"infinite Eps", 1, []float64{-1, 5}, math.Inf(1), 2, []int32{0, 0}, "11"},
		{"a range of 10^300 Eps", 2, []float64{0, 0, 1e300, 1e300, 1, 0}, 1, 2, []int32{0, noise, 0}, "101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := dbscan.Cluster(dbscan.Points{Dims: c.dims, Coords: c.coords}, c.eps, c.minPts, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Labels, c.labels) {
				t.Errorf("labels %v, want %v", r.Labels, c.labels)
			}
			core := strings.Builder{}
			for _, is := range r.Core {
				core.WriteByte("01"[map[bool]int{true: 1}[is]])
			}
			if core.String() != c.core {
				t.Errorf("core %s, want %s", &core, c.core)
			}
			if want := int(slices.Max(append([]int32{noise}, c.labels...)) + 1); r.Clusters != want {
				t.Errorf("%d clusters, want %d", r.Clusters, want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	two := dbscan.Points{Dims: 2, Coords: []float64{1, 2, 3, 4}}
	for _, c := range []struct {
		name   string
		points dbscan.Points
		eps    float64
		minPts int
		want   string
	}{
		{"negative Eps", two, -1, 2, "Eps -1"},
		{"Eps NaN", two, math.NaN(), 2, "Eps NaN"},
		{"MinPts 0", two, 1, 0, "MinPts 0"},
		{"no dimensions", dbscan.Points{}, 1, 1, "0 dimensions"},
		{"nine dimensions", dbscan.Points{Dims: 9}, 1, 1, "9 dimensions"},
		{"half a row", dbscan.Points{Dims: 2, Coords: make([]float64, 5)}, 1, 1, "5 coordinates"},
		{"NaN", dbscan.Points{Dims: 2, Coords: []float64{1, 2, 3, math.NaN()}}, 1, 1, "row 1, dimension 1: NaN"},
		{"infinity", dbscan.Points{Dims: 1, Coords: []float64{1, 2, math.Inf(-1)}}, 1, 1, "row 2, dimension 0: -Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := dbscan.Cluster(c.points, c.eps, c.minPts, 1)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want it to say %q", err, c.want)
			}
		})
	}
	_, err := dbscan.Cluster(dbscan.Points{Dims: 1, Coords: []float64{0, math.NaN()}}, 1, 1, 1)
	var notFinite *dbscan.NotFiniteError
	if !errors.As(err, &notFinite) || notFinite.Row != 1 {
		t.Errorf("%v is no NotFiniteError of row 1", err)
	}
	if _, err := kDistance(two, 0, 0, 1); err == nil || !strings.Contains(err.Error(), "neighbour 0") {
		t.Errorf("the 0-th neighbour: %v", err)
	}
}

// Sizes that need the radix sort, trees built by several threads and work in several batches, checked
// against 1 thread and, by sampling rows, against the definition.
func TestManyPoints(t *testing.T) {
	for _, dims := range []int{1, 2, 3} {
		p := burstLike(50_000, dims)
		for i := range p.Coords { // make duplicates and exact distances likely
			p.Coords[i] = math.Round(p.Coords[i]*2048) / 2048
		}
		const minPts = 40
		eps := []float64{0, 2. / 2048, 8. / 2048, 40. / 2048}[dims]
		want, err := dbscan.Cluster(p, eps, minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.Clusters < 5 || !slices.Contains(want.Labels, noise) {
			t.Errorf("%d-D: %d clusters; these points should show more", dims, want.Clusters)
		}
		for _, threads := range []int{2, 3, 8} {
			got, err := dbscan.Cluster(p, eps, minPts, threads)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Core, want.Core) {
				t.Errorf("%d-D: %d threads give another answer than 1", dims, threads)
			}
		}
		for row := 0; row < p.Len(); row += 97 {
			neighbours := 0
			smallest := noise // number of a cluster with a core point within Eps
			for other := range p.Len() {
				sum := 0.0
				for d := range dims {
					diff := p.Coords[row*dims+d] - p.Coords[other*dims+d]
					sum += diff * diff
				}
				if sum > eps*eps {
					continue
				}
				neighbours++
				if want.Core[other] {
					if want.Core[row] && want.Labels[other] != want.Labels[row] {
						t.Fatalf("%d-D: core points %d and %d are near and apart", dims, row, other)
					}
					if smallest == noise || want.Labels[other] < smallest {
						smallest = want.Labels[other]
					}
				}
			}
			if want.Core[row] != (neighbours >= minPts) {
				t.Fatalf("%d-D: row %d with %d neighbours: core %v", dims, row, neighbours, want.Core[row])
			}
			if want.Labels[row] != smallest {
				t.Fatalf("%d-D: row %d has label %d, want %d", dims, row, want.Labels[row], smallest)
			}
		}
	}
}

// Points at ever smaller scales make trees that halve boxes as deep as floats reach.
func TestPointsAtAllScales(t *testing.T) {
	p := dbscan.Points{Dims: 2}
	for e := -1000; e < 1000; e++ {
		for range 20 {
			p.Coords = append(p.Coords, math.Ldexp(1, e), -math.Ldexp(1, e))
		}
	}
	r, err := dbscan.Cluster(p, 1e-290, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	apart := 1
	for e := -1000; e < 999; e++ {
		here, next := r.Labels[(e+1000)*20], r.Labels[(e+1001)*20]
		if far := math.Ldexp(math.Sqrt2, e) > 1e-290; (here != next) != far {
			t.Fatalf("2^%d has label %d, twice that has %d", e, here, next)
		} else if far {
			apart++
		}
	}
	if r.Clusters != apart || apart < 1900 {
		t.Errorf("%d clusters, want %d", r.Clusters, apart)
	}
}

// Points and Eps that are all so many times larger or smaller give the same answer, however far squares are
// from what float64 holds.
func TestScaleChangesNothing(t *testing.T) {
	for dims := 1; dims <= 6; dims++ {
		p := burstLike(3_000, dims)
		for i := range p.Coords {
			p.Coords[i] = math.Round(p.Coords[i]*512) / 512 // no bits are lost on the way
		}
		const eps, minPts = 11. / 512, 6
		want, err := dbscan.Cluster(p, eps, minPts, 2)
		if err != nil {
			t.Fatal(err)
		}
		wantCurve, err := kDistance(p, minPts, 500, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.Clusters < 2 {
			t.Fatalf("%d-D: %d clusters; these points should show more", dims, want.Clusters)
		}
		for _, exponent := range []int{-1000, -600, -520, -340, 340, 500, 520, 1000} {
			q := dbscan.Points{Dims: dims, Coords: make([]float64, len(p.Coords))}
			for i, v := range p.Coords {
				q.Coords[i] = math.Ldexp(v, exponent)
			}
			got, err := dbscan.Cluster(q, math.Ldexp(eps, exponent), minPts, 2)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameResult(got, want); err != nil {
				t.Errorf("%d-D times 2^%d: another answer", dims, exponent)
			}
			curve, err := kDistance(q, minPts, 500, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i := range curve {
				if curve[i] != math.Ldexp(wantCurve[i], exponent) {
					t.Fatalf("%d-D times 2^%d: k-distance %d is %v, want %v", dims, exponent, i, curve[i], math.Ldexp(wantCurve[i], exponent))
				}
			}
		}
	}
}

// Two cells of several points each, near each other only through points that are not core.
func TestBorderPointsDoNotLinkClusters(t *testing.T) {
	p := dbscan.Points{Dims: 2}
	var labels []int32
	for _, place := range []struct {
		x      float64
		points int
		label  int32
	}{{-1.85, 30, 0}, {-.9, 8, 0}, {0, 8, 0}, {.95, 8, 1}, {1.9, 30, 1}} {
		for range place.points {
			p.Coords = append(p.Coords, place.x, 0)
			labels = append(labels, place.label)
		}
	}
	// Neighbours of each place: 38, 46, 24, 46, 38.
	r, err := dbscan.Cluster(p, 1, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Labels, labels) {
		t.Errorf("labels %v, want %v", r.Labels, labels)
	}
}

// An index answers for many Eps as separate clusterings do, in any order of questions.
func TestIndex(t *testing.T) {
	points := 3_000
	if testing.Short() { // the reference looks at all pairs
		points = 800
	}
	for dims := 1; dims <= 5; dims++ {
		p := burstLike(points, dims)
		x, err := dbscan.NewIndex(p, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, eps := range []float64{.05, .01, 0, .2, .02} {
			if _, err := x.KDistance(5, 100); err != nil {
				t.Fatal(err)
			}
			got, err := x.Cluster(eps, 6)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameResult(got, reference(p, eps, 6)); err != nil {
				t.Fatalf("%d-D, Eps %v: another answer than the reference", dims, eps)
			}
		}
		if _, err := x.Cluster(1, 0); err == nil {
			t.Error("MinPts 0: no error")
		}
	}
	var notFinite *dbscan.NotFiniteError
	if _, err := dbscan.NewIndex(dbscan.Points{Dims: 2, Coords: []float64{1, math.Inf(1)}}, 1); !errors.As(err, &notFinite) {
		t.Errorf("infinity: %v", err)
	}
	if _, err := dbscan.NewIndex(dbscan.Points{Dims: 2, Coords: []float64{1}}, 1); err == nil {
		t.Error("half a row: no error")
	}
}
