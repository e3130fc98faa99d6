// Package dbscan groups points by density: exact DBSCAN, the k-distance curve and its knee.
//
// In come finite float64 coordinates, 1 to 8 per point, in the caller's unit; Eps and the distances that come out are
// Euclidean and in the same unit. Out come a label and a core flag per point, in the input's order. The package never
// scales, samples or drops points, never changes its input, and gives the same answer for any number of threads. Points
// can be given all at once (Cluster), queried several times (Index), given in batches (Incremental), known as cells
// alone (Weighted) or spread over several processes (Shared).
//
// The definition is that of Ester, Kriegel, Sander and Xu, "A density-based algorithm for discovering clusters in large
// spatial databases with noise", KDD'96, sections 3 and 4. What it leaves open is fixed so that an answer depends on
// the set of points alone:
//
//   - N(p) holds every point within Eps of p, p itself included; a distance is compared by
//     Σ diff² ≤ Eps², summed in the order of the dimensions in float64, but for exponents having no
//     limits: squares that would overflow or vanish are those of lengths scaled by a power of two;
//   - p is a core point if N(p) holds at least MinPts points;
//   - clusters are the connected components of core points within Eps of each other;
//   - the key of a cluster is its lexicographically smallest core point. Clusters are numbered 0, 1, …
//     by ascending key, and a border point, which is no core point but has some within Eps, joins
//     among their clusters the one with the smallest key;
//   - all other points are noise.
package dbscan

import (
	"fmt"
	"math"

	"moriens/analysis/cell"
)

// Noise is the label of a point that is in no cluster.
const Noise int32 = -1

// MaxDims is the largest number of dimensions of a point.
const MaxDims = cell.MaxDims

// Points are the rows of a matrix.
type Points struct {
	Dims   int       // coordinates per point, 1 to MaxDims
	Coords []float64 // row-major: point i is Coords[i*Dims : (i+1)*Dims]
}

// Len returns the number of points.
func (p Points) Len() int {
	if p.Dims <= 0 {
		return 0
	}
	return len(p.Coords) / p.Dims
}

// A Result is a clustering. Both slices have one element per point, in the input's order.
type Result struct {
	Labels   []int32 // 0 … Clusters-1, or Noise
	Core     []bool
	Clusters int
}

// A NotFiniteError says which coordinate is NaN or infinite.
type NotFiniteError struct {
	Row, Dim int // 0-based
	Value    float64
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("dbscan: row %d, dimension %d: %v is not a finite number", e.Row, e.Dim, e.Value)
}

// Cluster clusters the points p on up to threads threads; threads below 1 means 1.
//
// eps must be ≥ 0; with 0 only points at one place are neighbours. minPts must be ≥ 1; with 1 every
// point is a core point. No points give no clusters. A coordinate that is NaN or infinite is a
// *NotFiniteError.
//
// Several questions about the same points are cheaper through an Index.
func Cluster(p Points, eps float64, minPts, threads int) (*Result, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if err := checkShape(p); err != nil {
		return nil, err
	}
	return newIndex(p, threads).cluster(eps, minPts)
}

// WeightedCluster is Cluster for points that stand for several, above 0, each: weights says for how many. The answer is
// that for all of them, given once for each of p.
func WeightedCluster(p Points, weights []int64, eps float64, minPts, threads int) (*Result, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	if err := checkWeights(p, weights); err != nil {
		return nil, err
	}
	return newTree(p, smallLeaf, threads).weighed(weights).cluster(eps, minPts, threads), nil
}

func checkParameters(eps float64, minPts int) error {
	if math.IsNaN(eps) || eps < 0 {
		return fmt.Errorf("dbscan: Eps %v: want a number ≥ 0", eps)
	}
	if minPts < 1 {
		return fmt.Errorf("dbscan: MinPts %d: want at least 1", minPts)
	}
	return nil
}

func checkShape(p Points) error {
	if p.Dims < 1 || p.Dims > MaxDims {
		return fmt.Errorf("dbscan: %d dimensions: want 1 to %d", p.Dims, MaxDims)
	}
	if len(p.Coords)%p.Dims != 0 {
		return fmt.Errorf("dbscan: %d coordinates are no whole number of rows of %d", len(p.Coords), p.Dims)
	}
	if n := p.Len(); n > math.MaxInt32 {
		return fmt.Errorf("dbscan: %d points: want at most %d", n, math.MaxInt32)
	}
	return nil
}

// mostWeight is how many points rows or cells may stand for, all together.
const mostWeight = 1 << 48

func checkWeights(p Points, weights []int64) error {
	if len(weights) != p.Len() {
		return fmt.Errorf("dbscan: %d weights for %d points", len(weights), p.Len())
	}
	var sum int64
	for i, w := range weights {
		if w < 1 || w > mostWeight-sum {
			return fmt.Errorf("dbscan: row %d has weight %d: want at least 1, and all together at most %d", i, w, int64(mostWeight))
		}
		sum += w
	}
	return nil
}

func checkFinite(p Points) error {
	for i, v := range p.Coords {
		if v-v != 0 { // NaN for NaN and for ±Inf, and cheaper than asking for each
			return &NotFiniteError{Row: i / p.Dims, Dim: i % p.Dims, Value: v}
		}
	}
	return nil
}
