package space

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Status reports whether a burst is clustered, and if not, why. Where several reasons hold, the first of
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

// AutoShare is the share of computing time that Filter.Auto leaves out at most: 1/autoParts.
const AutoShare = 1. / autoParts

const autoParts = 100

// A Selection says which bursts are clustered.
type Selection struct {
	Status []Status // per burst, of this member
	MinNS  int64    // shorter bursts are filtered; 0 = none are
	// By Status: how many bursts, of all members, and their total duration.
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

// ErrTooLong says that the time of all bursts cannot be summed up.
var ErrTooLong = errors.New("with this one all bursts together last over 292 years")

// Select applies a filter, to the bursts of all members. A negative MinNS, or one beside Auto, a range of an unknown
// counter, and bursts that together last too long are errors.
func (s *Space) Select(f Filter) (*Selection, error) {
	if f.MinNS < 0 {
		return nil, fmt.Errorf("space: minimal duration %d ns: want one ≥ 0", f.MinNS)
	}
	if f.Auto && f.MinNS != 0 {
		return nil, fmt.Errorf("space: a minimal duration of %d ns and an automatic one: want one of them", f.MinNS)
	}
	total, err := s.totalNS()
	if err != nil {
		return nil, err
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
		if sel.MinNS, err = s.autoMinNS(total); err != nil {
			return nil, err
		}
	}
	parts := make([]tally, max(1, s.Workers))
	workers.Chunks(len(sel.Status), s.Workers, func(w, from, to int) {
		for row := from; row < to; row++ {
			status := sel.classify(s, row, sel.MinNS)
			sel.Status[row] = status
			parts[w].add(status, 1, s.columns.DurationNS[row])
		}
	})
	var change tally
	for _, part := range parts {
		for i, n := range part {
			change[i] += n
		}
	}
	return sel, sel.change(s.team, &change)
}

// totalNS is the time of the bursts of all members.
func (s *Space) totalNS() (int64, error) {
	var mine int64
	var bad error
	for row, d := range s.columns.DurationNS {
		if d > math.MaxInt64-mine {
			bad = fmt.Errorf("space: burst %d: %w", row, ErrTooLong)
			break
		}
		mine += d
	}
	if err := team.Explain(s.team, bad); err != nil {
		return 0, err
	}
	all, err := team.Gather(s.team, []int64{mine})
	if err != nil {
		return 0, err
	}
	var total int64
	for rank, of := range all {
		if of[0] > math.MaxInt64-total {
			return 0, fmt.Errorf("space: the last burst of member %d: %w", rank, ErrTooLong)
		}
		total += of[0]
	}
	return total, nil
}

// A tally is how many bursts there are by status, and their time.
type tally [2 * statuses]int64

func (c *tally) add(status Status, bursts, timeNS int64) {
	c[status] += bursts
	c[statuses+status] += timeNS
}

// change adds to the sums what all members have.
func (sel *Selection) change(t team.Team, c *tally) error {
	if err := t.AllReduce(c[:], team.Sum); err != nil {
		return err
	}
	for status := range statuses {
		sel.Bursts[status] += int(c[status])
		sel.TimeNS[status] += c[statuses+status]
	}
	return nil
}

// Readmit makes of Short bursts, this member's, what they are without a duration filter.
func (s *Space) Readmit(sel *Selection, rows []int32) error {
	var change tally
	for _, row := range rows {
		duration := s.columns.DurationNS[row]
		change.add(sel.Status[row], -1, -duration)
		sel.Status[row] = sel.classify(s, int(row), 0)
		change.add(sel.Status[row], 1, duration)
	}
	return sel.change(s.team, &change)
}

func (sel *Selection) classify(s *Space, row int, minNS int64) Status {
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

// unread reports whether a counter which a dimension needs was not read.
func (s *Space) unread(row int) bool {
	for _, q := range s.axes {
		if q.num[row] < 0 || q.den != nil && q.den[row] < 0 {
			return true
		}
	}
	return false
}

// undefined reports whether a dimension has no value, though all that it needs was read.
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

// autoMinNS is the limit of Filter.Auto for the durations of all members, whose sum is total.
func (s *Space) autoMinNS(total int64) (int64, error) {
	count := []int64{int64(s.columns.Len())}
	err := s.team.AllReduce(count, team.Sum)
	if err == nil && count[0] >= autoCommon {
		total, err = s.commonTime()
	}
	if err != nil || total == 0 {
		return 0, err
	}
	return s.shareMinNS(total)
}

const autoCommon = 100

// shareMinNS finds the duration below which all bursts together have less than AutoShare of total. It
// sums durations in buckets as fine as 1/256 of themselves and then, as far as it takes, in parts of the
// one in which the limit lies.
func (s *Space) shareMinNS(total int64) (int64, error) {
	room := (total - 1) / autoParts // a sum up to here is less than total/autoParts
	at := 0
	pass := func(buckets int, bucketOf func(d int64) int) error { // -1: in none
		sums, err := s.sums(buckets, func(sums []int64, durations []int64) {
			for _, d := range durations {
				if k := bucketOf(d); k >= 0 {
					sums[k] += d
				}
			}
		})
		if err != nil {
			return err
		}
		for at = 0; sums[at] <= room; at++ {
			room -= sums[at]
		}
		return nil
	}
	if err := pass(bucket(math.MaxInt64)+1, bucket); err != nil {
		return 0, err
	}
	least := leastOf(at)
	for shift := max(0, at>>bucketBits-1); shift > 0; { // the bucket is 1<<shift wide
		const digitBits = 12
		below := max(0, shift-digitBits)
		if err := pass(1<<(shift-below), func(d int64) int {
			if d < least || (d-least)>>shift != 0 {
				return -1
			}
			return int((d - least) >> below)
		}); err != nil {
			return 0, err
		}
		least, shift = least+int64(at)<<below, below
	}
	return least, nil
}

// commonTime is the sum of the durations of all members without those that dominate it.
func (s *Space) commonTime() (int64, error) {
	total, largest := int64(0), int64(math.MaxInt64)
	for {
		here, err := s.sums(2, func(sums []int64, durations []int64) { // the time of those that are left, and how many
			for _, d := range durations {
				if d <= largest {
					sums[0] += d
					sums[1]++
				}
			}
		})
		if err != nil {
			return 0, err
		}
		if here[1] == 0 || here[0] == total { // all that was left are a few long ones, or none dominates
			return total, nil
		}
		total, largest = here[0], min(largest, here[0]/dominates)
	}
}

// sums adds up what add makes of the durations of all members, part by part: n numbers.
func (s *Space) sums(n int, add func(sums, durations []int64)) ([]int64, error) {
	parts := make([][]int64, max(1, s.Workers))
	workers.Chunks(s.columns.Len(), s.Workers, func(w, from, to int) {
		parts[w] = make([]int64, n)
		add(parts[w], s.columns.DurationNS[from:to])
	})
	sums := make([]int64, n)
	for _, part := range parts {
		for k, v := range part {
			sums[k] += v
		}
	}
	return sums, s.team.AllReduce(sums, team.Sum)
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
