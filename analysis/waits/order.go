package waits

import (
	"math"
	"math/bits"
	"slices"
)

// A due is a wait, by its place among those of its thread, and how long before the run's end it ends.
type due struct {
	ns uint64
	place
}

// digit is by how many bits waits are ordered at a time.
const digit = 11

// slice is how many waits are ordered at a time, about: what is needed for that fits a cache.
const slice = 1 << 15

// order are the waits by the time at which they end, the latest first; of those that end together by thread, the later
// call first. Those of a thread are in that order already, so that slices of time are ordered one after the other.
func (s *solver) order() []place {
	n, most, sorted := 0, uint64(0), true
	for i, list := range s.waits {
		n += len(list)
		for k := range list {
			most = max(most, s.beforeEnd(int32(i), k))
			sorted = sorted && (k == 0 || list[k-1].UntilNS <= list[k].UntilNS)
		}
	}
	shift := max(0, bits.Len64(most)-digit)
	var counts [1 << digit]int // by the first digit
	for i, list := range s.waits {
		for k := range list {
			counts[s.beforeEnd(int32(i), k)>>shift]++
		}
	}
	next := make([]int, len(s.waits)) // by thread: those that are not taken yet
	for i := range next {
		next[i] = len(s.waits[i])
	}
	places := make([]place, 0, n)
	var list, other []due
	sum := 0
	for d, count := range counts {
		sum += count
		if d < len(counts)-1 && (sum < slice || !sorted) {
			continue
		}
		list, sum = list[:0], 0
		for i := range next {
			k := next[i] - 1
			for ; k >= 0; k-- {
				ns := s.beforeEnd(int32(i), k)
				if ns>>shift > uint64(d) {
					break
				}
				list = append(list, due{ns, place{int32(i), int32(k)}})
			}
			next[i] = k + 1
		}
		other = slices.Grow(other[:0], len(list))[:len(list)]
		list, other = sortDues(list, other)
		for i := range list {
			places = append(places, list[i].place)
		}
	}
	return places
}

// beforeEnd is how long before the run's end a wait of a thread ends.
func (s *solver) beforeEnd(thread int32, k int) uint64 {
	return uint64(s.run.DurationNS - s.waits[thread][k].UntilNS)
}

// sortDues sorts by time, and keeps the order of those that are equal. Both lists have one length; the first result is
// the sorted one.
func sortDues(list, other []due) (sorted, rest []due) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for i := range list {
		least, most = min(least, list[i].ns), max(most, list[i].ns)
	}
	for shift := 0; len(list) > 0 && shift < bits.Len64(most-least); shift += digit {
		var at [1 << digit]int
		for i := range list {
			at[(list[i].ns-least)>>shift&(1<<digit-1)]++
		}
		sum := 0
		for d, count := range at {
			at[d] = sum
			sum += count
		}
		for i := range list {
			d := (list[i].ns - least) >> shift & (1<<digit - 1)
			other[at[d]] = list[i]
			at[d]++
		}
		list, other = other, list
	}
	return list, other
}
