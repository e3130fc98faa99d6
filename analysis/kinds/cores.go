package kinds

import (
	"math"
	"math/bits"

	"moriens/internal/team"
)

// Cores are by cluster the median of its bursts' durations, ns, and half their quartile range over that: what a single
// long burst does not change. Both are right to a thousandth; NaN for a cluster without bursts. of gives the cluster of
// each of n bursts here, or None. It is collective.
func Cores(t team.Threads, workers, n, clusters int, of func(i int) int32, durationNS func(i int) int64) (medianNS, core []float64, err error) {
	defer team.Leave("kinds", &err)
	c := &executor{team.Panicking{Threads: t}, workers, nil}
	spreads := spreadsOf(c, n, of, clusters, func(i int) int32 { return Step(durationNS(i)) })
	medianNS, core = make([]float64, clusters), make([]float64, clusters)
	for k := range spreads {
		s := &spreads[k][0]
		medianNS[k] = lengthOf(s.quantile(.5))
		core[k] = (lengthOf(s.quantile(.75)) - lengthOf(s.quantile(.25))) / 2 / medianNS[k]
	}
	return medianNS, core, nil
}

// stepBits is how many bits of a duration count.
const stepBits = 10

// Step numbers durations, ascending, with 16 bits: right to a thousandth. OfStep is the middle of those that have a
// number.
func Step(ns int64) int32 {
	shift := max(0, bits.Len64(uint64(ns))-stepBits-1)
	return int32(shift<<stepBits + int(ns>>shift))
}

// OfStep is the middle of the durations that have a number of Step.
func OfStep(step int32) int64 { return int64(lengthOf(float64(step) + .5)) }

func lengthOf(middle float64) float64 {
	if math.IsNaN(middle) {
		return middle
	}
	at := int(middle)
	if at < 2<<stepBits {
		return float64(at)
	}
	shift := at>>stepBits - 1
	return (float64(at-shift<<stepBits) + .5) * math.Exp2(float64(shift))
}
