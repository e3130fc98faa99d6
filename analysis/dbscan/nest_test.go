package dbscan_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
)

// However many Eps are asked for, in whatever order, each answer is the reference's.
func TestManyEpsAreTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, eps := drawPoints(t, 4, 120)
		x, err := dbscan.NewIndex(p, rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "threads"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(2, 6).Draw(t, "questions") {
			minPts := rapid.IntRange(1, 10).Draw(t, "minPts")
			// Powers of two take points that are Eps apart on a lattice to others that are, and to corners of cells.
			e := eps * math.Ldexp(rapid.SampledFrom([]float64{1, 1, 1.3, math.Sqrt2}).Draw(t, "part"), rapid.IntRange(-3, 6).Draw(t, "power"))
			got, err := x.Cluster(e, minPts)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameResult(got, reference(p, e, minPts)); err != nil {
				t.Fatalf("Eps %v, MinPts %d: %v", e, minPts, err)
			}
		}
	})
}

// Many points, Eps in all orders, with several threads and from several at once.
func TestManyEpsOfManyPoints(t *testing.T) {
	for _, dims := range []int{2, 3} {
		t.Run(fmt.Sprintf("%dD", dims), func(t *testing.T) {
			p := burstLike(30_000, dims)
			for i := 0; i < len(p.Coords); i += 5 {
				p.Coords[i] = math.Round(p.Coords[i]*500) / 500
			}
			list := []float64{.006, .007, .009, .012, .03, .1, .002, 3, .0004}
			want := make([]*dbscan.Result, len(list))
			for i, eps := range list {
				var err error
				if want[i], err = dbscan.Cluster(p, eps, 10, 2); err != nil {
					t.Fatal(err)
				}
			}
			for _, threads := range []int{1, 2, 8} {
				x, err := dbscan.NewIndex(p, threads)
				if err != nil {
					t.Fatal(err)
				}
				ask := func(i int) {
					got, err := x.Cluster(list[i], 10)
					if err != nil {
						t.Error(err)
						return
					}
					if got.Clusters != want[i].Clusters || !slices.Equal(got.Labels, want[i].Labels) || !slices.Equal(got.Core, want[i].Core) {
						t.Errorf("%d threads, Eps %v: another answer than that of Cluster", threads, list[i])
					}
				}
				for i := range list {
					ask(i)
				}
				var wg sync.WaitGroup
				for i := range list {
					wg.Go(func() { ask(i) })
				}
				wg.Wait()
			}
		})
	}
}
