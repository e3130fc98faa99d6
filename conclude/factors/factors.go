// Package factors says what a run makes of its processors: it puts a trace.Run into the locations and regions of
// analysis/efficiency, and the answer into the words of efficiency.json.
//
// The stretches of a run are main (from the latest exit of MPI_Init to the earliest entry of MPI_Finalize), run (all of
// it) and loop (from the first to the last iteration). Each phase that the program has named is a region too, and so is
// each phase of iterations.
package factors

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/efficiency"
	"moriens/analysis/period"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// The stretches of a run.
const (
	Main = "main"
	Run  = "run"
	Loop = "loop"
)

// The counters that factors are about.
const nameOfInstructions, nameOfCycles = "PAPI_TOT_INS", "PAPI_TOT_CYC"

// Options are what is known of a run beside itself.
type Options struct {
	Phases  []period.Phase // of iterations
	Classes []Class
	Workers int
}

// A Class is a group of threads that behave alike.
type Class struct {
	Name    string
	Threads []int32
}

// Measure is collective: it computes the factors of a run, whose threads members of a team have.
func Measure(run *trace.Run, owners team.Threads, o Options) (*rundir.Efficiency, error) {
	m := &measurement{run: run, owners: owners, options: o}
	if err := m.findCallers(); err != nil {
		return nil, err
	}
	if err := m.findRegions(); err != nil {
		return nil, err
	}
	iterations := make([]int, len(o.Phases))
	for k := range o.Phases {
		iterations[k] = o.Phases[k].Iterations
	}
	kinds := slices.ContainsFunc(run.Clusters, func(c trace.Cluster) bool { return c.Known() })
	s, err := efficiency.Local(m.locations(), efficiency.Options{
		Regions: len(m.regions), Clusters: m.withClusters, Kinds: kinds, Iterations: iterations, Workers: o.Workers, Team: owners,
	})
	if err := team.Explain(owners, err); err != nil {
		return nil, err
	}
	if err := s.Merge(owners); err != nil {
		return nil, err
	}
	return m.describe(s), nil
}

// A measurement is the work of Measure.
type measurement struct {
	run     *trace.Run
	owners  team.Threads
	options Options

	regions      []region
	withClusters int    // so many of the first regions
	called       []bool // by thread: it called MPI; nil: all did
	why          []string
}

// findCallers is collective. Threads that called no MPI are no locations, as those of a trace that it has for the sake
// of other events; but where none has called any, all are.
func (m *measurement) findCallers() error {
	calls := make([]int64, len(m.run.Threads))
	for i := range calls {
		if m.owners.Mine(i) {
			calls[i] = int64(m.run.Threads[i].Calls.Len())
		}
	}
	if err := m.owners.AllReduce(calls, team.Max); err != nil {
		return err
	}
	if slices.Max(append(calls, 0)) == 0 {
		return nil
	}
	m.called = make([]bool, len(calls))
	for i, n := range calls {
		m.called[i] = n > 0
	}
	return nil
}

// A region is one of these: a stretch of the run's time, the same for all threads; a phase that the program has named;
// a phase of iterations.
type region struct {
	name      string
	stretch   *efficiency.Span // nil of a phase that the program has named
	world     int              // whose threads are its locations; -1: those of all
	mark      uint32           // of the program's phase,
	times     int              // and how often it was there, on the thread that was most often
	iteration int              // index of the phase of iterations; -1: it is none
}

// ends are when the worlds of a run begin and end: for main, and as far as any thread goes.
type ends struct{ main, life []efficiency.Span }

const never = math.MaxInt64

// findEnds is collective.
func (m *measurement) findEnds() (ends, error) {
	worlds := max(1, len(m.run.Worlds))
	latest, earliest := slices.Repeat([]int64{-1}, worlds), slices.Repeat([]int64{never}, worlds)
	e := ends{life: make([]efficiency.Span, worlds)}
	for w := range e.life {
		e.life[w] = efficiency.Span{BeginNS: never, EndNS: -1}
	}
	begins, closes := m.callsOf("MPI_Init", "MPI_Init_thread"), m.callsOf("MPI_Finalize")
	for i := range m.run.Threads {
		t := &m.run.Threads[i]
		if t.Untimed() {
			continue
		}
		life := &e.life[t.World]
		life.BeginNS, life.EndNS = min(life.BeginNS, t.BeginNS), max(life.EndNS, t.EndNS)
		for k, p := range t.Calls.Path {
			if begins[p] {
				latest[t.World] = max(latest[t.World], t.Calls.ExitNS[k])
				break
			}
		}
		for k := len(t.Calls.Path) - 1; k >= 0; k-- {
			if closes[t.Calls.Path[k]] {
				earliest[t.World] = min(earliest[t.World], t.Calls.EnterNS[k])
				break
			}
		}
	}
	if err := m.owners.AllReduce(latest, team.Max); err != nil {
		return e, err
	}
	if err := m.owners.AllReduce(earliest, team.Min); err != nil {
		return e, err
	}
	for w := range latest {
		e.main = append(e.main, efficiency.Span{BeginNS: latest[w], EndNS: earliest[w]})
	}
	return e, nil
}

