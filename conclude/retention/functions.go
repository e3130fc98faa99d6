package retention

import (
	"fmt"

	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// AddFunctions makes phases of the time in functions, and says what was found of them. It is collective.
func AddFunctions(run *trace.Run, owners team.Threads, names []string) ([]rundir.PhaseFunction, error) {
	found := run.AddFunctionPhases(names)
	var sums []int64
	for i := range found {
		sums = append(sums, found[i].Phases, found[i].Divided, found[i].TooDeep)
	}
	if err := owners.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	list := make([]rundir.PhaseFunction, len(found))
	for i := range found {
		list[i] = rundir.PhaseFunction{Name: names[i], CallPaths: found[i].Paths, Phases: sums[3*i], Divided: sums[3*i+1], TooDeep: sums[3*i+2]}
	}
	return list, nil
}

// DescribeFunctions adds to a manifest what was found of the functions that are phases.
func DescribeFunctions(m *rundir.Manifest, found []rundir.PhaseFunction) {
	m.PhaseFunctions = found
	for _, f := range found {
		if f.TooDeep > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("--phase-function %s: %s in %d or more others: part of the innermost of the first", f.Name, units.Count(f.TooDeep, "phase"), trace.MostPhaseDepth))
		}
		switch {
		case f.CallPaths == 0:
			m.Notes = append(m.Notes, fmt.Sprintf("--phase-function %s: no call path of the run has this function; callpaths.json lists those that it has", f.Name))
		case f.Divided > 0:
			m.Notes = append(m.Notes, fmt.Sprintf("--phase-function %s: phases that the program marks divide %s of it", f.Name, units.Count(f.Divided, "part")))
		}
	}
}
