package units

import (
	"fmt"
	"strconv"
	"strings"
)

// Count writes a number of things, of which there is the name of one: "1 burst", "5000 bursts", "2 classes".
func Count[N int | int64](n N, thing string) string { return fmt.Sprintf("%d %s", n, Plural(n, thing)) }

// Plural is the name of a thing as it follows their number: "burst" after 1, else "bursts".
func Plural[N int | int64](n N, thing string) string {
	if n == 1 {
		return thing
	}
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(thing, end) {
			return thing + "es"
		}
	}
	return thing + "s"
}

// Counted is Count with the number's thousands apart: "1,234 bursts".
func Counted(n int, thing string) string { return Integer(n) + " " + Plural(n, thing) }

// Integer writes a number with its thousands apart: 1,234,567.
func Integer(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
