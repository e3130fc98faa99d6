package rundirtest

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// CheckPhases checks what a run directory says of phases, to the nanosecond and for each thread: rows directly in a
// phase add up to its exclusive time, that and the phases in it to its inclusive time, exclusive times of all phases to
// the program's; and that of all instances of a path, and of what was done in them, to those of profile.parquet. It
// returns both tables.
func CheckPhases(t testing.TB, dir string) (*parquet.Profile, []parquet.InstanceRow) {
	t.Helper()
	p, c := checkProfile(t, dir)
	in, err := parquet.ReadInstancesFile(filepath.Join(dir, rundir.InstancesFile))
	if err != nil {
		t.Fatal(err)
	}
	c.instances(in.Rows)
	return p, in.Rows
}

// CheckProfilePhases checks what the profile of a run directory says of phases, as CheckPhases does, where there are no
// instances: in runs whose bursts were kept on their nodes.
func CheckProfilePhases(t testing.TB, dir string) *parquet.Profile {
	t.Helper()
	p, _ := checkProfile(t, dir)
	return p
}

func checkProfile(t testing.TB, dir string) (*parquet.Profile, phaseChecker) {
	t.Helper()
	p, err := parquet.ReadProfileFile(filepath.Join(dir, rundir.ProfileFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := phaseChecker{TB: t, static: make(map[thing]int64), of: make(map[phaseOf]*phaseSums), functions: functionsOf(t, dir), unclustered: lacks(m, rundir.ProfileFile+" does not distinguish clusters")}
	c.rows(p)
	c.thread()
	return p, c
}

// program is the path of the program itself, which no other is.
const program = "(program)"

// A phaseOf is a phase of a thread.
type phaseOf struct {
	world, rank, thread int32
	path                string
}

type phaseSums struct{ inclusive, exclusive, rows, children int64 }

// A thing is what was done directly in a phase, over all threads.
type thing struct {
	path, what, function string
	cluster              int32
}

type phaseChecker struct {
	testing.TB
	static      map[thing]int64
	of          map[phaseOf]*phaseSums
	functions   map[string]string // of MPI, by the name of a call path
	unclustered bool              // profile.parquet has no clusters
}

// functionsOf are the functions of MPI by the names of call paths: a name of another tool may have any character.
func functionsOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	table, err := rundir.ReadCallPaths(dir)
	if err != nil {
		t.Fatal(err)
	}
	functions := make(map[string]string)
	for i := range table.Paths {
		functions[table.Paths[i].Name] = table.Paths[i].Function
	}
	return functions
}

func (c phaseChecker) functionOf(path string) string {
	c.Helper()
	function, known := c.functions[path]
	if !known {
		c.Errorf("callpaths.json lacks %q", path)
	}
	return function
}

// CheckPhasesIfKnown checks what a run directory says of phases, as CheckPhases does, unless it says that there was no
// time for it. Where bursts were kept on their nodes there are no instances.
func CheckPhasesIfKnown(t testing.TB, dir string) {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case lacks(m, rundir.ProfileFile+" is missing") || lacks(m, "named phases are missing in the profile"): // an agent of an earlier version does not sum by phase
	case m.Cells != nil || lacks(m, rundir.InstancesFile+" is missing"):
		CheckProfilePhases(t, dir)
	default:
		CheckPhases(t, dir)
	}
}

// lacks reports whether a run directory says so of what it lacks.
func lacks(m *rundir.Manifest, what string) bool {
	return slices.ContainsFunc(m.Reduction.Missing, func(text string) bool { return strings.Contains(text, what) })
}

func pathOf(in bool, path string) string {
	if in {
		return path
	}
	return program
}

// parentOf is the path round one.
func parentOf(path string) string {
	names := trace.PhaseNames(path)
	if len(names) == 1 {
		return program
	}
	return trace.PhasePath(names[:len(names)-1]...)
}

