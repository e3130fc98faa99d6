package refine

import (
	"slices"

	"moriens/analysis/dbscan"
)

// ladderSteps is how many Eps a ladder has where the curve has room for them.
const ladderSteps = 10

// A Curve is a k-distance curve, distances in descending order, as a *dbscan.Curve is, whose methods are collective
// where members of a team have parts of it.
type Curve interface {
	At(places ...int) ([]float64, error)
	Knee() (knee dbscan.Knee, ok bool, err error)
}

// Ladder returns the Eps of a refinement, ascending: the values of a curve at a
// tenth, two tenths … of the way to its knee, whose Eps is the least; all of them where there are fewer than
// ten. Of these it leaves out the largest outliers values of the curve: above the knee no few points that lie apart
// shall say how far all the others may. Where there is no knee there is no ladder.
func Ladder(curve Curve, outliers int) ([]float64, error) {
	knee, ok, err := curve.Knee()
	if err != nil || !ok {
		return nil, err
	}
	begin := knee.Index - knee.Range
	var at []int
	if knee.Range < ladderSteps {
		for i := begin; i <= knee.Index; i++ {
			at = append(at, i)
		}
	} else {
		for step := range ladderSteps {
			at = append(at, begin+10*(step+1)*knee.Range/100)
		}
	}
	at = slices.DeleteFunc(at, func(i int) bool { return i < outliers && i != knee.Index })
	slices.Reverse(at)
	return curve.At(at...)
}
