// Package moment adds up whole numbers without rounding: their count, sum, sum of squares, minimum and maximum.
//
// In come numbers of any unit, out come figures of that unit, or of its square. Because nothing is rounded, sums can be
// made in parts, and depend neither on the order nor on the number of workers.
package moment

import (
	"math"
	"math/bits"
)

// A Sum describes some numbers. The zero value describes none.
type Sum struct {
	N        int64
	Total    int64 // stops at the largest and the least int64
	Squares  Wide
	Min, Max int64 // 0 without numbers
}

// Add takes another number in.
func (s *Sum) Add(x int64) {
	if s.N == 0 {
		s.Min, s.Max = x, x
	}
	s.N++
	s.Total = saturate(s.Total, x)
	s.Squares = s.Squares.Plus(Square(x))
	s.Min, s.Max = min(s.Min, x), max(s.Max, x)
}

// Merge takes in the numbers of another sum.
func (s *Sum) Merge(o Sum) {
	if o.N == 0 {
		return
	}
	if s.N == 0 {
		*s = o
		return
	}
	s.N += o.N
	s.Total = saturate(s.Total, o.Total)
	s.Squares = s.Squares.Plus(o.Squares)
	s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
}

// Mean is 0 without numbers.
func (s Sum) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Total) / float64(s.N)
}

// Std is the population's standard deviation; 0 without numbers.
func (s Sum) Std() float64 {
	if s.N == 0 {
		return 0
	}
	mean := s.Mean()
	return math.Sqrt(max(0, s.Squares.Float()/float64(s.N)-mean*mean))
}

// saturate adds, and stops at the ends of int64.
func saturate(a, b int64) int64 {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		if b > 0 {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return sum
}

// A Wide is a number of 128 bits, not negative. It stops at the largest.
type Wide struct{ High, Low uint64 }

// Float is the nearest float64, or the one beside that.
func (w Wide) Float() float64 { return float64(w.High)*(1<<64) + float64(w.Low) }

// Plus is the sum, which stops at the largest number.
func (w Wide) Plus(o Wide) Wide {
	low, carry := bits.Add64(w.Low, o.Low, 0)
	high, carry := bits.Add64(w.High, o.High, carry)
	if carry != 0 {
		return Wide{math.MaxUint64, math.MaxUint64}
	}
	return Wide{high, low}
}

func Square(x int64) Wide {
	size := uint64(x)
	if x < 0 {
		size = -size
	}
	high, low := bits.Mul64(size, size)
	return Wide{high, low}
}
