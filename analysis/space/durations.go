package space

import "math"

// Durations are a histogram of durations that come over time, as fine as 1/256 of themselves: what Filter.Auto
// needs to know of them. The zero Durations holds none.
type Durations struct {
	count int
	zeros bool  // some are 0
	total int64 // ns
	sums  []int64
}

// Add adds a duration ≥ 0.
func (h *Durations) Add(ns int64) {
	if h.sums == nil {
		h.sums = make([]int64, bucket(math.MaxInt64)+1)
	}
	h.count++
	h.zeros = h.zeros || ns == 0
	h.total += ns
	h.sums[bucket(ns)] += ns
}

// TotalNS is the sum of all durations.
func (h *Durations) TotalNS() int64 { return h.total }

// AutoMinNS is the limit that Filter.Auto finds for these durations, as if each were the least of those that are
// alike to 1/256.
func (h *Durations) AutoMinNS() int64 {
	total := h.total
	if h.count >= autoCommon {
		total = h.commonTime()
	}
	if total == 0 {
		return 0
	}
	room := (total - 1) / autoParts
	at := 0
	for h.sums[at] <= room {
		room -= h.sums[at]
		at++
	}
	return leastOf(at)
}

// commonTime is the sum of the durations without those that dominate it.
func (h *Durations) commonTime() int64 {
	total, largest := h.total, int64(math.MaxInt64)
	for {
		sum, some := int64(0), false
		for at, here := range h.sums {
			if leastOf(at) <= largest {
				sum += here
				some = some || here > 0 || at == 0 && h.zeros
			}
		}
		switch {
		case !some: // all that is left are a few long ones
			return total
		case largest < math.MaxInt64 && sum == total:
			return total
		}
		total, largest = sum, min(largest, sum/dominates)
	}
}

// leastOf is the smallest duration in a bucket.
func leastOf(at int) int64 {
	if at < 2<<bucketBits {
		return int64(at)
	}
	shift := at>>bucketBits - 1
	return int64(at-shift<<bucketBits) << shift
}
