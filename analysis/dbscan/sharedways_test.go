package dbscan_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/dbscan"
)

// Cells and regions both give the batch answer, whichever of them Cluster would take.
func TestSharedBothWays(t *testing.T) {
	dbscan.GatherUpTo(t, -1)
	random := rand.New(rand.NewPCG(1, 77))
	grids := 0
	const trials = 60
	for trial := range trials {
		dims := 1 + random.IntN(4)
		n := 200 + random.IntN(2000)
		p := dbscan.Points{Dims: dims, Coords: make([]float64, n*dims)}
		kinds := 1 + random.IntN(12)
		width := []float64{.002, .02, .2, 1}[random.IntN(4)]
		lattice := []float64{0, 0, 20, 100, 1000}[random.IntN(5)]
		scattered := []float64{0, .02, .2}[random.IntN(3)]
		for i := range n {
			kind := random.IntN(kinds)
			alone := random.Float64() < scattered
			w := width * math.Exp(random.NormFloat64())
			for d := range dims {
				x := float64((kind*7+d*5)%11)/11 + w*random.NormFloat64()
				if alone {
					x = random.Float64() * 1.5
				}
				if lattice != 0 {
					x = math.Round(x*lattice) / lattice
				}
				p.Coords[i*dims+d] = x
			}
		}
		minPts := 1 + random.IntN(12)
		if trial%4 == 0 {
			minPts = 20 + random.IntN(n/10)
		}
		curve, err := kDistance(p, max(1, minPts-1), 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(curve) == 0 {
			continue
		}
		eps := curve[random.IntN(len(curve))]
		if lattice != 0 && random.IntN(3) == 0 {
			eps = 5 / lattice
		}
		want, err := dbscan.Cluster(p, eps, minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		size := 2 + random.IntN(7)
		s := make(spread, n)
		mode := random.IntN(3)
		for i := range s {
			switch mode {
			case 0:
				s[i] = random.IntN(size)
			case 1:
				s[i] = i * size / n
			case 2:
				s[i] = min(size-1, int(math.Abs(p.Coords[i*dims])*3))
			}
		}
		got, err := shared(p, s, size, 1+random.IntN(2), func(x *dbscan.Shared) (*dbscan.Result, error) {
			r, err := x.ClusterOnGrid(eps, minPts)
			if r == nil && err == nil {
				return nil, errNotNumbered
			}
			return r, err
		})
		if errors.Is(err, errNotNumbered) {
			err = nil
		} else {
			grids++
			if err == nil {
				err = sameResult(got, want)
			}
		}
		if err != nil {
			t.Fatalf("grid trial %d dims %d n %d eps %v minPts %d size %d: %v", trial, dims, n, eps, minPts, size, err)
		}
		if trial%3 == 0 {
			dbscan.PileUp(t, []int{2, 20, 64}[trial/3%3])
			got, err := shared(p, s, size, 1, func(x *dbscan.Shared) (*dbscan.Result, error) { return x.ClusterOnTree(eps, minPts) })
			if err == nil {
				err = sameResult(got, want)
			}
			if err != nil {
				t.Fatalf("tree trial %d dims %d n %d eps %v minPts %d size %d: %v", trial, dims, n, eps, minPts, size, err)
			}
		}
	}
	if grids < trials/2 {
		t.Errorf("in %d of %d cases only there are cells", grids, trials)
	}
}
