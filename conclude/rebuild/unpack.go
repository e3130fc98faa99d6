package rebuild

import (
	"slices"
	"strings"
	"sync"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/internal/team"
	"moriens/trace"
)

// unpacked is a run in which each thread has the time of its node's clock.
type unpacked struct {
	Threads
	run      *trace.Run
	frozen   store.Frozen
	at       *commonTime
	counters []int              // by thread of the run: its counter among the clocks
	cuts     []cuts             // likewise, of those that are here
	all      trace.BurstColumns // the bursts of all threads that are here
	notes    []string
	marks    Unbalanced // of the threads that are here
	roster   *roster
}

// unpack turns what the store held into a trace in which each thread has the time of its node's clock: ticks become
// nanoseconds, processes become ranks of worlds, and the calls that arrived over the wire get the bursts between them.
// The store lets go of those.
func unpack(f store.Frozen, t team.Team, workers int) *unpacked {
	c := readClocks(f)
	u := &unpacked{run: &trace.Run{CallPaths: f.CallPaths, MarkNames: f.MarkNames, Code: trace.CodeOn(f.CallPaths, f.Code)}, frozen: f}
	// Which processes ran at the same time is asked below; what they sent each other is not known yet.
	at, err := c.solve(team.Solo{}, noCauses().known, nil, workers)
	u.at, u.notes = at, c.notes
	if err != nil {
		u.notes = append(u.notes, err.Error())
	}
	node := make(map[*store.Agent]int)
	for i, a := range f.Agents {
		node[a] = i
		u.run.Nodes = append(u.run.Nodes, trace.Node{Name: a.Hello.Host, CPUs: int(a.Hello.Cpus)})
	}
	worlds, notes := at.worlds(f)
	u.notes = append(u.notes, notes...)
	u.Threads = threadsIn(worlds, f, t, workers)
	u.run.Counters = counters(worlds)
	for _, w := range worlds {
		u.run.Worlds = append(u.run.Worlds, trace.World{Executable: w.executable(), MPILibrary: w.Ranks()[0].Info.MpiLibrary, Size: w.size})
	}
	for i, r := range u.Rings {
		p := &u.Processes[u.ProcessOf[i]]
		counter, _, _ := c.local(p.Process)
		u.counters = append(u.counters, counter)
		u.run.Threads = append(u.run.Threads, trace.Thread{World: p.World, Rank: int(p.Info.Rank), Thread: int(r.Info.Thread), Node: node[p.Agent]})
	}
	u.roster = assign(worlds, append(Unrecorded(f), c.leftOut(f)...))
	u.cuts = make([]cuts, len(u.Rings))
	u.allotCalls()
	marks := make([]Unbalanced, len(u.Rings))
	readers := sync.Pool{New: func() any { return new(store.Reader) }}
	u.each(func(i int) {
		p, r, t := u.Processes[u.ProcessOf[i]].Process, u.Rings[i], &u.run.Threads[i]
		_, line, _ := c.local(p)
		reader := readers.Get().(*store.Reader)
		u.cuts[i] = chunked{f.Take(r), reader, places(u.run.Counters, p), f.Path}.read(t, line.at)
		readers.Put(reader)
		if len(r.Marks) == 0 {
			return
		}
		if t.Calls.Len() == 0 { // a thread that says something and never calls MPI
			t.BeginNS = line.at(r.Marks[0].Origin)
		}
		n := t.Calls.Len() - len(u.cuts[i].gaps)
		own := t.Bursts // until calls are where they stay
		t.Bursts = trace.Bursts{StartNS: make([]int64, n), DurationNS: make([]int64, n), Before: make([]uint32, n), After: make([]uint32, n)}
		u.cuts[i].fill(t)
		marks[i] = addMarks(t, r, f.Name, line.at)
		addReadings(t, r, places(u.run.Counters, p), line.at)
		own.Phase = t.Bursts.Phase
		t.Bursts = own
	})
	for _, m := range marks {
		u.marks.add(m)
	}
	return u
}

// clockThreads are the calls of the run's threads, as far as they are here, for the comparison of clocks.
func (u *unpacked) clockThreads() []clock.Thread {
	threads := make([]clock.Thread, len(u.run.Threads))
	for i := range threads {
		t := &u.run.Threads[i]
		threads[i] = clock.Thread{Node: u.counters[i], EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Gaps: u.cuts[i].gaps}
	}
	return threads
}

// gaps are, by thread of those that are here, its rows without a burst before them.
func (u *unpacked) gaps() [][]int32 {
	list := make([][]int32, len(u.cuts))
	for i := range list {
		list[i] = u.cuts[i].gaps
	}
	return list
}

// sumMarks is collective: it adds up what all members have counted of marks.
func (u *unpacked) sumMarks() (Unbalanced, error) {
	counts := []int64{u.marks.Ends, u.marks.Unfinished, u.marks.Deep}
	err := u.Team.AllReduce(counts, team.Sum)
	return Unbalanced{counts[0], counts[1], counts[2]}, err
}

// counters are what any process counted, in the order of the ranks.
func counters(worlds []*World) []trace.Counter {
	var list []trace.Counter
	for _, w := range worlds {
		for _, p := range w.Ranks() {
			for _, name := range p.Info.Events {
				if !slices.ContainsFunc(list, func(c trace.Counter) bool { return c.Name == name }) {
					list = append(list, trace.Counter{Name: name, Unit: unit(name)})
				}
			}
		}
	}
	return list
}

// unit is what an event's name says of its unit; empty where it says nothing.
func unit(event string) string {
	switch event {
	case "sw:page-faults":
		return "faults"
	case "sw:context-switches":
		return "switches"
	case "sw:cpu-time":
		return "ns"
	}
	if preset, isPreset := strings.CutPrefix(event, "PAPI_"); isPreset {
		for _, s := range []struct{ suffix, unit string }{
			{"_INS", "instructions"}, {"_CYC", "cycles"}, {"_OPS", "operations"}, {"_DCM", "misses"}, {"_ICM", "misses"}, {"_TCM", "misses"},
		} {
			if strings.HasSuffix(preset, s.suffix) {
				return s.unit
			}
		}
	}
	return ""
}

// places says for each counter where it is among a process's events; -1: it is not.
func places(counters []trace.Counter, p *store.Process) []int {
	list := make([]int, len(counters))
	for i, c := range counters {
		list[i] = slices.Index(p.Info.Events, c.Name)
	}
	return list
}
