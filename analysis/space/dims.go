package space

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/dbscan"
)

// Scale is how a quantity becomes a coordinate.
type Scale uint8

// The scales.
const (
	Lin Scale = iota // the value
	Log              // its natural logarithm
)

func (s Scale) String() string {
	if s == Log {
		return "log"
	}
	return "lin"
}

// Quantity is what has a coordinate.
func (s Scale) Quantity(v float64) float64 {
	if s == Log {
		return math.Exp(v)
	}
	return v
}

// Duration is the name of a burst's duration, in nanoseconds, as a quantity.
const Duration = "duration"

// The counters of instructions per cycle, which specifications may call IPC.
const (
	ipc          = "IPC"
	instructions = "PAPI_TOT_INS"
	cycles       = "PAPI_TOT_CYC"
)

// A Dim is one dimension: a quantity and its scale.
type Dim struct {
	Num   string // Duration or a counter's name
	Den   string // what Num is divided by; empty = nothing
	Scale Scale
}

// String returns the dimension as Parse reads it, with its scale.
func (d Dim) String() string {
	switch {
	case d.Num == instructions && d.Den == cycles:
		return ipc + ":" + d.Scale.String()
	case d.Den != "":
		return d.Num + "/" + d.Den + ":" + d.Scale.String()
	}
	return d.Num + ":" + d.Scale.String()
}

// Parse reads a --dims specification such as "PAPI_TOT_INS:log,IPC": dimensions separated by commas,
// each "duration", a counter's name, a ratio "A/B" of two of those, or "IPC" for
// PAPI_TOT_INS/PAPI_TOT_CYC. Only a trailing ":log" or ":lin" is a scale, since event names hold
// colons. Without one a ratio is lin and everything else is log.
func Parse(spec string) ([]Dim, error) {
	var dims []Dim
	for field := range strings.SplitSeq(spec, ",") {
		d, err := parseDim(strings.TrimSpace(field))
		if err != nil {
			return nil, fmt.Errorf("dimensions %q: %w", spec, err)
		}
		same := func(e Dim) bool { return e.Num == d.Num && e.Den == d.Den }
		if slices.ContainsFunc(dims, same) {
			return nil, fmt.Errorf("dimensions %q: %s is there twice", spec, field)
		}
		dims = append(dims, d)
	}
	if len(dims) > dbscan.MaxDims {
		return nil, fmt.Errorf("dimensions %q: %d of them, want at most %d", spec, len(dims), dbscan.MaxDims)
	}
	return dims, nil
}

func parseDim(field string) (Dim, error) {
	name, isLog := strings.CutSuffix(field, ":log")
	isLin := false
	if !isLog {
		name, isLin = strings.CutSuffix(field, ":lin")
	}
	num, den, err := parseQuantity(name)
	if err != nil {
		return Dim{}, err
	}
	d := Dim{Num: num, Den: den}
	for _, quantity := range []string{d.Num, d.Den} {
		if scale, found := strings.CutPrefix(quantity, Duration+":"); found {
			return Dim{}, fmt.Errorf("%q: %q is no scale, want log or lin", field, scale)
		}
	}
	if isLog || !isLin && d.Den == "" {
		d.Scale = Log
	}
	return d, nil
}

// parseQuantity reads a quantity or a ratio of two.
func parseQuantity(name string) (num, den string, err error) {
	if name == ipc {
		return instructions, cycles, nil
	}
	num, den, isRatio := strings.Cut(name, "/")
	switch {
	case isRatio && (den == "" || strings.Contains(den, "/")):
		return "", "", fmt.Errorf("%q is no ratio of two quantities", name)
	case num == "":
		return "", "", fmt.Errorf("%q names no quantity", name)
	}
	return num, den, nil
}
