package conclude

import (
	"context"
	"slices"
	"strings"

	"moriens/analysis/workers"
	"moriens/collector/store"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A history is a run as the store held it, on one time line.
type history struct {
	run     *trace.Run
	team    team.Threads // who has which of the run's
	own     []int        // threads that are here, ascending
	workers int          // threads to compute with
	worlds  []*world     // of run.Worlds
	clocks  *clocks
	// By thread of the run: its counter among the clocks, and, of those that are here, its rows without a burst before them.
	counters []int
	gaps     [][]int32
	notes    []string
	missing  []string // what there was no time for, and why
	unbalanced

	unseen     []rundir.World   // of which no rank came; behind worlds
	absent     []rundir.Absence // ranks of all of them without a record
	unrecorded int              // of them, those that could not record

	processes []process
	byRank    map[worldRankKey]int // of processes
	rings     []*store.Ring        // of run.Threads
	processOf []int                // likewise
	threadOf  map[*store.Ring]int
	matching  *matching
	comms     *communicators
	frozen    *store.Frozen
	whole     bool // all that the processes have moved came, call by call
}

// recount is collective: it turns what the stores of all members held into a trace on one time line, of which each has the columns of its own threads. When ctx
// ends at one of them what is left is done without: messages are not matched, clocks not compared. An error is the team's.
func recount(ctx context.Context, f store.Frozen, t team.Team, threadsAtWork int) (*history, error) {
	h := unpack(f, t, threadsAtWork)
	h.comms = assembleCommunicators(h)
	moved(h, h.comms)
	h.matching = new(matching)
	over, err := h.over(ctx)
	if err != nil {
		return nil, err
	}
	c := noCauses()
	if over {
		h.missing = append(h.missing, "sends and receives are not matched: rebuild: "+h.why(ctx))
	} else if h.matching, err = match(h, h.comms); err != nil {
		return nil, err
	} else if h.clocks.severalClocks() {
		if c, err = h.causes(); err != nil {
			return nil, err
		}
	}
	if err := h.align(ctx, c); err != nil {
		return nil, err
	}
	if err := h.draw(); err != nil {
		return nil, err
	}
	h.sumUp(h.comms)
	return h, nil
}

// unpack turns what the store held into a trace in which each thread has the time of its node's clock: ticks become
// nanoseconds, processes become ranks of worlds, and the columns that came over the wire become calls and the bursts between them. The store
// lets go of those columns.
func unpack(f store.Frozen, t team.Team, threadsAtWork int) *history {
	h := &history{
		frozen: &f, whole: true, team: team.Threads{Team: t},
		run: &trace.Run{CallPaths: f.CallPaths, MarkNames: f.MarkNames}, workers: threadsAtWork, clocks: readClocks(f),
		byRank: make(map[worldRankKey]int), threadOf: make(map[*store.Ring]int),
	}
	// Which processes ran at the same time is asked below; what they sent each other is not known yet.
	if err := h.clocks.solve(team.Solo{}, noCauses().told, nil, threadsAtWork); err != nil {
		h.notes = append(h.notes, err.Error())
	}
	node := make(map[*store.Agent]int)
	for i, a := range f.Agents {
		node[a] = i
		h.run.Nodes = append(h.run.Nodes, trace.Node{Name: a.Hello.Host, CPUs: int(a.Hello.Cpus)})
	}
	var notes []string
	h.worlds, notes = h.clocks.worlds(f)
	h.notes = append(h.notes, notes...)
	h.run.Counters = counters(h.worlds)
	for i, w := range h.worlds {
		ranks := w.ranks()
		h.run.Worlds = append(h.run.Worlds, trace.World{
			Executable: w.executable(),
			MPILibrary: ranks[0].Info.MpiLibrary,
			Size:       w.size,
		})
		for _, p := range ranks {
			h.byRank[worldRankKey{i, int(p.Info.Rank)}] = len(h.processes)
			whole := f.Lacks(p) == 0
			h.whole = h.whole && whole
			h.processes = append(h.processes, process{Process: p, world: i, whole: whole})
			counter, _, _ := h.clocks.local(p)
			for _, r := range threadsOf(p) {
				if p.Agent.Member == t.Rank() {
					h.own = append(h.own, len(h.rings))
				}
				h.team.Of = append(h.team.Of, int32(p.Agent.Member))
				own := &h.processes[len(h.processes)-1]
				own.threads = append(own.threads, len(h.rings))
				h.threadOf[r] = len(h.rings)
				h.rings = append(h.rings, r)
				h.processOf = append(h.processOf, len(h.processes)-1)
				h.counters = append(h.counters, counter)
				h.run.Threads = append(h.run.Threads, trace.Thread{World: i, Rank: int(p.Info.Rank), Thread: int(r.Info.Thread), Node: node[p.Agent]})
			}
		}
	}
	r := muster(h.worlds, append(absentees(f), h.clocks.leftOut(f)...))
	h.absent, h.unrecorded = append(r.absent, silent(h.worlds)...), r.unrecorded
	for _, g := range r.ghosts {
		h.unseen = append(h.unseen, g.world())
	}
	h.gaps = make([][]int32, len(h.rings))
	marks := make([]unbalanced, len(h.rings))
	h.each(func(i int) {
		p, t := h.processes[h.processOf[i]].Process, &h.run.Threads[i]
		_, line, _ := h.clocks.local(p)
		h.gaps[i] = fill(t, h.rings[i], f.Take(h.rings[i]), places(h.run.Counters, p), f.Path, line.at)
		marks[i] = addMarks(t, h.rings[i], f.Name, line.at)
	})
	for _, m := range marks {
		h.add(m)
	}
	return h
}

// each does what is to be done for each thread that is here, for several at a time. What it does depends on no other thread.
func (h *history) each(do func(thread int)) {
	sizes := make([]int, len(h.own))
	for k, i := range h.own {
		sizes[k] = int(h.rings[i].Calls) + 1
	}
	workers.Every(sizes, h.workers, func(k int) { do(h.own[k]) })
}

// counters are what any process counted, in the order of the ranks.
func counters(worlds []*world) []trace.Counter {
	var list []trace.Counter
	for _, w := range worlds {
		for _, p := range w.ranks() {
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

// fill spreads a ring's chunks over a thread's columns. events has the place of each counter among the
// events of the ring's process, and pathOf the run's number of a call path; in which clusters bursts are comes later. gaps are the rows without a burst before
// them.
func fill(
	t *trace.Thread, r *store.Ring, chunks []store.Chunk, events []int, pathOf func(number uint32) uint32, at func(ticks uint64) int64,
) (gaps []int32) {
	n := int(r.Calls)
	without, runs := 0, 0
	for _, c := range chunks {
		without += len(c.NoBurst)
		runs += len(c.Polls)
	}
	t.Calls = trace.Calls{EnterNS: make([]int64, 0, n), ExitNS: make([]int64, 0, n), Path: make([]uint32, 0, n)}
	t.Bursts = trace.Bursts{
		StartNS: make([]int64, 0, n-without), DurationNS: make([]int64, 0, n-without),
		Before: make([]uint32, 0, n-without), After: make([]uint32, 0, n-without),
	}
	for range events {
		t.Bursts.Counters = append(t.Bursts.Counters, make([]int64, 0, n-without))
	}
	if runs > 0 {
		t.Calls.Count = make([]int64, 0, n)
	}
	if n == 0 && len(r.Marks) == 0 { // its calls have stayed on the node
		return nil
	}
	if n == 0 { // a thread that says something and never calls MPI
		t.BeginNS = at(r.Marks[0].Origin)
		return nil
	}
	before := uint32(0)
	exitNS := at(chunks[0].Origin)
	for _, c := range chunks {
		ticks := c.Origin
		noBurst, paused := c.NoBurst, c.Paused
		for i, number := range c.Path {
			path := pathOf(number)
			enter := ticks + c.Burst[i]
			exit := enter + c.Call[i]
			enterNS := at(enter)
			if len(noBurst) > 0 && int(noBurst[0]) == i {
				noBurst = noBurst[1:]
				switch {
				case len(paused) > 0 && int(paused[0]) == i:
					paused = paused[1:]
					t.Pauses = append(t.Pauses, trace.Pause{BeginNS: exitNS, EndNS: enterNS})
				case enterNS > exitNS && len(t.Calls.Path) > 0: // not the first call, nor a place of a run of polls
					t.Lost = append(t.Lost, trace.Span{BeginNS: exitNS, EndNS: enterNS, Window: -1})
				}
				gaps = append(gaps, int32(len(t.Calls.Path)))
			} else {
				t.Bursts.StartNS = append(t.Bursts.StartNS, exitNS)
				t.Bursts.DurationNS = append(t.Bursts.DurationNS, enterNS-exitNS)
				t.Bursts.Before = append(t.Bursts.Before, before)
				t.Bursts.After = append(t.Bursts.After, path)
			}
			exitNS = at(exit)
			t.Calls.EnterNS = append(t.Calls.EnterNS, enterNS)
			t.Calls.ExitNS = append(t.Calls.ExitNS, exitNS)
			t.Calls.Path = append(t.Calls.Path, path)
			before, ticks = path, exit
		}
		addPolls(&t.Calls, &c)
		for k, event := range events {
			t.Bursts.Counters[k] = appendCounts(t.Bursts.Counters[k], &c, event)
		}
		t.Calls.Unfinished = c.Unfinished
	}
	t.BeginNS, t.EndNS = t.Calls.EnterNS[0], exitNS
	return gaps
}

// addPolls appends how many calls each row of a chunk stands for, where that is kept at all.
func addPolls(calls *trace.Calls, c *store.Chunk) {
	if calls.Count == nil {
		return
	}
	first := len(calls.Count)
	for range c.Path {
		calls.Count = append(calls.Count, 1)
	}
	for i, row := range c.PollsRow {
		calls.Count[first+int(row)] = int64(c.Polls[i])
	}
}

// appendCounts appends an event's counts in a chunk's bursts to a column; event -1 was not counted.
func appendCounts(column []int64, c *store.Chunk, event int) []int64 {
	if event < 0 {
		for range len(c.Path) - len(c.NoBurst) {
			column = append(column, trace.NoCount)
		}
		return column
	}
	noBurst := c.NoBurst
	for row, v := range c.Column(event) {
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst = noBurst[1:]
		} else {
			column = append(column, v)
		}
	}
	return column
}
