package dbscan_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
	"moriens/internal/team"
)

// Cells of one place each have the curve of the points themselves.
func TestWeightedCurveOfPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawPoints(t, 4, 60)
		weights := rapid.SliceOfN(rapid.Int64Range(1, 9), p.Len(), p.Len()).Draw(t, "weights")
		var cells []cell.Cell
		for i, w := range weights {
			cells = append(cells, cell.Of(p.Coords[i*p.Dims:(i+1)*p.Dims], w))
		}
		all, _ := repeated(p, weights)
		k := rapid.IntRange(1, max(1, all.Len()+1)).Draw(t, "k")
		queries := 0
		if p.Dims > 1 { // in 1-D points ask about all, cells do not
			queries = rapid.IntRange(1, max(1, all.Len())).Draw(t, "queries")
		}
		shared, err := dbscan.NewShared(team.Solo{}, all, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := shared.Curve(k, queries)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dbscan.WeightedCurve(p.Dims, cells, k, queries, 1+rapid.IntRange(0, 3).Draw(t, "threads"))
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != want.Len() {
			t.Fatalf("%d values, want %d", got.Len(), want.Len())
		}
		if got.Len() == 0 {
			return
		}
		places := sequence(got.Len())
		a, err := got.At(places...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := want.At(places...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			// In 1-D √d² may differ from |d|, where d² is too small a great deal.
			if v := b[i]; math.Abs(a[i]-v) > 1e-12*v && v > b[0]*0x1p-900 {
				t.Fatalf("k %d, weights %v:\n%v, want\n%v", k, weights, a, b)
			}
		}
	})
}

// A curve of cells asks about as many points as are wanted, in 1-D too, and finds what the points have but for the
// cells' width.
func TestWeightedCurveIsASample(t *testing.T) {
	for dims := 1; dims <= 2; dims++ {
		const side = .001
		p := burstLike(8_000, dims)
		cells, _ := summed(t, p, side)
		curve, err := dbscan.WeightedCurve(dims, cells, 50, 2000, 2)
		if err != nil {
			t.Fatal(err)
		}
		if curve.Len() != 2000 {
			t.Errorf("%d distances", curve.Len())
		}
		want := referenceOf(t, p, 50)
		for _, share := range []float64{.02, .05, .1, .5, .9} {
			got, err := curve.At(int(share * 2000))
			if err != nil {
				t.Fatal(err)
			}
			n := float64(len(want))
			most, least := want[int((share-.02)*n)], want[int((share+.02)*n)]
			if wide := side * math.Sqrt(float64(dims)); got[0] > most+wide || got[0] < least-wide {
				t.Errorf("%d-D: at %v of the curve %v, want %v to %v", dims, share, got[0], least, most)
			}
		}
	}
}

// referenceOf is the curve of points as an Index has it, asking about all.
func referenceOf(t *testing.T, p dbscan.Points, k int) []float64 {
	x, err := dbscan.NewIndex(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := x.KDistance(k, p.Len())
	if err != nil {
		t.Fatal(err)
	}
	return curve
}

// The best effort is exact for the cells with those in question at one place each.
func TestAtMeans(t *testing.T) {
	efforts := 0
	property := func(t *rapid.T) {
		p, eps, minPts, cells, of := drawSummed(t)
		if of == nil {
			return
		}
		input := slices.Clone(cells)
		first, err := dbscan.Weighted(p.Dims, cells, eps, minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := first.AtMeans()
		if err != nil {
			t.Fatal(err)
		}
		if first.Exact {
			if got != first {
				t.Fatalf("%+v of the exact %+v", got, first)
			}
			return
		}
		efforts++
		if !slices.Equal(cells, input) {
			t.Fatal("the cells were changed")
		}
		if got.Exact || !slices.IsSorted(got.Questions) {
			t.Fatalf("%+v", got)
		}
		for _, i := range first.Questions {
			if !slices.Contains(got.Questions, i) {
				t.Fatalf("cell %d is not taken at its mean: %v", i, got.Questions)
			}
		}
		for _, i := range got.Questions {
			c := &cells[i]
			mean := make([]float64, p.Dims)
			for j := range mean {
				mean[j] = min(max(c.Sum[j]/float64(c.Count), c.Lo[j]), c.Hi[j])
			}
			*c = cell.Of(mean, c.Count)
		}
		want, err := dbscan.Weighted(p.Dims, cells, eps, minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !want.Exact || want.Clusters != got.Clusters || !slices.Equal(want.Labels, got.Labels) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	// Chance may draw as few as a short test takes with nothing but exact answers.
	for try := 0; efforts == 0 && try < 100; try++ {
		rapid.Check(t, property)
	}
	if efforts == 0 {
		t.Error("every answer was exact")
	}
}

// Two cells that may be one cluster or two are one if their means are near enough.
func TestAtMeansByHand(t *testing.T) {
	wide := func(lo, hi, mean float64) cell.Cell {
		c := cell.Of([]float64{mean}, 10)
		c.Lo[0], c.Hi[0] = lo, hi
		return c
	}
	for _, c := range []struct {
		mean     float64
		clusters int
	}{{1.1, 1}, {1.9, 2}} {
		w, err := dbscan.Weighted(1, []cell.Cell{wide(0, .5, .3), wide(1, 2, c.mean)}, 1, 5, 1)
		if err != nil || w.Exact || !slices.Equal(w.Questions, []int32{0, 1}) {
			t.Fatalf("%+v, %v", w, err)
		}
		got, err := w.AtMeans()
		if err != nil || got.Clusters != c.clusters || !slices.Equal(got.Labels, []int32{0, int32(c.clusters - 1)}) || !slices.Equal(got.Questions, []int32{0, 1}) {
			t.Errorf("mean %v: %+v, %v", c.mean, got, err)
		}
	}
}

func TestMeansMistakes(t *testing.T) {
	bad := cell.Of([]float64{1}, 3)
	bad.Hi[0], bad.Sum[0] = 4, math.NaN()
	cells := []cell.Cell{cell.Of([]float64{1.5}, 3), bad}
	const want = "cell 1: dimension 0: the sum is NaN"
	if _, err := dbscan.WeightedCurve(1, cells, 1, 0, 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want it to say %q", err, want)
	}
	w, err := dbscan.Weighted(1, cells, 1, 4, 1)
	if err != nil || w.Exact {
		t.Fatalf("%+v, %v", w, err)
	}
	if _, err := w.AtMeans(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want it to say %q", err, want)
	}
	for want, call := range map[string]func() (*dbscan.Curve, error){
		"neighbour 0":    func() (*dbscan.Curve, error) { return dbscan.WeightedCurve(1, cells[:1], 0, 0, 1) },
		"0 dimensions":   func() (*dbscan.Curve, error) { return dbscan.WeightedCurve(0, cells[:1], 1, 0, 1) },
		"cell 0: 0 poin": func() (*dbscan.Curve, error) { return dbscan.WeightedCurve(1, make([]cell.Cell, 1), 1, 0, 1) },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}
