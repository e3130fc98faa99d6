package space

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Durations are a histogram of durations that come over time, as fine as 1/256 of themselves: what Filter.Auto
// needs to know of them. The zero Durations holds none.
type Durations struct {
	count int
	zeros bool  // some are 0
	total int64 // ns
	sums  []int64
}

// Add adds a duration ≥ 0.
func (h *Durations) Add(ns int64) { h.AddAlike(1, ns) }

// AddAlike adds so many durations, above 0, of which the sum is known: as if all were the mean.
func (h *Durations) AddAlike(count, totalNS int64) {
	if h.sums == nil {
		h.sums = make([]int64, bucket(math.MaxInt64)+1)
	}
	mean := totalNS / count
	h.count += int(count)
	h.zeros = h.zeros || mean == 0
	h.total += totalNS
	h.sums[bucket(mean)] += totalNS
}

// Merge adds what another histogram holds.
func (h *Durations) Merge(o *Durations) {
	if o.sums == nil {
		return
	}
	if h.sums == nil {
		h.sums = make([]int64, len(o.sums))
	}
	h.count += o.count
	h.zeros = h.zeros || o.zeros
	h.total += o.total
	for at, sum := range o.sums {
		h.sums[at] += sum
	}
}

// MarshalBinary writes the histogram: how many there are, whether some are 0, and each bucket that has time, by the
// distance to the one before, with its sum.
func (h *Durations) MarshalBinary() ([]byte, error) {
	zeros := uint64(0)
	if h.zeros {
		zeros = 1
	}
	text := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(h.count)), zeros)
	last := 0
	for at, sum := range h.sums {
		if sum > 0 {
			text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(at-last)), uint64(sum))
			last = at
		}
	}
	return text, nil
}

// UnmarshalBinary reads what MarshalBinary has written.
func (h *Durations) UnmarshalBinary(text []byte) error {
	*h = Durations{}
	next := func() (int64, error) {
		n, size := binary.Uvarint(text)
		switch {
		case size <= 0:
			return 0, errors.New("a histogram of durations ends in the middle")
		case n > math.MaxInt64:
			return 0, fmt.Errorf("a histogram of durations has a number of %d", n)
		}
		text = text[size:]
		return int64(n), nil
	}
	count, err := next()
	if err != nil {
		return err
	}
	zeros, err := next()
	if err != nil {
		return err
	}
	if count > 0 {
		h.sums = make([]int64, bucket(math.MaxInt64)+1)
	}
	h.count, h.zeros = int(count), zeros != 0
	for at := int64(0); len(text) > 0; {
		distance, err := next()
		if err != nil {
			return err
		}
		sum, err := next()
		if err != nil {
			return err
		}
		if distance >= int64(len(h.sums))-at {
			return errors.New("a histogram of durations has a bucket too many")
		}
		if sum > math.MaxInt64-h.total {
			return errors.New("a histogram of durations has more than 292 years")
		}
		at += distance
		h.sums[at] += sum
		h.total += sum
	}
	return nil
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
