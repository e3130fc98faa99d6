// Package law fits scaling laws to figures of runs with different numbers of processes.
//
// There are two families. A time follows c + a·p^i·(log₂ p)^j with c, a ≥ 0 (the performance model normal form of
// Calotoiu, Hoefler, Poke and Wolf, SC13); the exponents with the least leave-one-out error are taken. An efficiency
// follows Amdahl's form x0/(f + (1−f)·p), f from 0 to 1. Both are fitted by least squares: of relative errors for
// times, for these span magnitudes, of absolute ones for efficiencies. docs/efficiency.md says where they are used.
package law

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// The numbers of different sizes that a fit takes at least.
const (
	AmdahlSizes = 3
	Sizes       = 5
)

// ErrFewSizes is why a fit was not made.
var ErrFewSizes = errors.New("too few different numbers of processes")

// The exponents of p, and of log₂ p, the simplest first: of equally good laws the first is taken.
var (
	powers     = []float64{0, 1, .5, -1, -.5, 2, 1.5, .25, -.25}
	logarithms = []float64{0, 1, 2}
)

// A Law is value = C + A·p^I·(log₂ p)^J.
type Law struct {
	C, A, I, J float64
	Error      float64 // root of the mean square of the relative errors, each point predicted by a fit to the others
	without    []Law   // the fits of the same exponents without each point
}

// Fit finds the law of values, all above 0, at numbers of processes from 1.
func Fit(p, values []float64) (*Law, error) {
	if err := check(p, values, Sizes); err != nil {
		return nil, err
	}
	var best *Law
	for _, j := range logarithms {
		for _, i := range powers {
			l := &Law{I: i, J: j}
			if l.fit(p, values, -1); l.A == 0 && (i != 0 || j != 0) {
				continue // a constant, which is a law of its own
			}
			sum := 0.0
			for k := range p {
				w := Law{I: i, J: j}
				w.fit(p, values, k)
				l.without = append(l.without, w)
				e := w.value(p[k])/values[k] - 1
				sum += e * e
			}
			l.Error = math.Sqrt(sum / float64(len(p)))
			if best == nil || l.Error < best.Error*(1-1e-9)-1e-12 {
				best = l
			}
		}
	}
	return best, nil
}

func check(p, values []float64, sizes int) error {
	if len(p) != len(values) {
		return fmt.Errorf("law: %d numbers of processes, %d values", len(p), len(values))
	}
	for k := range p {
		if !(p[k] >= 1) || !(values[k] > 0) || math.IsInf(p[k], 0) || math.IsInf(values[k], 0) {
			return fmt.Errorf("law: %g at %g processes cannot be fitted", values[k], p[k])
		}
	}
	distinct := slices.Clone(p)
	slices.Sort(distinct)
	if len(slices.Compact(distinct)) < sizes {
		return ErrFewSizes
	}
	return nil
}

func (l *Law) term(p float64) float64 { return math.Pow(p, l.I) * math.Pow(math.Log2(p), l.J) }

func (l *Law) value(p float64) float64 { return l.C + l.A*l.term(p) }

// fit sets C and A by least squares of relative errors, both at least 0, without point k.
func (l *Law) fit(p, values []float64, k int) {
	var one, g, gg, n, y float64 // sums over points of (1/v)², g/v², (g/v)², 1/v, g/v
	for i := range p {
		if i == k {
			continue
		}
		v, x := values[i], l.term(p[i])
		one += 1 / (v * v)
		g += x / (v * v)
		gg += x * x / (v * v)
		n += 1 / v
		y += x / v
	}
	l.C, l.A = n/one, 0 // a constant
	if l.I == 0 && l.J == 0 || gg == 0 {
		return
	}
	if d := one*gg - g*g; d > 1e-12*one*gg {
		if c, a := (n*gg-y*g)/d, (y*one-n*g)/d; c >= 0 && a >= 0 {
			l.C, l.A = c, a
			return
		}
	}
	// At a border: C alone leaves Σ1 − n²/one, A alone Σ1 − y²/gg.
	if y*y/gg > n*n/one {
		l.C, l.A = 0, y/gg
	}
}

// At is the value at a number of processes, and an interval round it: as far as the fits without one point go, and the
// error to either side.
func (l *Law) At(p float64) (value, low, high float64) {
	value = l.value(p)
	low, high = value, value
	for i := range l.without {
		v := l.without[i].value(p)
		low, high = min(low, v), max(high, v)
	}
	return value, max(0, low*(1-l.Error)), high * (1 + l.Error)
}

// An Amdahl is value = X0/(F + (1−F)·p).
type Amdahl struct {
	X0, F    float64
	Residual float64 // root of the mean square of the errors
}

// FitAmdahl finds Amdahl's form of efficiencies.
func FitAmdahl(p, values []float64) (*Amdahl, error) {
	if err := check(p, values, AmdahlSizes); err != nil {
		return nil, err
	}
	of := func(serial float64) Amdahl { return amdahl(p, values, serial) }
	// 1−F is looked for, over all its magnitudes: at first where the least is, then exactly there.
	const steps, least = 400, 1e-12
	at := func(k float64) float64 { return math.Pow(least, 1-k/steps) }
	best := of(0)
	bestAt := -1.0
	for k := range steps + 1 {
		if a := of(at(float64(k))); a.Residual < best.Residual {
			best, bestAt = a, float64(k)
		}
	}
	if bestAt >= 0 {
		low, high := max(0, bestAt-1), min(steps, bestAt+1)
		const golden = .6180339887498949
		for range 80 {
			a, b := high-golden*(high-low), low+golden*(high-low)
			if of(at(a)).Residual <= of(at(b)).Residual {
				high = b
			} else {
				low = a
			}
		}
		if a := of(at((low + high) / 2)); a.Residual < best.Residual {
			best = a
		}
	}
	return &best, nil
}

// amdahl is the best form with 1−F given.
func amdahl(p, values []float64, serial float64) Amdahl {
	a := Amdahl{F: 1 - serial}
	var yg, gg float64
	for k := range p {
		g := 1 / (a.F + serial*p[k])
		yg += values[k] * g
		gg += g * g
	}
	a.X0 = yg / gg
	sum := 0.0
	for k := range p {
		e := a.At(p[k]) - values[k]
		sum += e * e
	}
	a.Residual = math.Sqrt(sum / float64(len(p)))
	return a
}

// At is the value at a number of processes.
func (a *Amdahl) At(p float64) float64 { return a.X0 / (a.F + (1-a.F)*p) }
