package team

import "slices"

// Bounds is collective: it replaces each value of lo by the least, and each of hi by the largest, that any member has
// at its place. All give equally many, and no NaN.
func Bounds(t Team, lo, hi []float64) error {
	if t.Size() == 1 {
		return nil
	}
	all, err := Gather(t, slices.Concat(lo, hi))
	if err != nil {
		return err
	}
	for _, other := range all {
		for i, v := range other[:len(lo)] {
			lo[i] = min(lo[i], v)
		}
		for i, v := range other[len(lo):] {
			hi[i] = max(hi[i], v)
		}
	}
	return nil
}
