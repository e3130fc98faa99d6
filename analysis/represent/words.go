package represent

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"moriens/internal/units"
)

// seconds writes a time with three digits and its unit.
func seconds(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if math.Abs(ns) >= .9995*u.ns {
			return digits(ns/u.ns) + " " + u.name
		}
	}
	return strconv.FormatFloat(math.Round(ns), 'f', -1, 64) + " ns"
}

// digits writes a number with three digits that count, and all of those before the point.
func digits(x float64) string {
	decimals := 2
	for limit := 9.995; decimals > 0 && math.Abs(x) >= limit; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// amount writes a value of a quantity with its unit.
func (q Quantity) amount(v float64) string {
	if q.scale() == moving {
		return units.Bytes(math.Round(v)).String()
	}
	return seconds(v)
}

// compared says how a value lies to another, of such-and-such: "31 % more time in cluster 2 than", "3.10 times as much
// time in cluster 2 as".
func compared(value, other float64, of string) string {
	much, less := "much", "less"
	if strings.HasPrefix(of, "bytes") { // which are counted
		much, less = "many", "fewer"
	}
	switch r := value / other; {
	case r >= 2:
		return fmt.Sprintf("%s times as %s %s as", digits(r), much, of)
	case r >= 1:
		return fmt.Sprintf("%s more %s than", percent(r-1), of)
	default:
		return fmt.Sprintf("%s %s %s than", percent(1-r), less, of)
	}
}

// percent writes a share, 0–1, with two digits that count, and all of those before the point.
func percent(share float64) string {
	p, decimals := 100*share, 0
	for limit := 9.95; decimals < 6 && p > 0 && p < limit; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(p, 'f', decimals, 64) + " %"
}

// Between writes a stretch of time with so many digits that begin and end differ.
func Between(beginNS, endNS int64) string {
	name, unit := "us", 1e3
	switch {
	case endNS >= 1e9:
		name, unit = "s", 1e9
	case endNS >= 1e6:
		name, unit = "ms", 1e6
	}
	decimals := 0
	for step := unit; step > 1 && step > float64(endNS-beginNS)/10; step /= 10 {
		decimals++
	}
	write := func(ns int64) string { return strconv.FormatFloat(float64(ns)/unit, 'f', decimals, 64) }
	return write(beginNS) + " to " + write(endNS) + " " + name
}

// span writes a range of numbers, the last one not included: "412", "412-413".
func span(from, to int) string {
	if to-from == 1 {
		return strconv.Itoa(from)
	}
	return fmt.Sprintf("%d-%d", from, to-1)
}
