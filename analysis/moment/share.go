package moment

import (
	"math/bits"
	"slices"
)

// Share cuts a sum into those of parts of its numbers, of which it is known how many they are, and what they and their
// squares are about in sum; nil: about the same each. What the parts have together is what the sum has. The least and
// the largest of each part are those of the whole.
func Share(of Sum, n []int64, sums, squares []float64) []Sum {
	list := make([]Sum, len(n))
	counts, all := make([]float64, len(n)), int64(0)
	for k := range n {
		counts[k] = float64(n[k])
		all += n[k]
	}
	if sums == nil {
		sums, squares = counts, counts
	}
	most := slices.Index(n, slices.Max(n))
	left := of
	for k := range n {
		if k == most {
			continue
		}
		x := &list[k]
		if x.N = n[k]; of.N != all {
			x.N = int64(float64(of.N) * partOf(counts, k))
		}
		if x.N == 0 { // a sum of nothing would be lost where sums are merged
			continue
		}
		x.Total = int64(float64(of.Total) * partOf(sums, k))
		x.Squares = of.Squares.times(partOf(squares, k))
		x.bound(&of)
		left.N, left.Total = left.N-x.N, left.Total-x.Total
		var borrow uint64
		left.Squares.Low, borrow = bits.Sub64(left.Squares.Low, x.Squares.Low, 0)
		left.Squares.High, _ = bits.Sub64(left.Squares.High, x.Squares.High, borrow)
	}
	left.bound(&of)
	list[most] = left
	return list
}

// bound gives a part the least and the largest of the whole, as far as its sum allows for these.
func (s *Sum) bound(whole *Sum) {
	if s.Min, s.Max = whole.Min, whole.Max; s.Min >= 0 {
		s.Max = min(s.Max, s.Total)
		s.Min = min(s.Min, s.Max)
	}
}

func partOf(list []float64, k int) float64 {
	sum := 0.
	for _, v := range list {
		sum += v
	}
	if sum <= 0 {
		return 0
	}
	return list[k] / sum
}

// times is a part, 0 to 1, rounded down.
func (w Wide) times(part float64) Wide {
	const scale = 1 << 53
	p := uint64(part * scale)
	lowHigh, lowLow := bits.Mul64(w.Low, p)
	highHigh, highLow := bits.Mul64(w.High, p)
	middle, carry := bits.Add64(lowHigh, highLow, 0)
	top := highHigh + carry
	return Wide{High: top<<11 | middle>>53, Low: middle<<11 | lowLow>>53}
}
