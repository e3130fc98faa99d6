package dbscan

import (
	"fmt"
	"math"
	"slices"
)

// DefaultQueries is how many points KDistance asks from 2-D on: enough for a rank error of the
// distances below 1.6 % with 99 % confidence.
const DefaultQueries = 10_000

// KDistance returns the k-distance curve (Ester et al., KDD'96, section 4.2): distances to the k-th
// nearest neighbour, the point itself not counted, in descending order. In 1-D it holds all points.
// From 2-D on at most queries points, or DefaultQueries if queries is below 1, are asked, the same
// ones in every call; their neighbours are always sought among all points. k must be ≥ 1. Where
// there is no k-th neighbour, k ≥ n, the curve is empty. Distances of less than 2^-1000 of the longest side of the
// points' box are not told from 0.
func (x *Index) KDistance(k, queries int) ([]float64, error) {
	if k < 1 {
		return nil, fmt.Errorf("dbscan: neighbour %d: want at least 1", k)
	}
	if k >= x.points.Len() {
		return nil, nil
	}
	var curve []float64
	if x.points.Dims == 1 {
		curve = x.line().kDistance(k, x.threads)
	} else {
		curve = x.asked().kDistance(nil, k, queries, x.threads)
	}
	sortRows(curve, nil, x.threads)
	slices.Reverse(curve)
	return curve, nil
}

// WeightedKDistance is Index.KDistance for points that stand for several, above 0, each: weights says for
// how many. In 1-D, too, at most queries of all these are asked.
func WeightedKDistance(p Points, weights []int64, k, queries, threads int) ([]float64, error) {
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("dbscan: neighbour %d: want at least 1", k)
	}
	if err := checkWeights(p, weights); err != nil {
		return nil, err
	}
	var n int64
	for _, w := range weights {
		n += w
	}
	if int64(k) >= n {
		return nil, nil
	}
	t := newTree(p, largeLeaf, threads)
	curve := t.kDistance(t.weigh(weights), k, queries, threads)
	slices.Sort(curve)
	slices.Reverse(curve)
	return curve, nil
}

// kDistance asks about one point of each of so many stretches of the tree's order, so that all regions are
// asked about as their points are many. before is as in ranking.
func (t *tree) kDistance(before []int64, k, queries, threads int) []float64 {
	if queries < 1 {
		queries = DefaultQueries
	}
	n := len(t.rows)
	if before != nil {
		n = int(before[n])
	}
	queries = min(queries, n)
	t = t.scaled(scaleFor(t.extent(), 500)) // as large as squares allow: small ones are looked for
	curve := make([]float64, queries)
	inBatches(queries, fewAtATime, threads, func(next func() (int, int, bool)) {
		r := ranking{tree: t, before: before}
		asked, answer := int32(-1), 0.
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				first, behind := chunk(n, queries, i)
				at := first + int(mix(uint64(i))%uint64(behind-first))
				if before != nil {
					at, _ = slices.BinarySearch(before, int64(at)+1)
					at--
				}
				if int32(at) != asked { // several queries may be about one place
					asked, answer = int32(at), math.Sqrt(r.neighbour2(t.point(int32(at)), int64(k)+1))/t.scale
				}
				curve[i] = answer
			}
		}
	})
	return curve
}

// mix is the mixing function of SplitMix64 (Steele, Lea and Flood, OOPSLA'14).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A Knee is where a k-distance curve bends from the steep descent over its sparse points.
type Knee struct {
	Index int     // into the curve
	Range int     // Index minus where the search began, R: how far down a refinement may take Eps from
	Eps   float64 // the curve's value at Index, the Eps of a clustering with one density
}

// FindKnee finds the knee of a k-distance curve in descending order: of the 0.5 % to 50 % largest
// distances, the first that lies farthest below the straight line that falls from the first of them, at
// index 0, to zero at the last
// (González, Huck, Giménez and Labarta, IPDPSW'12, as ClusteringSuite does it).
//
// It is not ok where no point lies below that line: fewer than 5 values, all values equal, all zero,
// or a curve that bulges outwards. Such a curve gives no Eps, and the caller needs another.
func FindKnee(curve []float64) (knee Knee, ok bool) {
	n := len(curve)
	lo, half := 5*n/1000, 995*n/1000/2
	if half < 1 {
		return Knee{}, false
	}
	top := curve[lo]
	slope := top / float64(half)
	var farthest float64
	for i := lo; i < half; i++ { // at half the line is at zero, and no distance is below that
		if below := top - float64(slope*float64(i)) - curve[i]; below > farthest {
			farthest = below
			knee = Knee{Index: i, Range: i - lo, Eps: curve[i]}
			ok = true
		}
	}
	return knee, ok
}
