package retention

import (
	"slices"

	"moriens/analysis/phase"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/conclude/levels"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Sums are those of all threads of a run that has the columns of some alone.
type Sums struct {
	Rows    []profile.Row      // level 1, as of profile.Profile, without phases of iterations
	Phases  *Phases            // of the program; nil: not known
	Classes *represent.Classes // nil: they are found as of other runs
}

// Phases are those of the program, by thread, as of levels.Phases.
type Phases struct {
	Paths *phase.Paths
	Sums  [][]phase.Sum
	Idle  [][]phase.Idle
}

// phases are those of the program; nil: not known.
func (t *Sums) phases() *levels.Phases {
	if t.Phases == nil {
		return nil
	}
	return &levels.Phases{Paths: t.Phases.Paths, Sums: t.Phases.Sums, Idle: t.Phases.Idle}
}

// records is how many calls and bursts there were.
func (t *Sums) records() (n int64) {
	for i := range t.Rows {
		n += t.Rows[i].Time.N
	}
	return n
}

// rows are those of profile.parquet. What collective calls of threads have moved that are not here is not known.
func (t *Sums) rows(run *trace.Run, found *levels.Profiled) *parquet.Profile {
	all := &levels.Profiled{Profile: t.profile(run, found), Phases: t.phases()}
	out := levels.ProfileRows(run, all)
	for i := range all.Rows { // which are the first ones, in their order
		r := &all.Rows[i]
		if r.Kind == profile.MPI && run.Threads[r.Thread].Calls.Len() == 0 && CallClass(run.CallPaths[r.Path].Function) == represent.Collective {
			out.Rows[i].InTraffic = true
		}
	}
	return out
}

// profile is level 1 of all threads: rows by their sums, and what else there is of those that are here, of which found
// is the profile; nil = there is none.
func (t *Sums) profile(run *trace.Run, found *levels.Profiled) *profile.Profile {
	type place struct {
		thread int32
		path   uint32
		phase  string
	}
	all := &profile.Profile{Rows: slices.Clone(t.Rows)}
	if found == nil {
		return all
	}
	all.Curves = found.Curves
	moved := make(map[place][2]int64)
	here, there := found.Phases.Texts(run), t.phases().Texts(run)
	for i := range found.Rows {
		if r := &found.Rows[i]; r.Kind == profile.MPI {
			at := place{r.Thread, r.Path, ""}
			if t.Phases != nil {
				at.phase = here[r.Region]
			}
			sums := moved[at]
			moved[at] = [2]int64{sums[0] + r.Sent, sums[1] + r.Received}
		}
	}
	for i := range all.Rows {
		if r := &all.Rows[i]; r.Kind == profile.MPI {
			sums := moved[place{r.Thread, r.Path, there[r.Region]}]
			r.Sent, r.Received = sums[0], sums[1]
		}
	}
	return all
}

// structure leaves out threads without data here: that does not mean that they were idle.
func (t *Sums) structure(run *trace.Run, s *rundir.Structure) {
	here := make(map[rundir.ThreadName]bool)
	for i := range run.Threads {
		if run.Threads[i].Calls.Len() > 0 {
			here[rundir.NameOf(&run.Threads[i])] = true
		}
	}
	s.Threads = slices.DeleteFunc(s.Threads, func(x rundir.StructureThread) bool { return !here[x.ThreadName] })
}