func (c phaseChecker) rows(p *parquet.Profile) {
	c.Helper()
	for i := range p.Rows {
		r := &p.Rows[i]
		at := phaseOf{r.World, r.Rank, r.Thread, pathOf(r.InPhase, r.Phase)}
		switch r.Kind {
		case parquet.ProfilePhase, parquet.ProfileComputation, parquet.ProfileMPI, parquet.ProfilePaused, parquet.ProfileUnrecorded:
		default:
			continue
		}
		if c.of[at] == nil {
			c.of[at] = new(phaseSums)
		}
		s := c.of[at]
		if r.TimeNS < 0 || r.EstimatedNS > r.TimeNS {
			c.Errorf("%s row of %v: %d ns, %d of them estimated", r.Kind, at, r.TimeNS, r.EstimatedNS)
		}
		if r.Kind == parquet.ProfilePhase {
			s.inclusive, s.exclusive = s.inclusive+r.TimeNS, s.exclusive+r.ExclusiveNS
			if at.path != program {
				parent := at
				parent.path = parentOf(at.path)
				if c.of[parent] == nil {
					c.of[parent] = new(phaseSums)
				}
				c.of[parent].children += r.TimeNS
			}
			c.static[thing{at.path, parquet.InstanceWhole, "", 0}] += r.ExclusiveNS
			continue
		}
		s.rows += r.TimeNS
		is := thing{at.path, r.Kind, "", 0}
		switch r.Kind {
		case parquet.ProfileMPI:
			is.function = c.functionOf(r.CallPath)
		case parquet.ProfileComputation:
			is.cluster = r.Cluster
		}
		c.static[is] += r.TimeNS
	}
}

// thread checks the sums of each thread.
func (c phaseChecker) thread() {
	c.Helper()
	exclusive := make(map[phaseOf]int64)
	for at, s := range c.of {
		if s.rows != s.exclusive || s.exclusive+s.children != s.inclusive {
			c.Errorf("%v: rows of %d ns, exclusive %d, phases in it %d, inclusive %d", at, s.rows, s.exclusive, s.children, s.inclusive)
		}
		at.path = program
		exclusive[at] += s.exclusive
	}
	for at, ns := range exclusive {
		if c.of[at] == nil || c.of[at].inclusive != ns {
			c.Errorf("%v: exclusive times of its phases are %d ns: %+v", at, ns, c.of[at])
		}
	}
}

// instances checks that the dynamic view adds up to the static one.
func (c phaseChecker) instances(rows []parquet.InstanceRow) {
	c.Helper()
	direct, single := make(map[thing]int64), make(map[thing]int64)
	type point struct {
		thing
		instance int64
		loop     int32
	}
	sums, most := make(map[point]int64), make(map[point]int64)
	byThread := false
	for i := range rows {
		r := &rows[i]
		is := thing{pathOf(r.InPhase, r.Phase), r.What, r.Function, r.Cluster}
		at := point{is, r.Instance, r.Iterations}
		if c.unclustered {
			is.cluster = 0
		}
		switch {
		case r.OfThread:
			byThread = true
			sums[at] -= r.SumNS
			most[at] = max(most[at], r.SumNS)
			if r.Iterations < 0 {
				single[is] += r.DirectNS
			}
		case r.LeastNS > r.MostNS || r.MostNS > r.SumNS || r.DirectNS > r.SumNS || r.Count < 1:
			c.Errorf("instance row %+v", *r)
			fallthrough
		default:
			sums[at] += r.SumNS
			most[at] = max(most[at], r.MostNS)
			if r.Iterations < 0 {
				direct[is] += r.DirectNS
			}
		}
	}
	clean := func(m map[thing]int64) { maps.DeleteFunc(m, func(_ thing, ns int64) bool { return ns == 0 }) }
	clean(c.static)
	clean(direct)
	clean(single)
	if !maps.Equal(direct, c.static) {
		c.Errorf("instances add up to\n%v, the profile has\n%v", direct, c.static)
	}
	if !byThread {
		return
	}
	if !maps.Equal(single, c.static) {
		c.Errorf("instances of single threads add up to\n%v, the profile has\n%v", single, c.static)
	}
	for at, ns := range sums {
		if ns != 0 {
			c.Errorf("%+v: single threads lack %d ns", at, ns)
		}
	}
	for i := range rows {
		if r := &rows[i]; !r.OfThread && r.MostNS != most[point{thing{pathOf(r.InPhase, r.Phase), r.What, r.Function, r.Cluster}, r.Instance, r.Iterations}] {
			c.Errorf("%+v: another thread has more", *r)
		}
	}
}
