package program

import (
	"fmt"
	"slices"
	"strings"
)

// fits says whether a condition holds in those of the executions in which the item was executed, and in no other, on a
// rank of a group.
func (w *When) fits(v index, g int, u, c []uint64, rank int64) bool {
	if v.values[g] == nil {
		return false
	}
	for n := range all(u) {
		last := uint32(0)
		if v.last != nil && v.last[g] != nil {
			last = v.last[g][n]
		}
		if w.holds(int64(v.values[g][n]), int64(last), rank) != has(c, n) {
			return false
		}
	}
	return true
}

// holds says whether a condition holds in a trip of so many, on a rank.
func (w *When) holds(x, last, rank int64) bool {
	x += w.Rank * rank
	switch w.Kind {
	case WhenEvery:
		return rest(x, w.Period) == w.Offset
	case WhenNotEvery:
		return rest(x, w.Period) != w.Offset
	case WhenAt, WhenDepth:
		return x == w.Trip || slices.Contains(w.Trips, x)
	case WhenNotAt:
		return x != w.Trip && !slices.Contains(w.Trips, x)
	case WhenFrom:
		return x >= w.Trip
	case WhenTo:
		return x <= w.Trip
	case WhenRange:
		return x >= w.First && x <= w.Last && (x-w.First)%w.Stride == 0
	case WhenLast:
		return x == last
	case WhenNotLast:
		return x != last
	}
	return false
}

// rest is the remainder that is not negative.
func rest(x, period int64) int64 { return (x%period + period) % period }

func (w *When) text(size int) string {
	v := w.Variable
	figure := func(x int64) string { return w.figure(x, size) }
	switch w.Kind {
	case WhenEvery:
		return w.remainder("==", size)
	case WhenNotEvery:
		return w.remainder("!=", size)
	case WhenAt, WhenDepth:
		if w.Trips != nil {
			return fmt.Sprintf("%s in %s", v, commas(w.Trips))
		}
		return fmt.Sprintf("%s == %s", v, figure(w.Trip))
	case WhenNotAt:
		if w.Trips != nil {
			return fmt.Sprintf("%s not in %s", v, commas(w.Trips))
		}
		return fmt.Sprintf("%s != %s", v, figure(w.Trip))
	case WhenFrom:
		return fmt.Sprintf("%s >= %s", v, figure(w.Trip))
	case WhenTo:
		return fmt.Sprintf("%s <= %s", v, figure(w.Trip))
	case WhenRange:
		if w.Stride > 1 {
			return fmt.Sprintf("%s in %s..%s:%d", v, figure(w.First), figure(w.Last), w.Stride)
		}
		return fmt.Sprintf("%s in %s..%s", v, figure(w.First), figure(w.Last))
	case WhenLast:
		return v + " is the last"
	case WhenNotLast:
		return v + " is not the last"
	}
	return ""
}

// figure is the trip at which the condition's figure is reached: on each rank another one where it follows the rank.
func (w *When) figure(x int64, size int) string {
	switch {
	case w.Rank == 0:
		return fmt.Sprint(x)
	case w.Rank == 1 && x == int64(size)-1 && size > 2:
		return "size-1-rank"
	}
	return affine("rank", -w.Rank, x)
}

// remainder is a condition on that of a trip.
func (w *When) remainder(is string, size int) string {
	period := fmt.Sprint(w.Period)
	if w.Rank != 0 && w.Period == int64(size) && size > 2 {
		period = "size"
	}
	switch {
	case w.Rank == 0:
		return fmt.Sprintf("%s %% %s %s %d", w.Variable, period, is, w.Offset)
	case w.Rank > 0:
		return fmt.Sprintf("(%s + rank) %% %s %s %d", w.Variable, period, is, w.Offset)
	case w.Offset == 0 && w.Period >= int64(size):
		return fmt.Sprintf("%s %% %s %s rank", w.Variable, period, is)
	case w.Offset == 0:
		return fmt.Sprintf("%s %% %s %s rank %% %s", w.Variable, period, is, period)
	}
	return fmt.Sprintf("%s %% %s %s (rank+%d) %% %s", w.Variable, period, is, w.Offset, period)
}

func commas(list []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}
