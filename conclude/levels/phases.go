package levels

import (
	"errors"
	"slices"
	"sync"

	"moriens/analysis/phase"
	"moriens/analysis/profile"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
)

// A Profiled run is level 1.
type Profiled struct {
	*profile.Profile
	Phases *Phases // nil: not known
}

// Phases are those of a run, by thread; of a thread without a time nothing is known.
type Phases struct {
	Paths *phase.Paths
	Sums  [][]phase.Sum
	Idle  [][]phase.Idle

	lines   []phase.Timeline // of the threads that are here
	records []phase.Records
	// intervals appends those of a thread. They are formed when they are needed: of a long run they are too many to keep.
	intervals func(i int, to []phase.Interval) []phase.Interval
}

// intervalLists are for the intervals of one thread after the other.
var intervalLists = sync.Pool{New: func() any { return new([]phase.Interval) }}

// with hands out the intervals of a thread, which are there until use returns.
func (p *Phases) with(i int, use func(list []phase.Interval)) {
	list := intervalLists.Get().(*[]phase.Interval)
	defer intervalLists.Put(list)
	*list = p.intervals(i, (*list)[:0])
	use(*list)
}

// layOut lays out the phases of all threads, and numbers their paths. It is collective.
func layOut(run *trace.Run, owners team.Threads, threadsAtWork int) (*Phases, error) {
	n := len(run.Threads)
	p := &Phases{
		Sums: make([][]phase.Sum, n), Idle: make([][]phase.Idle, n),
		lines: make([]phase.Timeline, n), records: make([]phase.Records, n),
		intervals: func(i int, to []phase.Interval) []phase.Interval { return intervalsOf(&run.Threads[i], to) },
	}
	errs := make([]error, n)
	each(run, threadsAtWork, func(i int) {
		t := &run.Threads[i]
		if !p.has(run, owners, i) {
			return
		}
		p.records[i] = recordsOf(t)
		p.with(i, func(list []phase.Interval) { p.lines[i], errs[i] = phase.Lay(t.BeginNS, t.EndNS, list) })
	})
	if err := team.Explain(owners, errors.Join(errs...)); err != nil {
		return nil, err
	}
	var err error
	p.Paths, err = phase.Number(p.lines, owners)
	return p, err
}

// has says whether the records of a thread are here.
func (p *Phases) has(run *trace.Run, owners team.Threads, i int) bool {
	return owners.Mine(i) && !run.Threads[i].Untimed()
}

func intervalsOf(t *trace.Thread, to []phase.Interval) []phase.Interval {
	to = slices.Grow(to, len(t.Phases))
	for _, p := range t.Phases {
		to = append(to, phase.Interval{Name: p.Name, Depth: p.Depth, BeginNS: p.BeginNS, EndNS: p.EndNS, Number: -1})
	}
	return to
}

func recordsOf(t *trace.Thread) phase.Records {
	r := phase.Records{
		EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Calls: t.Calls.Count, StartNS: t.Bursts.StartNS, DurationNS: t.Bursts.DurationNS, CountsIn: t.Bursts.Phase,
	}
	for _, p := range t.Pauses {
		r.Pauses = append(r.Pauses, phase.Span(p))
	}
	return r
}

// locate says in which phases bursts and calls of a thread are.
func (p *Phases) locate(i int, into *profile.Thread, memory *phase.Located) {
	p.with(i, func(list []phase.Interval) {
		*memory = p.lines[i].Locate(list, &p.records[i], memory)
		p.Sums[i], p.Idle[i] = p.lines[i].Sums(), slices.Clone(memory.Idle)
		into.Cuts, into.Calls.Cuts = memory.Bursts, memory.Calls
		if len(list) > 0 { // else all of it lies in the program
			into.Region, into.Calls.Region = memory.BurstPath, memory.CallPath
		}
	})
}

// share gives each member the sums of all threads. It is collective.
func (p *Phases) share(owners team.Threads) error {
	if owners.Size() == 1 {
		return nil
	}
	type both struct {
		Sums [][]phase.Sum
		Idle [][]phase.Idle
	}
	all, err := team.Values(owners, both{p.Sums, p.Idle})
	if err != nil {
		return err
	}
	for member := range all {
		for i := range p.Sums {
			if owners.Owner(i) == member {
				p.Sums[i], p.Idle[i] = all[member].Sums[i], all[member].Idle[i]
			}
		}
	}
	return nil
}

