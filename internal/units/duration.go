package units

import (
	"math"
	"strconv"
)

// Duration prints nanoseconds with three significant digits in the unit that suits.
func Duration(ns float64) string {
	switch {
	case ns == 0:
		return "0 s"
	case math.Abs(ns) >= 1e12:
		return Integer(int(math.Round(ns/1e9))) + " s"
	}
	scale := []struct {
		ns   float64
		name string
	}{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}
	u := scale[0]
	for _, larger := range scale[1:] {
		if math.Abs(ns) < 0.9995*larger.ns { // what rounds to 1000 of a unit is 1 of the next
			break
		}
		u = larger
	}
	return Significant(ns/u.ns) + " " + u.name
}

// Significant prints three significant digits, and all digits before the point.
func Significant(x float64) string {
	digits := 2
	if x != 0 {
		power := math.Floor(math.Log10(math.Abs(x) * 1.0005)) // 99.96 has three digits when it is rounded
		digits = min(max(2-int(power), 0), 2)
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
