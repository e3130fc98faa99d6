package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

var prefixes = []struct {
	factor float64
	name   string
}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}

// prefix finds the SI prefix for a value; seconds grow no larger than seconds, and what is no time no smaller than 1.
func prefix(v float64, unit string) (factor float64, name string) {
	v = math.Abs(v)
	for _, p := range prefixes {
		if unit == "s" && p.factor > 1 || unit != "s" && p.factor < 1 {
			continue
		}
		if v >= p.factor*(1-1e-9) {
			return p.factor, p.name
		}
	}
	if unit == "s" {
		return 1e-9, "n"
	}
	return 1, ""
}

// quantity prints a value with its SI prefix to three digits.
func quantity(v float64, unit string) string {
	f, name := prefix(v, unit)
	x := v / f
	digits := strconv.FormatFloat(x, 'g', 3, 64)
	if math.Abs(x) >= 100 || strings.ContainsRune(digits, 'e') {
		digits = strconv.FormatFloat(x, 'f', -1, 64)
		if math.Abs(x) >= 100 {
			digits = strconv.FormatFloat(x, 'f', 0, 64)
		}
	}
	return strings.TrimSpace(digits + " " + name + unit)
}

// logTicks marks an axis that holds decimal logarithms: labels at the decades, at 1-2-5 where there are few of them.
type logTicks struct{ unit string }

func (l logTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	decades := hi - lo
	every := 1
	if decades > 9 {
		every = int(math.Ceil(decades / 9))
	}
	for e := int(math.Floor(lo)); e <= int(math.Ceil(hi)); e++ {
		for m := 1; m <= 9; m++ {
			x := float64(e) + math.Log10(float64(m))
			if x < lo-1e-9 || x > hi+1e-9 {
				continue
			}
			t := plot.Tick{Value: x}
			if m == 1 && e%every == 0 || decades < 2.5 && (m == 2 || m == 5) || decades < .8 {
				t.Label = quantity(float64(m)*math.Pow(10, float64(e)), l.unit)
			}
			if m > 1 && every > 1 {
				continue
			}
			ticks = append(ticks, t)
		}
	}
	labelled := 0
	for _, t := range ticks {
		if t.Label != "" {
			labelled++
		}
	}
	if labelled < 2 { // less than a digit of range
		lin := linTicks(l)
		ticks = nil
		for _, t := range lin.Ticks(math.Pow(10, lo), math.Pow(10, hi)) {
			if t.Value > 0 {
				ticks = append(ticks, plot.Tick{Value: math.Log10(t.Value), Label: t.Label})
			}
		}
	}
	return ticks
}

// linTicks marks an axis in one SI unit.
type linTicks struct{ unit string }

func (l linTicks) Ticks(lo, hi float64) []plot.Tick {
	step := niceStep((hi - lo) / 7)
	f, name := prefix(math.Max(math.Abs(lo), math.Abs(hi)), l.unit)
	decimals := max(0, -int(math.Floor(math.Log10(step/f)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		label := strconv.FormatFloat(i*step/f+0, 'f', min(decimals, 12), 64)
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strings.TrimSpace(label + " " + name + l.unit)})
	}
	return ticks
}

// niceStep rounds a step up to 1, 2 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	if !(raw > 0) || math.IsInf(raw, 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// fixedTicks are ticks at given places.
type fixedTicks []plot.Tick

func (f fixedTicks) Ticks(lo, hi float64) []plot.Tick { return f }
