package grouping

import (
	"fmt"
	"slices"
	"strings"

	"moriens/analysis/space"
)

// What Choose takes where nothing is asked for: with counters of instructions and cycles, and without.
var (
	withCounters    = mustParse("PAPI_TOT_INS:log,IPC")
	withoutCounters = mustParse("duration:log")
)

func mustParse(spec string) []space.Dim {
	dims, err := space.Parse(spec)
	if err != nil {
		panic(err)
	}
	return dims
}

// Choose completes options for bursts with these counters. No Dims become instructions × IPC where both were
// measured, else duration. Dims that need a counter which was not measured are replaced likewise, unless
// AsGiven, and a note says so. ByAuto becomes ByNone where a counter is a dimension, else ByCalls: duration alone does
// not distinguish much. Strict options are normalised and have all bursts together unless specified otherwise.
func (o Options) Choose(counters []string) (chosen Options, notes []string) {
	if absent := lacking(o.Dims, counters); len(absent) > 0 && !o.AsGiven || o.Dims == nil {
		usual := withCounters
		if len(lacking(usual, counters)) > 0 {
			usual = withoutCounters
		}
		if o.Dims != nil {
			notes = append(notes, fmt.Sprintf("%s: not measured; the dimensions are %s instead of %s",
				strings.Join(absent, ", "), specOf(usual), specOf(o.Dims)))
		}
		o.Dims = usual
	}
	o.Normalise = o.Strict || o.normalised()
	if o.By == ByAuto && o.Strict {
		o.By = ByNone
	} else if o.By == ByAuto {
		o.By = ByCalls
		if slices.ContainsFunc(o.Dims, func(d space.Dim) bool { return d.Num != space.Duration }) {
			o.By = ByNone
		}
	}
	return o, notes
}

// lacking are the counters that dimensions need and that are not there.
func lacking(dims []space.Dim, counters []string) []string {
	var list []string
	for _, d := range dims {
		for _, name := range []string{d.Num, d.Den} {
			if name != "" && name != space.Duration && !slices.Contains(counters, name) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

func specOf(dims []space.Dim) string {
	var list []string
	for _, d := range dims {
		list = append(list, d.String())
	}
	return strings.Join(list, ",")
}
