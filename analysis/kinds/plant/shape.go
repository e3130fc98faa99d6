package plant

import (
	"math"
	"math/rand/v2"
)

// A Shape draws how long a burst of a kind takes where no other task disturbs it, in ns. At is how far the run is, 0–1.
type Shape func(random *rand.Rand, medianNS, at float64) float64

// Jitter is what a quiet core shows: a normal core of so much relative deviation, and interrupts and page faults that
// only lengthen, by tail in the mean, relative.
func Jitter(sigma, tail float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		return median * math.Exp(sigma*r.NormFloat64()) * (1 + tail*r.ExpFloat64())
	}
}

// LogNormal is work of so much standard deviation, in ln units.
func LogNormal(sigma float64) Shape { return Jitter(sigma, 0) }

// Normal is work of so much standard deviation, relative.
func Normal(sigma float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 { return median * max(.01, 1+sigma*r.NormFloat64()) }
}

// Gamma is work in k parts of exponential length.
func Gamma(k int) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		sum := 0.
		for range k {
			sum += r.ExpFloat64()
		}
		return median * sum / (float64(k) - 1./3)
	}
}

// Skewed has a steep flank below and a long one above: a least time and an exponential one, which is part of the
// median.
func Skewed(part float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		return median * (1 - part + part*r.ExpFloat64()/math.Ln2) * math.Exp(.01*r.NormFloat64())
	}
}

// Pareto has a tail of that exponent above its least time.
func Pareto(exponent float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		return median * math.Pow(2*(1-r.Float64()), -1/exponent)
	}
}

// Uniform is any time within a width round the median, relative.
func Uniform(width float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 { return median * (1 + width*(r.Float64()-.5)) }
}

// Drifting grows from first to last burst, by so much relative to the median, as a particle load does that runs out of
// balance.
func Drifting(by, sigma float64) Shape {
	return func(r *rand.Rand, median, at float64) float64 {
		return median * (1 + by*(at-.5)) * math.Exp(sigma*r.NormFloat64())
	}
}

// Tail has so large a share of bursts that take longer, exponentially, by mean relative to the median.
func Tail(share, mean, sigma float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		ns := median * math.Exp(sigma*r.NormFloat64())
		if r.Float64() < share {
			ns += median * mean * r.ExpFloat64()
		}
		return ns
	}
}

// Quantum has so large a share of bursts that take one fixed time more, as a housekeeping task of the kernel makes
// them.
func Quantum(share, ns, sigma float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		d := median * math.Exp(sigma*r.NormFloat64())
		if r.Float64() < share {
			d += ns
		}
		return d
	}
}

// SlowMode has so large a share of bursts that take factor times as long, by chance, such as those whose pages lie
// badly.
func SlowMode(share, factor, sigma float64) Shape {
	return func(r *rand.Rand, median, _ float64) float64 {
		d := median * math.Exp(sigma*r.NormFloat64())
		if r.Float64() < share {
			d *= factor
		}
		return d
	}
}
