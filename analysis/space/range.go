package space

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Range leaves out bursts where a quantity, before its scale is applied, is outside Min … Max, or
// where it has no value.
type Range struct {
	Num, Den string // as in Dim
	Min, Max float64
}

// ParseRange reads a --range specification "QUANTITY=MIN..MAX": a quantity as in Parse without a scale, and limits of
// which one may be left out. Those of durations are nanoseconds or have a unit, as in "duration=1.5ms..".
func ParseRange(spec string) (Range, error) {
	name, limits, given := strings.Cut(spec, "=")
	lo, hi, both := strings.Cut(limits, "..")
	if !given || !both {
		return Range{}, fmt.Errorf("range %q: want QUANTITY=MIN..MAX", spec)
	}
	r := Range{Min: math.Inf(-1), Max: math.Inf(1)}
	var err error
	if r.Num, r.Den, err = parseQuantity(strings.TrimSpace(name)); err != nil {
		return Range{}, fmt.Errorf("range %q: %w", spec, err)
	}
	for _, limit := range []struct {
		text string
		to   *float64
	}{{lo, &r.Min}, {hi, &r.Max}} {
		if text := strings.TrimSpace(limit.text); text != "" {
			if *limit.to, err = r.parseLimit(text); err != nil {
				return Range{}, fmt.Errorf("range %q: %w", spec, err)
			}
		}
	}
	switch {
	case math.IsInf(r.Min, -1) && math.IsInf(r.Max, 1):
		return Range{}, fmt.Errorf("range %q: no limit", spec)
	case r.Min > r.Max:
		return Range{}, fmt.Errorf("range %q: the lower limit is above the upper one", spec)
	}
	return r, nil
}

func (r Range) parseLimit(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsNaN(v) {
		return v, nil
	}
	if r.Num == Duration && r.Den == "" {
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d.Nanoseconds()), nil
		}
	}
	return 0, fmt.Errorf("%q is no number", text)
}

// String returns the range as ParseRange reads it.
func (r Range) String() string {
	name := r.Num
	switch {
	case r.Num == instructions && r.Den == cycles:
		name = ipc
	case r.Den != "":
		name += "/" + r.Den
	}
	limit := func(v float64) string {
		if math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return name + "=" + limit(r.Min) + ".." + limit(r.Max)
}
