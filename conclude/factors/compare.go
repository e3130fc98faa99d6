package factors

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/efficiency"
	"moriens/analysis/law"
	"moriens/trace/rundir"
)

// A ScalingKind says what grows from one run to another.
type ScalingKind string

// The kinds of scaling.
const (
	Auto   ScalingKind = "auto"   // by the instructions of the runs
	Strong ScalingKind = "strong" // the locations alone
	Weak   ScalingKind = "weak"   // the problem with the locations
)

// ErrKindUnknown is why Auto cannot say how runs scale.
var ErrKindUnknown = errors.New("without PAPI_TOT_INS in all runs nothing says whether the problem grew with the ranks")

// Compare puts the reference first and the others by their locations, and gives each how it scales against the
// reference. It returns the kind that it took.
func Compare(runs []rundir.EfficiencyRun, reference string, kind ScalingKind) (ScalingKind, error) {
	at := 0
	for i := range runs {
		switch {
		case reference == "" && runs[i].Locations < runs[at].Locations, reference != "" && runs[i].Dir == reference:
			at = i
		}
	}
	if reference != "" && runs[at].Dir != reference {
		return "", fmt.Errorf("the reference %s is none of the run directories", reference)
	}
	first := runs[at]
	rest := slices.Delete(slices.Clone(runs), at, at+1)
	slices.SortStableFunc(rest, func(a, b rundir.EfficiencyRun) int { return cmp.Compare(a.Locations, b.Locations) })
	copy(runs, append([]rundir.EfficiencyRun{first}, rest...))
	base := measured(&runs[0])
	if kind == Auto {
		var err error
		if kind, err = kindOf(runs[1:], base); err != nil {
			return "", err
		}
	}
	for i := range runs {
		s := efficiency.Scale(measured(&runs[i]), base, kind == Weak)
		runs[i].EfficiencyScaling = rundir.EfficiencyScaling{
			ComputationScaling: rundir.Number(s.Computation), IPCScaling: rundir.Number(s.IPC), InstructionScaling: rundir.Number(s.Instructions),
			FrequencyScaling: rundir.Number(s.Frequency), Global: rundir.Number(s.Global), Speedup: rundir.Number(s.Speedup),
		}
	}
	return kind, nil
}

// kindOf is the kind by which the runs with the most locations scale.
func kindOf(runs []rundir.EfficiencyRun, base *efficiency.Measured) (ScalingKind, error) {
	kind := Strong
	for i := range runs {
		weak, known := efficiency.Weak(measured(&runs[i]), base)
		if !known {
			return "", ErrKindUnknown
		}
		if kind = Strong; weak {
			kind = Weak
		}
	}
	return kind, nil
}

func measured(r *rundir.EfficiencyRun) *efficiency.Measured {
	return &efficiency.Measured{
		Locations: r.Locations, T: float64(r.Seconds), Computing: float64(r.Budget.Computing), Parallel: float64(r.Parallel),
		Instructions: float64(r.Instructions), IPC: float64(r.IPC), GHz: float64(r.GHz),
	}
}

const mpiSeconds = "budget.mpi_seconds"

// A fitted is a figure of runs that a law is fitted to.
type fitted struct {
	what  string
	value func(r *rundir.EfficiencyRun) rundir.Number
}

// Fits are the laws that runs of different sizes follow: Amdahl's form of each factor, from three sizes on, and a
// scaling law of times, from five on. They are projected to twice and four times the largest size, and to more only to
// a number of locations that was asked for, 0 of none.
func Fits(runs []rundir.EfficiencyRun, to int) (list []rundir.EfficiencyFit, err error) {
	var p []float64
	largest := 0
	for i := range runs {
		p = append(p, float64(runs[i].Locations))
		largest = max(largest, runs[i].Locations)
	}
	at := []int{2 * largest, 4 * largest}
	if to > 0 {
		at = append(slices.DeleteFunc(at, func(n int) bool { return n >= to }), to)
	}
	factors := []fitted{
		{"parallel_efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Parallel }},
		{"load_balance", func(r *rundir.EfficiencyRun) rundir.Number { return r.Balance }},
		{"communication_efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Communication }},
		{"computation_scaling", func(r *rundir.EfficiencyRun) rundir.Number { return r.ComputationScaling }},
		{"global_efficiency", func(r *rundir.EfficiencyRun) rundir.Number { return r.Global }},
	}
	for _, x := range factors {
		values, ok := x.of(runs)
		if !ok {
			continue
		}
		a, err := law.FitAmdahl(p, values)
		if errors.Is(err, law.ErrFewSizes) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.what, err)
		}
		f := rundir.EfficiencyFit{What: x.what, Amdahl: &rundir.EfficiencyAmdahl{X0: rundir.Number(a.X0), F: rundir.Number(a.F), Residual: rundir.Number(a.Residual)}}
		for _, n := range at {
			f.Projected = append(f.Projected, rundir.EfficiencyProjected{
				Locations: n, Value: rundir.Number(a.At(float64(n))), Low: rundir.Number(math.NaN()), High: rundir.Number(math.NaN()),
			})
		}
		list = append(list, f)
	}
	times := []fitted{
		{"seconds", func(r *rundir.EfficiencyRun) rundir.Number { return r.Seconds }},
		{"budget.computing_seconds", func(r *rundir.EfficiencyRun) rundir.Number { return r.Budget.Computing }},
		{mpiSeconds, func(r *rundir.EfficiencyRun) rundir.Number { return r.Budget.MPI }},
	}
	for _, x := range times {
		sizes, some := p, runs
		if x.what == mpiSeconds { // one location waits for nobody: its time is no part of the law, and its error would rule
			sizes, some = nil, nil
			for i := range runs {
				if runs[i].Locations > 1 {
					sizes, some = append(sizes, p[i]), append(some, runs[i])
				}
			}
		}
		values, ok := x.of(some)
		if !ok {
			continue
		}
		l, err := law.Fit(sizes, values)
		if errors.Is(err, law.ErrFewSizes) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.what, err)
		}
		f := rundir.EfficiencyFit{What: x.what, Law: &rundir.EfficiencyLaw{
			C: rundir.Number(l.C), A: rundir.Number(l.A), I: rundir.Number(l.I), J: rundir.Number(l.J), Error: rundir.Number(l.Error),
		}}
		for _, n := range at {
			value, low, high := l.At(float64(n))
			f.Projected = append(f.Projected, rundir.EfficiencyProjected{Locations: n, Value: rundir.Number(value), Low: rundir.Number(low), High: rundir.Number(high)})
		}
		list = append(list, f)
	}
	return list, nil
}

// of is a figure of all runs; false: one does not have it, or it is 0.
func (x *fitted) of(runs []rundir.EfficiencyRun) (list []float64, ok bool) {
	for i := range runs {
		v := float64(x.value(&runs[i]))
		if !(v > 0) {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// notKnown are the scalings of a run that is compared with none.
func notKnown() rundir.EfficiencyScaling {
	nan := rundir.Number(math.NaN())
	return rundir.EfficiencyScaling{ComputationScaling: nan, IPCScaling: nan, InstructionScaling: nan, FrequencyScaling: nan, Global: nan, Speedup: nan}
}
