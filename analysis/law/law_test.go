package law

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var sizes = []float64{2, 4, 8, 16, 32, 64, 128}

// Planted laws are found, whatever the order of the points.
func TestFindsPlantedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Law{I: rapid.SampledFrom(powers).Draw(t, "i"), J: rapid.SampledFrom(logarithms).Draw(t, "j")}
		want.C, want.A = rapid.Float64Range(0, 50).Draw(t, "c"), rapid.Float64Range(.5, 50).Draw(t, "a")
		p := rapid.Permutation(sizes).Draw(t, "p")
		values := make([]float64, len(p))
		for k := range p {
			values[k] = want.value(p[k])
		}
		got, err := Fit(p, values)
		if err != nil {
			t.Fatal(err)
		}
		if got.Error > 1e-6 {
			t.Fatalf("the error is %g", got.Error)
		}
		for _, x := range []float64{3, 100, 512} {
			value, low, high := got.At(x)
			if math.Abs(value/want.value(x)-1) > 1e-5 || low > value || high < value {
				t.Fatalf("%+v: %g processes: %g [%g, %g], want %g", got, x, value, low, high, want.value(x))
			}
		}
	})
}

// The interval at the next size holds what was planted in most of many noisy series.
func TestIntervals(t *testing.T) {
	const rounds = 400
	held := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := Law{I: powers[r.IntN(len(powers))], J: logarithms[r.IntN(2)], C: 5 * r.Float64(), A: 1 + 5*r.Float64()}
		values := make([]float64, len(sizes))
		for k, p := range sizes {
			values[k] = want.value(p) * (1 + .02*r.NormFloat64())
		}
		l, err := Fit(sizes, values)
		if err != nil {
			t.Fatal(err)
		}
		if _, low, high := l.At(256); low <= want.value(256) && want.value(256) <= high {
			held++
		}
	}
	if held < rounds*8/10 {
		t.Errorf("the interval holds the truth in %d of %d series", held, rounds)
	}
}

func TestAmdahl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Amdahl{X0: rapid.Float64Range(.1, 1).Draw(t, "x0"), F: 1 - math.Pow(10, -rapid.Float64Range(0, 6).Draw(t, "1-f"))}
		p := rapid.Permutation(sizes).Draw(t, "p")[:rapid.IntRange(3, len(sizes)).Draw(t, "n")]
		values := make([]float64, len(p))
		for k := range p {
			values[k] = want.At(p[k])
		}
		got, err := FitAmdahl(p, values)
		if err != nil {
			t.Fatal(err)
		}
		if got.Residual > 1e-6 || got.F < 0 || got.F > 1 {
			t.Fatalf("got %+v", got)
		}
		if at := 4 * slices.Max(p); math.Abs(got.At(at)-want.At(at)) > 1e-4 {
			t.Fatalf("at %g: %g, want %g", at, got.At(at), want.At(at))
		}
	})
	// What does not fall is a constant.
	if a, err := FitAmdahl([]float64{2, 4, 8}, []float64{.7, .8, .9}); err != nil || a.F != 1 || math.Abs(a.X0-.8) > 1e-9 || math.Abs(a.Residual-math.Sqrt(.02/3)) > 1e-9 {
		t.Errorf("rising efficiencies: %+v, %v", a, err)
	}
}

func TestRefuses(t *testing.T) {
	if _, err := Fit([]float64{2, 2, 4, 8, 16}, []float64{1, 1, 1, 1, 1}); !errors.Is(err, ErrFewSizes) {
		t.Errorf("four sizes: %v", err)
	}
	if _, err := FitAmdahl([]float64{2, 4, 4}, []float64{1, 1, 1}); !errors.Is(err, ErrFewSizes) {
		t.Errorf("two sizes: %v", err)
	}
	for _, bad := range [][2]float64{{0, 1}, {4, 0}, {4, math.NaN()}, {math.Inf(1), 1}, {4, math.Inf(1)}} {
		p, values := slices.Clone(sizes), []float64{1, 1, 1, 1, 1, 1, 1}
		p[3], values[3] = bad[0], bad[1]
		if _, err := Fit(p, values); err == nil || errors.Is(err, ErrFewSizes) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := Fit(sizes, []float64{1}); err == nil {
		t.Error("one value for seven sizes")
	}
}
