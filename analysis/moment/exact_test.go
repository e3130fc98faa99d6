package moment

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The sums are those of big numbers, the figures their roundings, and parts come together to the whole.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]uint64{3, 1000, 1 << 40, math.MaxInt64, math.MaxUint64}).Draw(t, "most")
		list := rapid.SliceOfN(rapid.Uint64Range(0, most), 0, 200).Draw(t, "numbers")
		members := rapid.IntRange(1, 5).Draw(t, "members")
		var all Exact
		parts := make([]Exact, members)
		total, squares := new(big.Int), new(big.Int)
		for i, x := range list {
			all.Add(x)
			parts[i%members].Add(x)
			b := new(big.Int).SetUint64(x)
			total.Add(total, b)
			squares.Add(squares, b.Mul(b, b))
		}
		if Big(all.Total[:]).Cmp(total) != 0 || Big(all.Squares[:]).Cmp(squares) != 0 || all.N != int64(len(list)) {
			t.Fatalf("%+v, want %d, %v, %v", all, len(list), total, squares)
		}
		sums := make([]int64, Parts)
		for i := range parts {
			for k, x := range parts[i].Split(nil) {
				sums[k] += x
			}
		}
		if got := Join(sums); got != all {
			t.Fatalf("%+v of parts, %+v at once", got, all)
		}
		var merged Exact
		for i := range parts {
			merged.Merge(&parts[i])
		}
		if merged != all {
			t.Fatalf("%+v merged, %+v at once", merged, all)
		}
		if len(list) == 0 {
			if !math.IsNaN(all.Mean()) || !math.IsNaN(all.Std()) {
				t.Fatalf("%v ± %v of none", all.Mean(), all.Std())
			}
			return
		}
		n := new(big.Float).SetPrec(400).SetInt64(int64(len(list)))
		mean := new(big.Float).SetPrec(400).SetInt(total)
		mean.Quo(mean, n)
		square := new(big.Float).SetPrec(400).SetInt(squares)
		square.Quo(square, n)
		variance := square.Sub(square, new(big.Float).SetPrec(400).Mul(mean, mean))
		wantMean, _ := mean.Float64()
		wantStd := 0.
		if variance.Sign() > 0 {
			wantStd, _ = variance.Sqrt(variance).Float64()
		}
		// A root of 400 bits of what is 0 but for rounding is no more than this.
		if math.Abs(all.Mean()-wantMean) > 1e-15*wantMean || math.Abs(all.Std()-wantStd) > 1e-15*wantStd+1e-30*wantMean {
			t.Fatalf("%v ± %v, want %v ± %v", all.Mean(), all.Std(), wantMean, wantStd)
		}
	})
}

func TestExactByHand(t *testing.T) {
	for _, c := range []struct {
		list      []uint64
		mean, std float64
	}{
		{[]uint64{7}, 7, 0},
		{[]uint64{4, 6, 8}, 6, math.Sqrt(24) / 3},
		{[]uint64{100, 101}, 100.5, .5},
		{[]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64}, math.MaxUint64, 0},
	} {
		var e Exact
		for _, x := range c.list {
			e.Add(x)
		}
		if e.Mean() != c.mean || e.Std() != c.std {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.list, e.Mean(), e.Std(), c.mean, c.std)
		}
	}
}
