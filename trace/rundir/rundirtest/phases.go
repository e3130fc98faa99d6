package rundirtest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
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
// the program's; and that of all instances of a path, and of what was done in them, to those of profile.parquet.
// Instances have the times that the phases of the threads have, where all of these are kept, and elsewhere times in
// which they can have been. It returns both tables.
func CheckPhases(t testing.TB, dir string) (*parquet.Profile, []parquet.InstanceRow) {
	t.Helper()
	p, c := checkProfile(t, dir)
	in, err := parquet.ReadInstancesFile(filepath.Join(dir, rundir.InstancesFile))
	if err != nil {
		t.Fatal(err)
	}
	c.instances(in.Rows)
	c.times(dir, in.Rows)
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
// time for it. Where bursts were kept on their nodes there are no instances, and where no agent has reported them the
// profile has no row; of a job without a rank there is neither.
func CheckPhasesIfKnown(t testing.TB, dir string) {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Nobody() || m.Cells != nil {
		lacksFile(t, dir, rundir.InstancesFile)
	}
	switch {
	case m.Nobody():
		lacksFile(t, dir, rundir.ProfileFile)
	case m.Empty != "" && m.Cells != nil && m.Cells.RanksSilent == m.Ranks:
		p, err := parquet.ReadProfileFile(filepath.Join(dir, rundir.ProfileFile))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Rows); n > 0 {
			t.Errorf("%d rows of the profile, though no agent has reported anything", n)
		}
	case lacks(m, rundir.ProfileFile+" is missing") || lacks(m, "named phases are missing in the profile"): // an agent of an earlier version does not sum by phase
	case m.Cells != nil || lacks(m, rundir.InstancesFile+" is missing"):
		CheckProfilePhases(t, dir)
	default:
		CheckPhases(t, dir)
	}
}

func lacksFile(t testing.TB, dir, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v, where there can be none", name, err)
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
			if r.Paths > 0 { // a place
				is.function, _, _ = strings.Cut(r.CallPath, "@")
				break
			}
			is.function = c.functionOf(r.CallPath)
		case parquet.ProfileComputation:
			if is.cluster = r.Cluster; r.OfKind > 0 {
				is.cluster = r.OfKind
			}
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

// An instanceOf is an instance of a phase path.
type instanceOf struct {
	path     string
	instance int64
}

// spansOf are when the first thread begins each instance, and the last one ends it, by the phases of each thread.
func spansOf(run *trace.Run) map[instanceOf]trace.Span {
	spans := make(map[instanceOf]trace.Span)
	for i := range run.Threads {
		type interval struct {
			path string
			name uint32
		}
		var open []interval // outermost first
		count := make(map[string]int64)
		for _, p := range run.Threads[i].Phases {
			open = open[:p.Depth]
			if n := len(open); n > 0 && open[n-1].name == p.Name { // part of the one round it
				open = append(open, open[n-1])
				continue
			}
			names := []string{}
			if n := len(open); n > 0 {
				names = trace.PhaseNames(open[n-1].path)
			}
			path := trace.PhasePath(append(names, run.MarkNames[p.Name])...)
			open = append(open, interval{path, p.Name})
			at := instanceOf{path, count[path]}
			count[path]++
			s, known := spans[at]
			if !known {
				s = trace.Span{BeginNS: p.BeginNS, EndNS: p.EndNS}
			}
			spans[at] = trace.Span{BeginNS: min(s.BeginNS, p.BeginNS), EndNS: max(s.EndNS, p.EndNS)}
		}
	}
	return spans
}

// times checks when instances ran. In the run they are, where it is here with all of its time, what the threads have;
// elsewhere no thread has more of an instance than there is from its begin to its end, instances lie in one round them
// and begin in their order, unless they are iterations, of which threads may lack some.
func (c phaseChecker) times(dir string, rows []parquet.InstanceRow) {
	c.Helper()
	var spans map[instanceOf]trace.Span
	if slices.ContainsFunc(rows, func(r parquet.InstanceRow) bool { return r.InPhase }) {
		run, _, _, err := rundir.Read(dir)
		if err != nil {
			c.Fatal(err)
		}
		if run.Windows == nil {
			spans = spansOf(run)
		}
	}
	round := make(map[string]trace.Span) // of all instances of a path
	last := make(map[[2]any]*parquet.InstanceRow)
	for i := range rows {
		r := &rows[i]
		if r.OfThread || r.What != parquet.InstanceWhole {
			if r.Timed {
				c.Errorf("times of %+v", *r)
			}
			continue
		}
		if !r.Timed || r.MostNS > r.EndNS-r.BeginNS || r.LongestNS > r.EndNS-r.BeginNS {
			c.Errorf("a thread has more of an instance than from its begin to its end: %+v", *r)
		}
		path := pathOf(r.InPhase, r.Phase)
		of := [2]any{path, r.Iterations}
		before := last[of]
		last[of] = r
		if before != nil && (before.Instance >= r.Instance || r.Iterations < 0 && before.BeginNS > r.BeginNS) {
			c.Errorf("instance %+v is behind %+v", *r, *before)
		}
		if r.Iterations >= 0 {
			continue
		}
		all, known := round[path]
		if !known {
			all = trace.Span{BeginNS: r.BeginNS, EndNS: r.EndNS}
		}
		round[path] = trace.Span{BeginNS: min(all.BeginNS, r.BeginNS), EndNS: max(all.EndNS, r.EndNS)}
		if spans == nil || !r.InPhase {
			continue
		}
		want := spans[instanceOf{path, r.Instance}]
		for n := r.Instance; n < r.Instance+r.Instances; n++ {
			at := instanceOf{path, n}
			want.BeginNS, want.EndNS = min(want.BeginNS, spans[at].BeginNS), max(want.EndNS, spans[at].EndNS)
			delete(spans, at)
		}
		if got := (trace.Span{BeginNS: r.BeginNS, EndNS: r.EndNS}); got != want {
			c.Errorf("instance %d of %s is %v, its threads have it in %v", r.Instance, path, got, want)
		}
	}
	if len(spans) > 0 {
		c.Errorf("no rows of the instances %v", spans)
	}
	for path, s := range round {
		if path == program {
			continue
		}
		if up, known := round[parentOf(path)]; !known || s.BeginNS < up.BeginNS || s.EndNS > up.EndNS {
			c.Errorf("%s is %v, what is round it %v", path, s, up)
		}
	}
}
