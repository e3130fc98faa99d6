package represent

import (
	"fmt"
	"math"
)

// pairDiffers is by which share of the larger value two threads differ in what is worth telling.
const pairDiffers = .15

// pairOf says in what two threads differ most, those that are alone in the run; "" where in nothing that matters.
func pairOf(r *Ranks, v *vectors) string {
	best, most := -1, 0.
	for q, of := range r.Quantities {
		a, b := r.row(0)[q], r.row(1)[q]
		scale := v.scale[of.scale()]
		d := math.Abs(a - b)
		if of.Kind == CausedNS || of.Kind == SufferedNS || d < pairDiffers*max(a, b) || d < minShare*scale || d/scale <= most {
			continue
		}
		best, most = q, d/scale
	}
	if best < 0 {
		return ""
	}
	of := r.Quantities[best]
	high, low := 0, 1
	if r.row(1)[best] > r.row(0)[best] {
		high, low = 1, 0
	}
	value, other := r.row(high)[best], r.row(low)[best]
	verb, what, in := "spends", "time in "+of.place(), " in "+of.place()
	switch of.Kind {
	case SentBytes:
		verb, what, in = "sends", "bytes", ""
	case ReceivedBytes:
		verb, what, in = "receives", "bytes", ""
	}
	if other == 0 {
		return fmt.Sprintf("%s %s %s%s, %s none", r.Name.name(high), verb, of.amount(value), in, r.Name.name(low))
	}
	return fmt.Sprintf("%s %s %s %s (%s and %s)", r.Name.name(high), verb, compared(value, other, what), r.Name.name(low), of.amount(value), of.amount(other))
}
