package dbscan_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
)

// The label is that of the nearest point, as looking at all of them finds it, the first of those as near, and none
// beyond Eps.
func TestLookup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 3).Draw(t, "dims")
		place := rapid.SliceOfN(rapid.IntRange(-20, 20), dims, dims)
		eps := float64(rapid.IntRange(0, 12).Draw(t, "eps"))
		p := dbscan.Points{Dims: dims}
		for range rapid.IntRange(0, 200).Draw(t, "points") {
			for _, v := range place.Draw(t, "point") {
				p.Coords = append(p.Coords, float64(v))
			}
		}
		labels := make([]int32, p.Len())
		for i := range labels {
			labels[i] = rapid.Int32Range(0, 3).Draw(t, "label")
		}
		l, err := dbscan.NewLookup(p, labels, eps, rapid.IntRange(1, 3).Draw(t, "threads"))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			var at []float64
			for _, v := range place.Draw(t, "at") {
				at = append(at, float64(v)+.5*float64(v%2))
			}
			want, least := int32(-1), math.Inf(1)
			for i := range p.Len() {
				d := 0.
				for j, v := range at {
					d += (v - p.Coords[i*dims+j]) * (v - p.Coords[i*dims+j])
				}
				if d <= eps*eps && d < least {
					want, least = int32(i), d
				}
			}
			label := dbscan.Noise
			if want >= 0 {
				label = labels[want]
			}
			if got := l.Label(at); got != label {
				t.Fatalf("the label of what is nearest to %v is %d, want %d", at, got, label)
			}
		}
	})
	for _, wrong := range []struct {
		p      dbscan.Points
		labels int
		eps    float64
	}{{dbscan.Points{Dims: 1}, 0, -1}, {dbscan.Points{}, 0, 1}, {dbscan.Points{Dims: 1, Coords: []float64{math.NaN()}}, 1, 1}, {dbscan.Points{Dims: 1}, 1, 1}} {
		if _, err := dbscan.NewLookup(wrong.p, make([]int32, wrong.labels), wrong.eps, 1); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
