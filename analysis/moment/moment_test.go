package moment

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Any split into parts, in any order, gives the sums that arithmetic without bounds gives.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Int64()).Draw(t, "numbers")
		parts := make([]Sum, 3)
		total, squares := new(big.Int), new(big.Int)
		least, largest := int64(math.MaxInt64), int64(math.MinInt64)
		for _, x := range list {
			x /= 1 << 8 // so that hundreds of them stay within 64 bits, and their squares within 128
			parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(x)
			total.Add(total, big.NewInt(x))
			squares.Add(squares, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
			least, largest = min(least, x), max(largest, x)
		}
		s := parts[2]
		s.Merge(parts[0])
		s.Merge(parts[1])
		if len(list) == 0 {
			if s != (Sum{}) || s.Mean() != 0 || s.Std() != 0 {
				t.Fatalf("of nothing: %+v", s)
			}
			return
		}
		if s.N != int64(len(list)) || s.Total != total.Int64() || s.Min != least || s.Max != largest {
			t.Fatalf("%+v of %d numbers, sum %v, %d to %d", s, len(list), total, least, largest)
		}
		want := new(big.Int).Lsh(new(big.Int).SetUint64(s.Squares.High), 64)
		if want.Or(want, new(big.Int).SetUint64(s.Squares.Low)); want.Cmp(squares) != 0 {
			t.Fatalf("squares %v, want %v", want, squares)
		}
	})
}

func TestFigures(t *testing.T) {
	var s Sum
	for _, x := range []int64{2, 4, 4, 4, 5, 5, 7, 9} {
		s.Add(x)
	}
	if s.Mean() != 5 || s.Std() != 2 {
		t.Errorf("mean %v, deviation %v, want 5 and 2", s.Mean(), s.Std())
	}
}

// Beyond the range sums stop at its ends.
func TestSaturation(t *testing.T) {
	var up, down Sum
	for range 3 {
		up.Add(math.MaxInt64 - 1)
		down.Add(math.MinInt64)
	}
	if up.Total != math.MaxInt64 || down.Total != math.MinInt64 {
		t.Errorf("%d and %d", up.Total, down.Total)
	}
	for range 3 {
		down.Add(math.MinInt64)
	}
	if down.Squares != (Wide{math.MaxUint64, math.MaxUint64}) {
		t.Errorf("squares %+v", down.Squares)
	}
	if down.Min != math.MinInt64 || down.Max != math.MinInt64 || down.N != 6 {
		t.Errorf("%+v", down)
	}
}
