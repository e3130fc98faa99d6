package efficiency

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"moriens/app/question"
	"moriens/trace/rundir"
)

// A Floor is what a factor of a run is at least.
type Floor struct {
	Factor string // its short name
	Least  float64
}

// Floors are those of several factors.
type Floors []Floor

// A factor can have a floor.
type factor struct {
	short, name string
	value       func(r *rundir.EfficiencyRun) rundir.Number
}

// known are the factors, by their short names.
var known = []factor{
	{"pe", "parallel efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Parallel }},
	{"lb", "load balance", func(r *rundir.EfficiencyRun) rundir.Number { return r.Balance }},
	{"ce", "communication efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Communication }},
	{"cs", "computation scaling", func(r *rundir.EfficiencyRun) rundir.Number { return r.ComputationScaling }},
	{"ge", "global efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Global }},
}

// find is the factor of a short name, or of its name with underscores; nil: there is none.
func find(name string) *factor {
	name = strings.ToLower(strings.TrimSpace(name))
	k := slices.IndexFunc(known, func(f factor) bool { return f.short == name || strings.ReplaceAll(f.name, " ", "_") == name })
	if k < 0 {
		return nil
	}
	return &known[k]
}

// UnmarshalText reads floors as they are given on a command line: pe=0.8,lb=90%, or a number alone for pe.
func (f *Floors) UnmarshalText(text []byte) error {
	var list Floors
	for part := range strings.SplitSeq(string(text), ",") {
		name, number, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named && find(name) == nil { // a number alone
			name, number = known[0].short, name
		}
		x := find(name)
		switch {
		case x == nil:
			return fmt.Errorf("there is no factor %q: give %s", name, factorNames())
		case number == "":
			return fmt.Errorf("%q has no number: for example %s=0.8 or %[2]s=80%%", part, x.short)
		}
		ratio, percent := strings.CutSuffix(strings.TrimSpace(number), "%")
		least, err := strconv.ParseFloat(strings.TrimSpace(ratio), 64)
		if percent {
			least /= 100
		}
		if err != nil {
			return fmt.Errorf("%q: %q is no number: give a ratio from 0 to 1, or a percentage: 0.8 or 80%%", part, number)
		}
		if !(least >= 0 && least <= 1) {
			return fmt.Errorf("%q: %s is not between 0 and 1: give a ratio, or a percentage: 0.8 or 80%%", part, number)
		}
		list = append(list, Floor{x.short, least})
	}
	*f = list
	return nil
}

// factorNames are all that can have a floor.
func factorNames() string {
	var names []string
	for _, x := range known {
		names = append(names, fmt.Sprintf("%s (%s)", x.short, x.name))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// check reports a floor of a factor that the runs do not have.
func (a *Answer) check(floors Floors) error {
	for _, floor := range floors {
		x := find(floor.Factor)
		for i := range a.Runs {
			if math.IsNaN(float64(x.value(&a.Runs[i]))) && (floor.Factor == "cs" || floor.Factor == "ge") {
				return question.Misuse("give a second run to compare with", "%s of one run is not known", x.name)
			}
		}
	}
	return nil
}

// Below says which factors are below their floors, one error for each. What is not defined is below every floor.
func (a *Answer) Below(floors Floors) (list []error) {
	for i := range a.Runs {
		r := &a.Runs[i]
		where := ""
		if len(a.Runs) > 1 {
			where = r.Dir + ": "
		}
		for _, floor := range floors {
			x := find(floor.Factor)
			switch v := float64(x.value(r)); {
			case math.IsNaN(v):
				list = append(list, fmt.Errorf("%s%s is not defined: nothing computed", where, x.name))
			case v < floor.Least:
				list = append(list, fmt.Errorf("%s%s is %s, below %g", where, x.name, below(v, floor.Least), floor.Least))
			}
		}
	}
	return list
}

// below is a ratio in four digits, or as many as tell it from its floor.
func below(v, floor float64) string {
	for digits := 4; ; digits++ {
		text := strconv.FormatFloat(v, 'f', digits, 64)
		if x, _ := strconv.ParseFloat(text, 64); x < floor || digits == 17 {
			return text
		}
	}
}
