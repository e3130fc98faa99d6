package dbscan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"moriens/analysis/dbscan"
)

// burstLike returns points as bursts crowd: nine in ten in a few narrow kinds, the rest anywhere.
func burstLike(n, dims int) dbscan.Points {
	random := rand.New(rand.NewPCG(42, 0))
	p := dbscan.Points{Dims: dims, Coords: make([]float64, n*dims)}
	for i := range n {
		kind := random.IntN(20)
		for d := range dims {
			x := &p.Coords[i*dims+d]
			if kind < 18 {
				*x = float64((kind*7+d*5)%18)/18 + .003*random.NormFloat64()
			} else {
				*x = random.Float64()
			}
		}
	}
	return p
}

func benchmarkCluster(b *testing.B, n, dims int, eps float64) {
	p := burstLike(n, dims)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := dbscan.Cluster(p, eps, 10, threads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}

func BenchmarkCluster1D1M(b *testing.B)   { benchmarkCluster(b, 1_000_000, 1, 1e-5) }
func BenchmarkCluster1D10M(b *testing.B)  { benchmarkCluster(b, 10_000_000, 1, 1e-6) }
func BenchmarkCluster2D100k(b *testing.B) { benchmarkCluster(b, 100_000, 2, .008) }
func BenchmarkCluster2D1M(b *testing.B)   { benchmarkCluster(b, 1_000_000, 2, .006) }
func BenchmarkCluster4D100k(b *testing.B) { benchmarkCluster(b, 100_000, 4, .02) }
func BenchmarkCluster4D1M(b *testing.B)   { benchmarkCluster(b, 1_000_000, 4, .02) }

// Points have hundreds of neighbours, but few in any one cell.
func BenchmarkClusterThinCells4D60k(b *testing.B) { benchmarkCluster(b, 60_000, 4, .006) }

// Ten Eps on the same points, one by one and through an index.
func benchmarkManyEps(b *testing.B, dims int, least float64) {
	p := burstLike(1_000_000, dims)
	for _, nested := range []bool{false, true} {
		b.Run(fmt.Sprintf("nested=%v", nested), func(b *testing.B) {
			for b.Loop() {
				x, err := dbscan.NewIndex(p, 2)
				if err != nil {
					b.Fatal(err)
				}
				for i := range 10 {
					eps := least * (1 + .3*float64(i))
					if nested {
						_, err = x.Cluster(eps, 10)
					} else {
						_, err = dbscan.Cluster(p, eps, 10, 2)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkManyEps2D1M(b *testing.B) { benchmarkManyEps(b, 2, .002) }
func BenchmarkManyEps3D1M(b *testing.B) { benchmarkManyEps(b, 3, .01) }

func BenchmarkClusterDuplicates2D1M(b *testing.B) {
	p := burstLike(1_000_000, 2)
	for i := range p.Coords {
		p.Coords[i] = float64(int(p.Coords[i]*100)) / 100
	}
	for b.Loop() {
		if _, err := dbscan.Cluster(p, .01, 10, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// Insertion of more of what is known already: the points of a dense square, most of whose cells are
// interior, and those of kinds among noise, which keep finding new places.
func benchmarkInsert(b *testing.B, p dbscan.Points, eps float64) {
	x, err := dbscan.NewIncremental(p.Dims, eps, 10)
	if err != nil {
		b.Fatal(err)
	}
	if err := x.Insert(p); err != nil {
		b.Fatal(err)
	}
	const batch = 10_000
	points := 0
	for b.Loop() {
		at := points % p.Len() * p.Dims
		if err := x.Insert(dbscan.Points{Dims: p.Dims, Coords: p.Coords[at : at+batch*p.Dims]}); err != nil {
			b.Fatal(err)
		}
		points += batch
	}
	b.ReportMetric(float64(points)/b.Elapsed().Seconds(), "points/s")
}

func BenchmarkInsertDense2D(b *testing.B) {
	random := rand.New(rand.NewPCG(42, 0))
	p := dbscan.Points{Dims: 2, Coords: make([]float64, 2_000_000)}
	for i := range p.Coords {
		p.Coords[i] = random.Float64()
	}
	benchmarkInsert(b, p, .02)
}

func BenchmarkInsert2D(b *testing.B) { benchmarkInsert(b, burstLike(1_000_000, 2), .006) }
func BenchmarkInsert4D(b *testing.B) { benchmarkInsert(b, burstLike(1_000_000, 4), .02) }

func benchmarkKDistance(b *testing.B, n, dims, k int) {
	p := burstLike(n, dims)
	for b.Loop() {
		if _, err := kDistance(p, k, 0, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKDistance1D1Mk5000(b *testing.B) { benchmarkKDistance(b, 1_000_000, 1, 5000) }
func BenchmarkKDistance2D1Mk10(b *testing.B)   { benchmarkKDistance(b, 1_000_000, 2, 10) }
func BenchmarkKDistance2D1Mk5000(b *testing.B) { benchmarkKDistance(b, 1_000_000, 2, 5000) }
