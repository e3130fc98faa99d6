package line

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// OddFactor is how many times what the line gives a size takes that does not follow it.
const OddFactor = 3

const (
	followSizes = 4        // so many sizes, over a factor of 10, are needed to say that time does not follow size
	followBytes = 64 << 10 // and the largest so large: below, latency is most of the time on any network
	followRank  = .3       // rank correlation below which it does not
)

// Odd are the sizes whose usual message takes three times what the line gives, and more; ascending.
func (l *Line) Odd() []Size {
	var odd []Size
	for _, s := range l.Sizes {
		if l.Fitted && s.Messages >= fewMessages && s.MedianNS >= OddFactor*l.TimeNS(s.Bytes) {
			odd = append(odd, s)
		}
	}
	return odd
}

// Follows reports whether time follows size: ok is whether that can be said, rank is Spearman's rank correlation of the
// sizes and their median times.
func (l *Line) Follows() (rank float64, ok bool) {
	var bytes, ns []float64
	for _, s := range l.Sizes {
		if s.Messages >= fewMessages {
			bytes, ns = append(bytes, s.Bytes), append(ns, s.MedianNS)
		}
	}
	n := len(bytes)
	if n < followSizes || bytes[n-1] < followBytes || bytes[n-1] < 10*bytes[0] {
		return 0, false
	}
	rank = stat.Correlation(ranks(bytes), ranks(ns), nil)
	return rank, rank == rank // NaN: all take the same
}

// DoesNotFollow reports whether it is certain that time does not follow size.
func (l *Line) DoesNotFollow() bool {
	rank, ok := l.Follows()
	return ok && rank < followRank
}

// ranks gives for each value its rank, equal ones the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	list := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			list[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return list
}
