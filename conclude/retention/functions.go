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
		sums = append(sums, found[i].Phases, found[i].Divided)
	}
	if err := owners.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	list := make([]rundir.PhaseFunction, len(found))
	for i := range found {
		list[i] = rundir.PhaseFunction{Name: names[i], CallPaths: found[i].Paths, Phases: sums[2*i], Divided: sums[2*i+1]}
	}
	return list, nil
}

// DescribeFunctions adds to a manifest what was found of the functions that are phases.
func DescribeFunctions(m *rundir.Manifest, found []rundir.PhaseFunction) {
	m.PhaseFunctions = found
	for _, f := range found {
		switch {
		case f.CallPaths == 0:
			m.Notes = append(m.Notes, fmt.Sprintf("--phase-function %s: no call path of the run has this function; callpaths.json lists those that it has", f.Name))
		case f.Divided > 0:
			m.Notes = append(m.Notes, fmt.Sprintf("--phase-function %s: phases that the program marks divide %s of it", f.Name, units.Count(f.Divided, "part")))
		}
	}
}
