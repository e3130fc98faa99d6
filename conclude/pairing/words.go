package pairing

import (
	"strconv"

	"moriens/internal/units"
)

// count writes a number with its thousands apart.
func count(n int64) string { return units.Integer(int(n)) }

// duration writes nanoseconds as people do.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return digits(ns/1e9) + " s"
	case ns >= 1e6:
		return digits(ns/1e6) + " ms"
	case ns >= 1e3:
		return digits(ns/1e3) + " us"
	}
	return digits(ns) + " ns"
}

// digits writes a number with three of them before the decimal point, or two behind it.
func digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// size writes the size of a message: exactly, for sizes are what users look for.
func size(bytes int64) string {
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return units.Bytes(bytes).String()
	}
	return count(bytes) + " B"
}

// times writes a factor with two significant digits.
func times(x float64) string {
	switch {
	case x >= 100:
		return count(int64(x/10+.5) * 10)
	case x >= 9.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