// contexts says in how many of the outermost functions of the call path that ends it each burst of a thread lies.
func contexts(run *trace.Run, b *trace.Bursts, list []int32) []int32 {
	type round struct{ before, after uint32 }
	known := make(map[round]int32)
	var recent [256]struct {
		round
		n   int32
		set bool
	}
	list = slices.Grow(list[:0], b.Len())[:b.Len()]
	for k := range list {
		key := round{b.Before[k], b.After[k]}
		r := &recent[(key.before*31+key.after*131)%uint32(len(recent))]
		if !r.set || r.round != key {
			n, ok := known[key]
			if !ok {
				n = Context(run.CallPaths[key.before].Frames, run.CallPaths[key.after].Frames)
				known[key] = n
			}
			r.round, r.n, r.set = key, n, true
		}
		list[k] = r.n
	}
	return list
}

// Context is in how many of the outermost functions after, of the call that ends it, a burst lies, those that the
// compiler has put into others included: in those from which both calls were made, and in the function in which they
// part. -1: frames are not known.
func Context(before, after []trace.Frame) int32 {
	if len(before) == 0 || len(after) == 0 {
		return -1
	}
	alike, n := 0, 0
	frame := func(of []trace.Frame) *trace.Frame { return &of[len(of)-1-alike] }
	for alike < min(len(before), len(after)) && trace.CompareFrames(*frame(before), *frame(after)) == 0 {
		n += 1 + len(frame(after).Inlined)
		alike++
	}
	if alike < min(len(before), len(after)) {
		n += common(frame(before), frame(after))
	}
	if n == 0 {
		return -1 // the outermost frames are those of different depths, or of different threads of execution
	}
	return int32(n)
}

// common is how many functions round it two different places in one function of the machine code have in common: that
// one, and those that the compiler has put into it, at the same line each.
func common(a, b *trace.Frame) int {
	if a.Module != b.Module || a.BuildID != b.BuildID {
		return 0
	}
	n := 0
	for ; n < len(a.Inlined) && n < len(b.Inlined); n++ {
		switch x, y := &a.Inlined[n], &b.Inlined[n]; {
		case x.Function == "" || x.Function != y.Function:
			return n
		case x.File != y.File || x.Line != y.Line:
			return n + 1
		}
	}
	innermost := func(f *trace.Frame) string {
		if n < len(f.Inlined) {
			return f.Inlined[n].Function
		}
		return f.Function
	}
	if name := innermost(a); name != "" && name == innermost(b) {
		n++
	}
	return n
}

// Texts are the phase paths by number; the first, of the program, is empty.
func (p *Phases) Texts(run *trace.Run) []string {
	if p == nil {
		return []string{""}
	}
	texts := make([]string, p.Paths.Len())
	for path := 1; path < len(texts); path++ {
		var names []string
		for _, name := range p.Paths.Names(int32(path)) {
			names = append(names, run.MarkNames[name])
		}
		texts[path] = trace.PhasePath(names...)
	}
	return texts
}

// rows are those of phases, and of what is not recorded in them, by thread.
func (p *Phases) rows(run *trace.Run, paths []string) (rows []parquet.ProfileRow) {
	if p == nil {
		return nil
	}
	for i := range p.Sums {
		t := &run.Threads[i]
		add := func(kind string, path int32, r parquet.ProfileRow) {
			r.Kind, r.World, r.Rank, r.Thread = kind, int32(t.World), int32(t.Rank), int32(t.Thread)
			r.InPhase, r.Phase, r.Iterations = path != 0, paths[path], -1
			rows = append(rows, r)
		}
		for _, s := range p.Sums[i] {
			x := &s.Instances
			add(parquet.ProfilePhase, s.Path, parquet.ProfileRow{
				Count: s.Intervals, Records: x.N, TimeNS: x.Total, ExclusiveNS: s.ExclusiveNS, MinNS: x.Min, MaxNS: x.Max, SquaresNS2: x.Squares.Float(),
			})
		}
		for _, idle := range p.Idle[i] {
			if idle.PausedParts > 0 {
				add(parquet.ProfilePaused, idle.Path, parquet.ProfileRow{Count: idle.PausedParts, Records: idle.PausedParts, TimeNS: idle.PausedNS})
			}
			if idle.UnrecordedParts > 0 {
				add(parquet.ProfileUnrecorded, idle.Path, parquet.ProfileRow{Count: idle.UnrecordedParts, Records: idle.UnrecordedParts, TimeNS: idle.UnrecordedNS})
			}
		}
	}
	return rows
}