// callsOf says which call paths are those of functions.
func (m *measurement) callsOf(functions ...string) []bool {
	list := make([]bool, len(m.run.CallPaths))
	for i := range m.run.CallPaths {
		list[i] = slices.Contains(functions, m.run.CallPaths[i].Function)
	}
	return list
}

// findRegions is collective.
func (m *measurement) findRegions() error {
	e, err := m.findEnds()
	if err != nil {
		return err
	}
	whole, first := m.whole(), e.first()
	main := mainOf(e, first, whole)
	m.why = append(m.why, m.unlike(e, first, main)...)
	m.regions = []region{
		{name: Main, stretch: &main, world: -1, iteration: -1},
		{name: Run, stretch: &whole, world: -1, iteration: -1},
	}
	loop, err := m.loop()
	if err != nil {
		return err
	}
	if loop != nil {
		m.regions = append(m.regions, region{name: Loop, stretch: loop, world: -1, iteration: -1})
	}
	m.withClusters = len(m.regions)
	for w := range m.run.Worlds {
		if own := mainOf(e, w, e.life[w]); len(m.run.Worlds) > 1 && own.EndNS >= own.BeginNS {
			m.regions = append(m.regions, region{name: Main, stretch: &own, world: w, iteration: -1})
		}
	}
	used := make([]int64, len(m.run.MarkNames))
	for i := range m.run.Threads {
		own := make(map[uint32]int64)
		for _, p := range m.run.Threads[i].Phases {
			own[p.Name]++
			used[p.Name] = max(used[p.Name], own[p.Name])
		}
	}
	if err := m.owners.AllReduce(used, team.Max); err != nil {
		return err
	}
	for name := range used {
		if used[name] > 0 {
			m.regions = append(m.regions, region{name: m.run.MarkNames[name], mark: uint32(name), times: int(used[name]), world: -1, iteration: -1})
		}
	}
	for k := range m.options.Phases {
		if m.options.Phases[k].Iterations == 0 {
			continue
		}
		of, err := m.iterationsFrom(k, k)
		if err != nil {
			return err
		}
		if of != nil {
			m.regions = append(m.regions, region{iteration: k, stretch: of, world: -1})
		}
	}
	return nil
}

// MainOf is collective: it is the stretch main of a run, of whose worlds the one that begins first says it; where no
// call says it, all of the run.
func MainOf(run *trace.Run, owners team.Threads) (efficiency.Span, error) {
	m := &measurement{run: run, owners: owners}
	e, err := m.findEnds()
	if err != nil {
		return efficiency.Span{}, err
	}
	return mainOf(e, e.first(), m.whole()), nil
}

func (m *measurement) whole() efficiency.Span { return efficiency.Span{EndNS: m.run.DurationNS} }

// first is the world that begins first.
func (e *ends) first() int {
	first := 0
	for w := range e.life {
		if e.life[w].BeginNS < e.life[first].BeginNS {
			first = w
		}
	}
	return first
}

// mainOf is the stretch main of a world; where its calls do not say it, otherwise.
func mainOf(e ends, world int, otherwise efficiency.Span) efficiency.Span {
	s := e.main[world]
	if s.BeginNS < 0 {
		s.BeginNS = otherwise.BeginNS
	}
	if s.EndNS == never {
		s.EndNS = otherwise.EndNS
	}
	if s.EndNS < s.BeginNS { // a rank is through before another one begins
		return otherwise
	}
	return s
}

// unlike says in which ways main of the run is not what it is named after.
func (m *measurement) unlike(e ends, first int, main efficiency.Span) (why []string) {
	switch own := e.main[first]; {
	case own.BeginNS < 0 && own.EndNS == never:
		why = append(why, "no rank's MPI_Init and MPI_Finalize are recorded: main is the whole run")
	case own.BeginNS < 0:
		why = append(why, "no rank's MPI_Init is recorded: main begins with the run")
	case own.EndNS == never:
		why = append(why, "no rank's MPI_Finalize is recorded: main ends with the run")
	case own.EndNS < own.BeginNS:
		why = append(why, "a rank was in MPI_Finalize before another one was through MPI_Init: main is the whole run")
	}
	for w, life := range e.life {
		if w != first && life.BeginNS <= life.EndNS && (life.EndNS <= main.BeginNS || life.BeginNS >= main.EndNS) {
			why = append(why, fmt.Sprintf("world %d did not run at the time of world %d: its ranks compute nothing in main, and worlds has each on its own", w, first))
		}
	}
	return why
}

