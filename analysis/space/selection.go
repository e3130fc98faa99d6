package space

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Status says whether a burst is clustered, and if not, why. Where several reasons hold, the first of
// these is given: a counter was not read, the burst is short, a dimension has no value, out of range.
type Status uint8

// The statuses of a burst.
const (
	Complete   Status = iota // has coordinates
	Missing                  // lacks a counter, or a quantity has no value: a division by 0, the log of 0
	Short                    // filtered by duration
	OutOfRange               // filtered by a Range
	statuses
)

// A Filter says which bursts to leave out. The zero Filter leaves out none.
type Filter struct {
	MinNS int64 // bursts shorter than this
	// Auto finds MinNS: the largest duration such that all shorter bursts together make up less than
	// AutoShare of the computing time of all bursts. Bursts of one duration go or stay together. Of
	// autoCommon bursts and more, those that alone have more than a tenth of the time (a start-up, a wait
	// that is no MPI call) are no measure for the others and do not count.
	Auto   bool
	Ranges []Range
}

// AutoShare is the share of computing time below which Filter.Auto stays: 1/autoParts.
const AutoShare = 1. / autoParts

const autoParts = 100

// A Selection says which bursts are clustered.
type Selection struct {
	Status []Status // per burst
	MinNS  int64    // shorter bursts are filtered; 0 = none are
	// By Status: how many bursts, and their total duration.
	Bursts [statuses]int
	TimeNS [statuses]int64

	ranges []Range
	ranged []quantity
}

// TotalNS is the computing time of all bursts.
func (s *Selection) TotalNS() int64 {
	var total int64
	for _, t := range s.TimeNS {
		total += t
	}
	return total
}

// Share is the share of the computing time of all bursts that those with a status have, 0–1; 0 if
// there is no computing time.
func (s *Selection) Share(status Status) float64 {
	if total := s.TotalNS(); total > 0 {
		return float64(s.TimeNS[status]) / float64(total)
	}
	return 0
}

// ErrTooLong says that the time of all bursts cannot be summed up.
var ErrTooLong = errors.New("with this one all bursts together last over 292 years")

// Select applies a filter. A negative MinNS, or one beside Auto, a range of an unknown counter, and bursts that
// together last too long are errors.
func (s *Space) Select(f Filter) (*Selection, error) {
	if f.MinNS < 0 {
		return nil, fmt.Errorf("space: minimal duration %d ns: want one ≥ 0", f.MinNS)
	}
	if f.Auto && f.MinNS != 0 {
		return nil, fmt.Errorf("space: a minimal duration of %d ns and an automatic one: want one of them", f.MinNS)
	}
	var total int64
	for row, d := range s.columns.DurationNS {
		if d > math.MaxInt64-total {
			return nil, fmt.Errorf("space: burst %d: %w", row, ErrTooLong)
		}
		total += d
	}
	var ranged []quantity
	for _, r := range f.Ranges {
		q, err := s.find(r.Num, r.Den)
		if err != nil {
			return nil, fmt.Errorf("space: range: %w", err)
		}
		ranged = append(ranged, q)
	}
	sel := &Selection{Status: make([]Status, s.columns.Len()), MinNS: f.MinNS, ranges: f.Ranges, ranged: ranged}
	if f.Auto {
		sel.MinNS = autoMinNS(s.columns.DurationNS)
	}
	for row, duration := range s.columns.DurationNS {
		status := sel.judge(s, row, sel.MinNS)
		sel.Status[row] = status
		sel.Bursts[status]++
		sel.TimeNS[status] += duration
	}
	return sel, nil
}

// Readmit makes of a Short burst what it is without a duration filter.
func (s *Space) Readmit(sel *Selection, row int) {
	duration := s.columns.DurationNS[row]
	sel.Bursts[sel.Status[row]]--
	sel.TimeNS[sel.Status[row]] -= duration
	status := sel.judge(s, row, 0)
	sel.Status[row] = status
	sel.Bursts[status]++
	sel.TimeNS[status] += duration
}

func (sel *Selection) judge(s *Space, row int, minNS int64) Status {
	switch {
	case s.unread(row):
		return Missing
	case s.columns.DurationNS[row] < minNS:
		return Short
	case s.undefined(row):
		return Missing
	case outside(sel.ranges, sel.ranged, row):
		return OutOfRange
	}
	return Complete
}

// unread says that a counter which a dimension needs was not read.
func (s *Space) unread(row int) bool {
	for _, q := range s.axes {
		if q.num[row] < 0 || q.den != nil && q.den[row] < 0 {
			return true
		}
	}
	return false
}

// undefined says that a dimension has no value, though all that it needs was read.
func (s *Space) undefined(row int) bool {
	for j, q := range s.axes {
		v, ok := q.value(row)
		if !ok || s.scales[j] == Log && v <= 0 {
			return true
		}
	}
	return false
}

func outside(ranges []Range, ranged []quantity, row int) bool {
	for i, r := range ranges {
		if v, ok := ranged[i].value(row); !ok || v < r.Min || v > r.Max {
			return true
		}
	}
	return false
}

func autoMinNS(durations []int64) int64 {
	if len(durations) >= autoCommon {
		return shareMinNS(durations, commonTime(durations))
	}
	var total int64
	for _, d := range durations {
		total += d
	}
	return shareMinNS(durations, total)
}

const autoCommon = 100

// shareMinNS finds the duration below which all bursts together have less than AutoShare of total. It
// sums durations in buckets as fine as 1/256 of themselves and looks closer only at the
// one in which the limit lies.
func shareMinNS(durations []int64, total int64) int64 {
	sums := make([]int64, bucket(1<<63-1)+1)
	for _, d := range durations {
		sums[bucket(d)] += d
	}
	if total == 0 {
		return 0
	}
	room := (total - 1) / autoParts // a sum up to here is less than total/autoParts
	at := 0
	for sums[at] <= room {
		room -= sums[at]
		at++
	}
	var within []int64
	for _, d := range durations {
		if bucket(d) == at {
			within = append(within, d)
		}
	}
	slices.Sort(within)
	for i := 0; ; {
		same := i
		for same < len(within) && within[same] == within[i] {
			same++
		}
		if sum := int64(same-i) * within[i]; sum <= room {
			room -= sum
			i = same
			continue
		}
		return within[i]
	}
}

// commonTime is the sum of the durations without those that dominate it.
func commonTime(durations []int64) int64 {
	total, largest := int64(0), int64(math.MaxInt64)
	for {
		sum := int64(0)
		for _, d := range durations {
			if d <= largest {
				sum += d
			}
		}
		if sum == total {
			return total
		}
		total, largest = sum, min(largest, sum/dominates)
		if !slices.ContainsFunc(durations, func(d int64) bool { return d <= largest }) {
			return total // all that is left are a few long ones
		}
	}
}

// dominates is the reciprocal of the share of computing time above which a single burst is no measure for
// the others.
const dominates = 10

const bucketBits = 8

// bucket numbers durations ascending: every power of two has 2^bucketBits buckets.
func bucket(d int64) int {
	shift := max(0, bits.Len64(uint64(d))-bucketBits-1)
	return shift<<bucketBits + int(d>>shift)
}
