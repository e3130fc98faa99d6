package represent

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The distances of reduced vectors are those of the vectors, or less; and they are those where the vectors lie in few
// dimensions.
func TestReducedDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, dims := rapid.IntRange(2, 20).Draw(t, "n"), rapid.IntRange(1, 80).Draw(t, "dims")
		flat := rapid.IntRange(1, 7).Draw(t, "flat") // directions that threads differ in
		noise := rapid.SampledFrom([]float64{0, .1}).Draw(t, "noise")
		draw := rapid.Float64Range(0, 1)
		v := &vectors{n: n, dims: dims, x: make([]float64, n*dims)}
		directions := rapid.SliceOfN(draw, flat*dims, flat*dims).Draw(t, "directions")
		for i := range n {
			for f := range flat {
				share := draw.Draw(t, "share")
				for d := range dims {
					v.x[i*dims+d] += share * directions[f*dims+d]
				}
			}
			if noise > 0 {
				for d := range dims {
					v.x[i*dims+d] += noise * draw.Draw(t, "x")
				}
			}
		}
		p := v.reduced()
		for i := range int32(n) {
			for j := range i {
				whole := math.Sqrt(distance2(v.row(i), v.row(j)))
				less := math.Sqrt(distance2(point(p, int(i)), point(p, int(j))))
				if less > whole+1e-6 {
					t.Fatalf("threads %d and %d: %v apart, reduced %v", i, j, whole, less)
				}
				if (noise == 0 && dims <= mostVaried || p.Dims < 8) && math.Abs(less-whole) > 1e-6 {
					t.Fatalf("threads %d and %d: %v apart, in %d directions %v", i, j, whole, flat, less)
				}
			}
		}
	})
}

func TestPrincipal(t *testing.T) {
	// Turned by 30 degrees: variance 9 along, 4 across.
	c, s := math.Sqrt(3)/2, .5
	a := []float64{9*c*c + 4*s*s, 5 * c * s, 5 * c * s, 9*s*s + 4*c*c}
	axes := principal(a, 2)
	if x := math.Abs(axes[0][0]*c + axes[0][1]*s); math.Abs(x-1) > 1e-12 || math.Abs(a[0]+a[3]-13) > 1e-12 {
		t.Errorf("%v, %v", axes, a)
	}
}
