package units

import (
	"fmt"
	"strings"
)

// Count writes a number of things, of which there is the name of one: "1 burst", "5000 bursts", "2 classes".
func Count[N int | int64](n N, thing string) string { return fmt.Sprintf("%d %s", n, Plural(n, thing)) }

// Plural is the name of a thing as it stands behind their number: "burst" behind 1, else "bursts".
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
