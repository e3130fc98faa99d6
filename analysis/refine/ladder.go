package refine

import (
	"slices"

	"moriens/analysis/dbscan"
)

// ladderSteps is how many Eps a ladder has where the curve has room for them.
const ladderSteps = 10

// Ladder returns the Eps of a refinement, ascending: the values of a k-distance curve in descending order at a
// tenth, two tenths … of the way to its knee, whose Eps is the least; all of them where there are fewer than
// ten. Where there is no knee there is no ladder.
func Ladder(curve []float64) []float64 {
	knee, ok := dbscan.FindKnee(curve)
	if !ok {
		return nil
	}
	begin := knee.Index - knee.Range
	var eps []float64
	if knee.Range < ladderSteps {
		eps = slices.Clone(curve[begin : knee.Index+1])
	} else {
		for step := range ladderSteps {
			eps = append(eps, curve[begin+10*(step+1)*knee.Range/100])
		}
	}
	slices.Reverse(eps)
	return eps
}
