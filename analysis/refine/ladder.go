package refine

import (
	"slices"

	"moriens/analysis/dbscan"
)

// ladderSteps is how many Eps a ladder has where the curve has room for them.
const ladderSteps = 10

// Ladder returns the Eps of a refinement, ascending: the values of a k-distance curve in descending order at a
// tenth, two tenths … of the way to its knee, whose Eps is the least; all of them where there are fewer than
// ten. Of these it leaves out the largest outliers values of the curve: above the knee no few points that lie apart
// shall say how far all the others may. Where there is no knee there is no ladder.
func Ladder(curve []float64, outliers int) []float64 {
	knee, ok := dbscan.FindKnee(curve)
	if !ok {
		return nil
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
	var eps []float64
	for _, i := range slices.Backward(at) {
		if i >= outliers || i == knee.Index {
			eps = append(eps, curve[i])
		}
	}
	return eps
}
