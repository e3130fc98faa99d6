package dbscan_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
)

// referenceCurve sorts all distances from all points, measured in about the longest side of their box.
func referenceCurve(p dbscan.Points, k int) []float64 {
	var curve []float64
	longest := 0.
	for i := range p.Coords {
		for j := i % p.Dims; j < len(p.Coords); j += p.Dims {
			longest = max(longest, p.Coords[i]-p.Coords[j])
		}
	}
	_, exponent := math.Frexp(longest)
	for i := range p.Len() {
		var distances []float64
		for j := range p.Len() {
			sum := 0.0
			for d := range p.Dims {
				diff := math.Ldexp(p.Coords[i*p.Dims+d]-p.Coords[j*p.Dims+d], 500-exponent)
				sum += float64(diff * diff)
			}
			distance := math.Ldexp(math.Sqrt(sum), exponent-500)
			if p.Dims == 1 {
				distance = math.Abs(p.Coords[i] - p.Coords[j])
			}
			if i != j {
				distances = append(distances, distance)
			}
		}
		if k <= len(distances) {
			slices.Sort(distances)
			curve = append(curve, distances[k-1])
		}
	}
	slices.Sort(curve)
	slices.Reverse(curve)
	return curve
}

func TestKDistanceIsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawPoints(t, 4, 200)
		k := rapid.IntRange(1, max(1, p.Len()+1)).Draw(t, "k")
		want := referenceCurve(p, k)
		for _, threads := range []int{1, 8} {
			got, err := kDistance(p, k, 0, threads)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d-D, k %d, %d threads:\n%v, want\n%v", p.Dims, k, threads, got, want)
			}
		}
	})
}

// The bisection for many neighbours, the sweep in chunks, and the sample.
func TestKDistanceOfManyPoints(t *testing.T) {
	for _, c := range []struct{ dims, k int }{{1, 1}, {1, 1500}, {2, 10}, {2, 300}, {3, 1000}} {
		t.Run(fmt.Sprintf("%dD-k%d", c.dims, c.k), func(t *testing.T) {
			p := burstLike(2000, c.dims)
			for i := 0; i < len(p.Coords); i += 3 {
				p.Coords[i] = math.Round(p.Coords[i]*64) / 64
			}
			want := referenceCurve(p, c.k)
			for _, threads := range []int{1, 2, 8} {
				got, err := kDistance(p, c.k, 0, threads)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d threads: another curve than the reference", threads)
				}
			}
			if c.dims == 1 {
				return
			}
			sampled, err := kDistance(p, c.k, 500, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(sampled) != 500 {
				t.Fatalf("%d queries answered, want 500", len(sampled))
			}
			// Ranks of sampled quantiles are within 1.6 % for 10,000 queries, 7 % for 500.
			for _, q := range []float64{.2, .5, .8} {
				v := sampled[int(q*500)]
				if v > want[int((q-.07)*2000)] || v < want[int((q+.07)*2000)] {
					t.Errorf("the sampled quantile %v, %v, is off", q, v)
				}
			}
		})
	}
}

// Points that stand for several are as many points.
func TestWeightedKDistanceIsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawPoints(t, 4, 60)
		weights := rapid.SliceOfN(rapid.Int64Range(1, 9), p.Len(), p.Len()).Draw(t, "weights")
		all, _ := repeated(p, weights)
		k := rapid.IntRange(1, max(1, all.Len()+1)).Draw(t, "k")
		want := referenceCurve(all, k)
		for _, threads := range []int{1, 8} {
			got, err := dbscan.WeightedKDistance(p, weights, k, 0, threads)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d values, want %d", len(got), len(want))
			}
			for i := range got {
				// In 1-D √d² may differ from |d|, where d² is too small a great deal.
				if v := want[i]; math.Abs(got[i]-v) > 1e-12*v && v > want[0]*0x1p-900 {
					t.Fatalf("k %d, weights %v:\n%v, want\n%v", k, weights, got, want)
				}
			}
		}
	})
}

func TestWeightedKDistanceMistakes(t *testing.T) {
	p := dbscan.Points{Dims: 1, Coords: []float64{1, 2}}
	for want, call := range map[string]func() ([]float64, error){
		"neighbour 0":           func() ([]float64, error) { return dbscan.WeightedKDistance(p, []int64{1, 1}, 0, 0, 1) },
		"1 weights for 2":       func() ([]float64, error) { return dbscan.WeightedKDistance(p, []int64{1}, 1, 0, 1) },
		"row 1 has weight 0":    func() ([]float64, error) { return dbscan.WeightedKDistance(p, []int64{1, 0}, 1, 0, 1) },
		"row 1 has weight 2814": func() ([]float64, error) { return dbscan.WeightedKDistance(p, []int64{1, 1 << 48}, 1, 0, 1) },
		"0 dimensions":          func() ([]float64, error) { return dbscan.WeightedKDistance(dbscan.Points{}, nil, 1, 0, 1) },
		"not a finite": func() ([]float64, error) {
			return dbscan.WeightedKDistance(dbscan.Points{Dims: 1, Coords: []float64{math.NaN()}}, []int64{1}, 1, 0, 1)
		},
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}

func TestKneeByHand(t *testing.T) {
	flat := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	falling := func(n int) []float64 {
		c := make([]float64, n)
		for i := range c {
			c[i] = float64(n - i)
		}
		return c
	}
	// 1000 values: lo 5, half 497. At index 5 the line is at 10·(1 − 5/497) ≈ 9.9.
	cliff := slices.Concat(flat(5, 50), flat(10, 10), flat(985, 1))
	for _, c := range []struct {
		name  string
		curve []float64
		want  dbscan.Knee
		ok    bool
	}{
		{"empty", nil, dbscan.Knee{}, false},
		{"one", flat(1, 1), dbscan.Knee{}, false},
		{"four", []float64{9, 1, 1, 1}, dbscan.Knee{}, false},
		// half = 995·5/1000/2 = 2: the line is 9, 4.5 and 4.5−1 > 0.
		{"five", []float64{9, 1, 1, 1, 1}, dbscan.Knee{Index: 1, Range: 1, Eps: 1}, true},
		{"all zero", flat(1000, 0), dbscan.Knee{}, false},
		{"all equal", flat(1000, .3), dbscan.Knee{}, false},
		{"a straight line to the far end", falling(1000), dbscan.Knee{}, false},
		{"a cliff: the first index after it", cliff, dbscan.Knee{Index: 15, Range: 10, Eps: 1}, true},
		{"duplicates: down to zero", slices.Concat(flat(6, 3), flat(994, 0)), dbscan.Knee{Index: 6, Range: 1, Eps: 0}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := dbscan.FindKnee(c.curve)
			if got != c.want || ok != c.ok {
				t.Errorf("%+v %v, want %+v %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func kDistance(p dbscan.Points, k, queries, threads int) ([]float64, error) {
	x, err := dbscan.NewIndex(p, threads)
	if err != nil {
		return nil, err
	}
	return x.KDistance(k, queries)
}
