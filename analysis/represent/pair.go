package represent

import (
	"fmt"
	"math"
	"strings"
)

// pairDiffers is by which share of the larger value two threads differ in what is worth reporting.
const pairDiffers = .15

// pairOf says in what two threads differ most, those that are alone in the run; "" where in nothing that matters.
func pairOf(r *Ranks, v *vectors) string {
	best := farthest(r.Quantities, v, r.row(0), r.row(1), pairDiffers)
	if best < 0 {
		return ""
	}
	of := r.Quantities[best]
	high, low := 0, 1
	if r.row(1)[best] > r.row(0)[best] {
		high, low = 1, 0
	}
	value, other := r.row(high)[best], r.row(low)[best]
	verb, what, in := of.words()
	if other == 0 {
		return fmt.Sprintf("%s %s %s%s, %s none", r.Name.name(high), verb, of.amount(value), in, r.Name.name(low))
	}
	return fmt.Sprintf("%s %s %s %s (%s and %s)", r.Name.name(high), verb, compared(value, other, what), r.Name.name(low), of.amount(value), of.amount(other))
}

// farthest is the quantity in which two rows differ most for its scale, by a share of the larger value at least; -1:
// there is none.
func farthest(quantities []Quantity, v *vectors, one, other []float64, share float64) int {
	best, most := -1, 0.
	for q := range quantities {
		if d := apartIn(quantities[q], v, one[q], other[q], share); d > most {
			best, most = q, d
		}
	}
	return best
}

// apartIn is how far apart two values of a quantity are for its scale; 0 where that does not matter.
func apartIn(of Quantity, v *vectors, a, b, share float64) float64 {
	scale := v.scale[of.scale()]
	d := math.Abs(a - b)
	if of.Kind == CausedNS || of.Kind == SufferedNS || scale == 0 || d < share*max(a, b) || d < minShare*scale {
		return 0
	}
	return d / scale
}

// differs says in what a class differs most from another: the quantity that is farthest apart, and beside it the
// farthest of another scale; "" where in nothing that matters.
func differs(quantities []Quantity, v *vectors, median, other []float64) string {
	first := farthest(quantities, v, median, other, 0)
	if first < 0 {
		return ""
	}
	second, most := -1, 0.
	for q, of := range quantities {
		if d := apartIn(of, v, median[q], other[q], DefaultFloor); d > most && of.scale() != quantities[first].scale() {
			second, most = q, d
		}
	}
	text := differsIn(quantities[first], median[first], other[first])
	if second >= 0 {
		text += ", " + differsIn(quantities[second], median[second], other[second])
	}
	return text
}

// differsIn says how the medians of a quantity differ: "30 % more time in cluster 1 (1.30 s instead of 1.00 s)".
func differsIn(of Quantity, a, b float64) string {
	_, what, in := of.words()
	switch of.Kind {
	case SentBytes:
		what, in = "bytes sent", " sent"
	case ReceivedBytes:
		what, in = "bytes received", " received"
	}
	switch {
	case b == 0:
		return of.amount(a) + in + " instead of none"
	case a == 0:
		return "no " + what + " instead of " + of.amount(b)
	}
	return fmt.Sprintf("%s (%s instead of %s)", than(a, b, what), of.amount(a), of.amount(b))
}

// than is compared without what it is compared with.
func than(value, other float64, of string) string {
	text := compared(value, other, of)
	return text[:strings.LastIndex(text, " ")]
}
