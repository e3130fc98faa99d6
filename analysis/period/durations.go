package period

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// explained is the autocorrelation from which durations show a period: half of their variance repeats.
const explained = 0.5

// longestSeries bounds the durations that are looked at, from the first: in a quarter of a million any period shows
// that is repeated three times in there, and more would take memory, 32 bytes each.
const longestSeries = 1 << 18

// bySeries gives the period of durations in ns, counted in durations, and the autocorrelation there; 1: they have none.
// It is the first lag at which the autocorrelation of their logarithms has a peak about as high as the highest, over a
// valley half as deep at least.
func bySeries(ns []int64) (int, float64) {
	r := autocorrelation(ns[:min(len(ns), longestSeries)])
	last := len(r) / 3
	highest := 0.
	for k := 2; k <= last; k++ {
		highest = max(highest, r[k])
	}
	if highest < explained {
		return 1, 0
	}
	valley := 1.
	for k := 1; k <= last; k++ {
		// Multiples of a period are as high but for chance.
		if r[k] >= .9*highest && valley < r[k]/2 && r[k] >= r[k-1] && r[k] >= r[k+1] {
			return k, r[k]
		}
		valley = min(valley, r[k])
	}
	return 1, 0
}

// autocorrelation gives it by lag, of the logarithms of the durations, by the theorem of Wiener and Khinchin; nil where
// they do not vary.
func autocorrelation(ns []int64) []float64 {
	n := len(ns)
	if n < 6 {
		return nil
	}
	mean := 0.
	for _, d := range ns {
		mean += math.Log1p(float64(d)) / float64(n)
	}
	size := 1 << bits.Len(uint(2*n-1)) // twice the length, so that the end does not meet the begin
	x := make([]complex128, size)
	variance := 0.
	for i, d := range ns {
		y := math.Log1p(float64(d)) - mean
		x[i] = complex(y, 0)
		variance += y * y
	}
	if variance <= 1e-18*mean*mean*float64(n) {
		return nil
	}
	transform(x)
	for i := range x {
		x[i] *= cmplx.Conj(x[i])
	}
	transform(x) // the inverse but for a factor, the powers being real and even
	r := make([]float64, n)
	for k := range r {
		r[k] = real(x[k]) / float64(size) / variance * float64(n) / float64(n-k)
	}
	return r
}

// transform is the discrete Fourier transform in place, of a power of two (Cooley and Tukey, Math. Comput. 19 (1965)).
func transform(x []complex128) {
	n := len(x)
	shift := 64 - bits.TrailingZeros(uint(n))
	for i := range x {
		if j := int(bits.Reverse64(uint64(i)) >> shift); i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
	turns := make([]complex128, n/2)
	for k := range turns {
		turns[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
	}
	for half := 1; half < n; half *= 2 {
		step := n / 2 / half
		for block := 0; block < n; block += 2 * half {
			low, high := x[block:block+half], x[block+half:block+2*half]
			for k := range low {
				a, b := low[k], high[k]*turns[k*step]
				low[k], high[k] = a+b, a-b
			}
		}
	}
}

// byDurations makes longer iterations of such as are one burst each where durations repeat at a longer distance. They
// begin where most of them are, then with the longest burst.
func (f *folder) byDurations(s *section) {
	n := s.iterations()
	if n < 6 || s.lag > 1 {
		return
	}
	ns := make([]int64, n)
	for k := range ns {
		ns[k] = f.totalNS[s.begins[k+1]] - f.totalNS[s.begins[k]]
	}
	lag, r := bySeries(ns)
	if lag == 1 {
		return
	}
	first, longest := 0, int64(-1)
	for p := 0; p <= n%lag; p++ {
		sum := int64(0)
		for k := p; k+lag <= n; k += lag {
			sum += ns[k]
		}
		if sum > longest {
			first, longest = p, sum
		}
	}
	var begins, anchors []int32
	for k := first; k <= n; k += lag {
		begins = append(begins, s.begins[k])
		if s.anchors != nil {
			anchors = append(anchors, s.anchors[k])
		}
	}
	s.looseFirst = s.looseFirst && first == 0
	s.looseLast = s.looseLast && (n-first)%lag == 0
	s.begins, s.anchors, s.correlation = begins, anchors, r
	s.period = medianGap(begins)
}