// loop is the stretch from the first iteration to the end of the last, on the thread that comes to each last; nil:
// there are no iterations. It is collective.
func (m *measurement) loop() (*efficiency.Span, error) {
	first, last := -1, -1
	for k := range m.options.Phases {
		if m.options.Phases[k].Iterations > 0 {
			if last = k; first < 0 {
				first = k
			}
		}
	}
	if first < 0 {
		return nil, nil
	}
	return m.iterationsFrom(first, last)
}

// iterationsFrom is the stretch from the first iteration of a phase to the end of the last one of another, on the
// thread that comes to each last. It is collective.
func (m *measurement) iterationsFrom(first, last int) (*efficiency.Span, error) {
	ends := []int64{-1, -1}
	for i := range m.run.Threads {
		if begins := m.beginsOf(first, i); len(begins) > 0 {
			ends[0] = max(ends[0], begins[0])
		}
		for k := first; k <= last; k++ {
			if begins := m.beginsOf(k, i); len(begins) > 0 {
				ends[1] = max(ends[1], begins[len(begins)-1])
			}
		}
	}
	if err := m.owners.AllReduce(ends, team.Max); err != nil {
		return nil, err
	}
	if ends[0] < 0 || ends[1] < ends[0] {
		return nil, nil
	}
	return &efficiency.Span{BeginNS: ends[0], EndNS: ends[1]}, nil
}

// beginsOf is when the iterations of a phase begin on a thread of this member, and the end of the last.
func (m *measurement) beginsOf(phase, thread int) []int64 {
	p := &m.options.Phases[phase]
	if p.Iterations == 0 || !m.owners.Mine(thread) || len(p.Threads[thread].Begins) == 0 {
		return nil
	}
	b := &m.run.Threads[thread].Bursts
	list := make([]int64, len(p.Threads[thread].Begins))
	for k, burst := range p.Threads[thread].Begins {
		switch n := b.Len(); {
		case int(burst) < n:
			list[k] = b.StartNS[burst]
		case n > 0:
			list[k] = b.StartNS[n-1] + b.DurationNS[n-1]
		}
	}
	return list
}

// locations are the threads of this member as analysis/efficiency takes them.
func (m *measurement) locations() []efficiency.Location {
	instructions, cycles := m.counter(nameOfInstructions), m.counter(nameOfCycles)
	list := make([]efficiency.Location, len(m.run.Threads))
	for i := range list {
		if !m.owners.Mine(i) {
			continue
		}
		t := &m.run.Threads[i]
		l := &list[i]
		*l = efficiency.Location{
			Life:    efficiency.Span{BeginNS: t.BeginNS, EndNS: t.EndNS},
			StartNS: t.Bursts.StartNS, DurationNS: t.Bursts.DurationNS, Cluster: t.Bursts.Cluster, Kind: t.Bursts.Kind,
			EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS,
			Loops: make([]efficiency.Loop, len(m.options.Phases)),
		}
		if instructions >= 0 {
			l.Instructions = countsOf(&t.Bursts, instructions)
		}
		if cycles >= 0 {
			l.Cycles = countsOf(&t.Bursts, cycles)
		}
		for k := range l.Loops {
			l.Loops[k].BeginsNS = m.beginsOf(k, i)
		}
		for _, r := range m.regions {
			l.Parts = append(l.Parts, r.parts(t))
		}
	}
	return list
}

func (m *measurement) counter(name string) int {
	return slices.IndexFunc(m.run.Counters, func(c trace.Counter) bool { return c.Name == name })
}

// countsOf is a counter of bursts, without what was counted in calls.
func countsOf(b *trace.Bursts, counter int) []int64 {
	column := b.Counters[counter]
	if len(b.InCalls.Burst) > 0 {
		column = slices.Clone(column)
	}
	for i, burst := range b.InCalls.Burst {
		if column[burst] != trace.NoCount {
			column[burst] -= b.InCalls.Of(i, counter)
		}
	}
	return column
}

// parts are what a thread has of a region.
func (r *region) parts(t *trace.Thread) []efficiency.Span {
	switch {
	case r.stretch == nil:
	case r.world >= 0 && t.World != r.world:
		return nil
	default:
		return []efficiency.Span{*r.stretch}
	}
	var list []efficiency.Span
	for _, p := range t.Phases {
		// One in another of the same name is in it already.
		if n := len(list); p.Name == r.mark && (n == 0 || p.BeginNS >= list[n-1].EndNS) {
			list = append(list, efficiency.Span{BeginNS: p.BeginNS, EndNS: p.EndNS})
		}
	}
	return list
}
