package moment

import (
	"math/rand/v2"
	"testing"
)

// What a sum is cut into comes to the sum, and each part to about what its numbers are.
func TestShare(t *testing.T) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 200 {
		n, sums, squares := make([]int64, 1+random.IntN(4)), []float64{}, []float64{}
		var whole Sum
		own := make([]Sum, len(n))
		for k := range n {
			n[k] = 1 + random.Int64N(30)
			for range n[k] {
				x := 1_000_000 + random.Int64N(5000)
				whole.Add(x)
				own[k].Add(x)
			}
			sums, squares = append(sums, float64(own[k].Total)), append(squares, own[k].Squares.Float())
		}
		var all Sum
		for k, part := range Share(whole, n, sums, squares) {
			if off := part.Total - own[k].Total; part.N != n[k] || off > int64(len(n)) || off < -int64(len(n)) || part.Min > part.Max || part.Max > part.Total || !(part.Std() >= 0) {
				t.Errorf("%+v, want about %+v", part, own[k])
			}
			all.Merge(part)
		}
		if all.N != whole.N || all.Total != whole.Total || all.Squares != whole.Squares {
			t.Errorf("%+v, want %+v", all, whole)
		}
		all = Sum{}
		for _, part := range Share(whole, n, nil, nil) {
			all.Merge(part)
		}
		if all.N != whole.N || all.Total != whole.Total || all.Squares != whole.Squares {
			t.Errorf("by number: %+v, want %+v", all, whole)
		}
	}
}
