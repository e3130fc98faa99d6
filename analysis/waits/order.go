package waits

import "math/bits"

// A due is a wait, by its place among those of its thread, and how long before the run's end it ends.
type due struct {
	ns uint64
	place
}

// digit is by how many bits waits are ordered at a time.
const digit = 11

// order are the waits by the time at which they end, the latest first; of those that end together by thread, the later
// call first.
func (s *solver) order() []place {
	n, most := 0, uint64(0)
	for i := range s.waits {
		n += len(s.waits[i])
	}
	list := make([]due, 0, n)
	for i := range s.waits {
		for k := len(s.waits[i]) - 1; k >= 0; k-- {
			ns := uint64(s.run.DurationNS - s.waits[i][k].UntilNS)
			most = max(most, ns)
			list = append(list, due{ns, place{int32(i), int32(k)}})
		}
	}
	other := make([]due, n)
	for shift := 0; shift < bits.Len64(most); shift += digit {
		var at [1 << digit]int
		for i := range list {
			at[list[i].ns>>shift&(1<<digit-1)]++
		}
		sum := 0
		for d, count := range at {
			at[d] = sum
			sum += count
		}
		for i := range list {
			d := list[i].ns >> shift & (1<<digit - 1)
			other[at[d]] = list[i]
			at[d]++
		}
		list, other = other, list
	}
	places := make([]place, n)
	for i := range list {
		places[i] = list[i].place
	}
	return places
}
