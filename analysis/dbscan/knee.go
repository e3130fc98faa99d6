package dbscan

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/mix"
)

// DefaultQueries is how many points KDistance asks from 2-D on: enough for a rank error of the
// distances below 1.6 % with 99 % confidence.
const DefaultQueries = 10_000

// KDistance returns the k-distance curve (Ester et al., KDD'96, section 4.2): distances to the k-th
// nearest neighbour, the point itself not counted, in descending order. In 1-D it holds all points.
// From 2-D on at most queries points, or DefaultQueries if queries is below 1, are asked, a sample by their order, the
// same in every call; their neighbours are always sought among all points. k must be ≥ 1. Where there is no k-th
// neighbour, k ≥ n, the curve is empty. Distances of less than 2^-1000 of the longest side of the points' box are not
// distinguished from 0.
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
		curve = x.asked().kDistance(x.points, nil, k, queries, x.threads)
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
	curve := newTree(p, largeLeaf, threads).weighed(weights).kDistance(p, weights, k, queries, threads)
	slices.Sort(curve)
	slices.Reverse(curve)
	return curve, nil
}

// queriesAmong is how many of some points are asked about, where queries are wanted.
func queriesAmong(n int64, queries int) int {
	if queries < 1 {
		queries = DefaultQueries
	}
	return int(min(int64(queries), n))
}

// queryRow is the point, of n in the order of their rows, that a query is about: one of each of so many stretches of
// them, so that bursts are asked about as they are many, at all times of all threads.
func queryRow(n int64, queries, i int) int64 {
	first, behind := workers.Chunk(int(n), queries, i)
	return int64(first) + int64(mix.Bits(uint64(i))%uint64(behind-first))
}

// kDistance asks about a sample of the tree's points p, which stand for as many as weights says, or for one each.
func (t *tree) kDistance(p Points, weights []int64, k, queries, threads int) []float64 {
	n := int64(len(t.rows))
	var before []int64 // points before each row
	if weights != nil {
		n = 0
		for _, w := range weights {
			before = append(before, n)
			n += w
		}
	}
	queries = queriesAmong(n, queries)
	t = t.scaled(scaleFor(t.extent(), lookScale))
	curve := make([]float64, queries)
	inBatches(queries, fewAtATime, threads, func(next func() (int, int, bool)) {
		r := ranking{tree: t}
		asked, answer := -1, 0.
		for begin, end, ok := next(); ok; begin, end, ok = next() {
			for i := begin; i < end; i++ {
				row := int(queryRow(n, queries, i))
				if before != nil {
					row, _ = slices.BinarySearch(before, int64(row)+1)
					row--
				}
				if row != asked { // several queries may be about one place
					asked = row
					answer = math.Sqrt(r.neighbour2(p.Coords[row*p.Dims:(row+1)*p.Dims], int64(k)+1)) / t.scale
				}
				curve[i] = answer
			}
		}
	})
	return curve
}

// lookScale is the power of two to which a tree is scaled whose small distances are looked for: as large as squares
// allow.
const lookScale = 500

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
	line, ok := newDescent(len(curve))
	if !ok {
		return Knee{}, false
	}
	line.top = curve[line.from]
	at, depth := line.farthest(line.from, line.half, func(i int) float64 { return curve[i] })
	if !(depth > 0) {
		return Knee{}, false
	}
	return Knee{Index: at, Range: at - line.from, Eps: curve[at]}, true
}

// A descent is the straight line that a curve is below at its knee: from its distance at a place to zero at half.
type descent struct {
	from, half int
	top        float64
}

// newDescent is not ok where a curve has too few distances.
func newDescent(n int) (d descent, ok bool) {
	d = descent{from: 5 * n / 1000, half: 995 * n / 1000 / 2}
	return d, d.half >= 1
}

// farthest returns the first of some places where the curve is farthest below the line, and how far, 0 if it is nowhere
// below.
func (d *descent) farthest(begin, end int, curve func(i int) float64) (at int, depth float64) {
	slope := d.top / float64(d.half)
	for i := begin; i < end; i++ { // at half the line is at zero, and no distance is below that
		if below := d.top - float64(slope*float64(i)) - curve(i); below > depth {
			at, depth = i, below
		}
	}
	return at, depth
}
