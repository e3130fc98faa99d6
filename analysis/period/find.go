package period

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

func check(threads []Thread, calls []uint32) error {
	for i := range threads {
		t := &threads[i]
		n := len(t.Symbols)
		if n > math.MaxInt32-1 {
			return fmt.Errorf("period: thread %d has %d bursts: want at most %d", i, n, math.MaxInt32-1)
		}
		if len(t.BeginNS) != n || len(t.DurationNS) != n {
			return fmt.Errorf("period: thread %d has %d symbols, %d begins and %d durations", i, n, len(t.BeginNS), len(t.DurationNS))
		}
		for k, at := range t.Anchors {
			if at < 0 || int(at) > n || k > 0 && at < t.Anchors[k-1] {
				return fmt.Errorf("period: anchor %d of thread %d is behind burst %d of %d", k, i, at, n)
			}
		}
		for b := range n {
			if calls != nil && int(t.Symbols[b]) >= len(calls) {
				return fmt.Errorf("period: burst %d of thread %d is symbol %d, calls are known of %d", b, i, t.Symbols[b], len(calls))
			}
			if t.DurationNS[b] < 0 {
				return fmt.Errorf("period: burst %d of thread %d takes %d ns", b, i, t.DurationNS[b])
			}
			if b > 0 && t.BeginNS[b] < t.BeginNS[b-1] {
				return fmt.Errorf("period: burst %d of thread %d begins %d ns before the one before it", b, i, t.BeginNS[b-1]-t.BeginNS[b])
			}
		}
	}
	return nil
}

// A finder holds what is known of the run on the way to its phases.
type finder struct {
	team.Panicking
	threads    []Thread
	workers    int
	anchors    int        // of the thread that has most
	bursts     int        // of the thread that has most
	durationNS float64    // from the first burst of any thread to the end of the last, 1 at least
	own        *sync.Pool // numberings of the threads' symbols
	ownSymbols int        // how many there are
	way                   // that was taken
	result     *Result
}

// A way to see the run: by symbols, or by calls alone.
type way struct {
	byCalls    bool
	view       []Thread // with numbers of calls for symbols, if they are what is seen
	numbers    []uint32 // those; nil = the symbols are
	pool       *sync.Pool
	symbols    int // numbers in the view are less
	sequences  []*sequence
	of         []int32     // by thread: its sequence
	delimiters []delimiter // with which iterations begin; none: what repeats is iterations
	reference  reference
}

// explainedMore is by how much more of the run iterations by calls must explain to be preferred: symbols distinguish
// phases that make the same calls. Where these are the same phases that by symbols are damaged, it is enough that they
// explain hardly less.
const explainedMore = 1.05

// Find finds the phases. Threads whose slices disagree in length, times that go back, anchors out of order and symbols
// without calls are errors. It is collective.
func Find(threads []Thread, o Options) (found *Result, err error) {
	defer team.Leave("period", &err)
	if err := o.Team.Check(len(threads)); err != nil {
		return nil, fmt.Errorf("period: %w", err)
	}
	if err := team.Explain(o.Team, check(threads, o.Calls)); err != nil {
		return nil, err
	}
	f := &finder{Panicking: team.Panicking{Threads: o.Team}, threads: slices.Clone(threads), workers: max(1, o.Workers), result: &Result{}}
	earliest, most := []int64{math.MaxInt64}, []int64{math.MinInt64, 0, 0, 0}
	last, anchors, bursts, symbols := &most[0], &most[1], &most[2], &most[3]
	for i := range threads {
		t := &threads[i]
		*anchors, *bursts = max(*anchors, int64(len(t.Anchors))), max(*bursts, int64(len(t.Symbols)))
		if len(t.Symbols) > 0 {
			earliest[0], *last = min(earliest[0], t.timeAt(0)), max(*last, t.timeAt(int32(len(t.Symbols))))
			*symbols = max(*symbols, int64(slices.Max(t.Symbols))+1)
		}
	}
	f.Reduce(team.Min, earliest)
	f.Reduce(team.Max, most)
	f.anchors, f.bursts = int(*anchors), int(*bursts)
	if f.bursts == 0 {
		return f.result, nil
	}
	f.own, f.ownSymbols = newNumberings(int(*symbols)), int(*symbols)
	f.durationNS = max(1, float64(*last-earliest[0]))
	f.way = f.look(f.threads, f.own, f.ownSymbols, false)
	ways := []way{f.way}
	if damaged := f.anywhere(f.damaged); o.Calls != nil && (damaged || f.reference.explained*explainedMore < 1) {
		count := int(slices.Max(o.Calls)) + 1
		calls := f.look(f.viewOf(o.Calls), newNumberings(count), count, true)
		calls.numbers = o.Calls
		ways = append(ways, calls)
		more := calls.reference.explained / f.reference.explained
		if more > explainedMore || damaged && more*explainedMore >= 1 && f.anywhere(func() bool { return f.hasPhases(&calls) }) {
			f.way = calls
		}
	}
	f.delimit(ways)
	f.bringReference()
	f.part()
	f.assemble()
	return f.result, nil
}

// anywhere reports whether it is so at the member that has the thread whose phases are taken for the run's.
func (f *finder) anywhere(so func() bool) bool {
	yes := []int64{0}
	if n := f.reference.sequence; n >= 0 && f.Mine(f.sequences[n].threads[0]) {
		yes[0] = int64(truth(so()))
	}
	f.Reduce(team.Max, yes)
	return yes[0] == 1
}

// damaged reports whether iterations of the reference are broken, so that where they begin is known but roughly, or
// whether a phase may be.
func (f *finder) damaged() bool {
	for i, s := range f.sequences[f.reference.sequence].sections {
		if i > 0 || len(s.runs) > 1 {
			return true
		}
	}
	return false
}

// hasPhases reports whether the other way has all phases of the reference's thread, and distinguishes those that differ
// in what repeats. One phase there may be several here that damage has parted.
func (f *finder) hasPhases(other *way) bool {
	s := f.sequences[f.reference.sequence]
	rest := s.sections
	for _, whole := range other.sequences[other.of[s.threads[0]]].sections {
		n := 0
		for n < len(rest) && rest[n].from < whole.to {
			n++
		}
		if n > 0 && !whole.has(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return len(rest) == 0
}

// has reports whether sections of one sequence are parts of this one, in which more may be mended: they repeat one
// thing, iterations are about as long, and damaged ones alone are outside.
func (s *section) has(parts []section) bool {
	far := int32(damagedIterations * s.period)
	for i := range parts {
		p := &parts[i]
		if p.kind != parts[0].kind || max(p.period-s.period, s.period-p.period) > s.period/8 || p.from < s.from-far || p.to > s.to+far {
			return false
		}
	}
	return true
}

// viewOf gives the threads with other numbers for their symbols.
func (f *finder) viewOf(numbers []uint32) []Thread {
	view := slices.Clone(f.threads)
	workers.Every(f.sizes(), f.workers, func(i int) {
		view[i].Symbols = renumber(f.threads[i].Symbols, numbers)
	})
	return view
}

func renumber(symbols, numbers []uint32) []uint32 {
	list := make([]uint32, len(symbols))
	for k, s := range symbols {
		list[k] = numbers[s]
	}
	return list
}

// look solves the sequences that a view has, and chooses the one whose phases are the run's. Of several members each
// solves those that its threads do.
func (f *finder) look(view []Thread, pool *sync.Pool, symbols int, byCalls bool) way {
	w := way{byCalls: byCalls, view: view, pool: pool, symbols: symbols}
	w.sequences, w.of = f.distinct(view)
	models := f.models(&w)
	sizes := make([]int, len(w.sequences))
	timeNS := make([]int64, len(w.sequences))
	for i, m := range models {
		sizes[i] = len(m.view.Symbols) + 1
	}
	workers.Every(sizes, f.workers, func(i int) {
		s := w.sequences[i]
		for _, t := range s.threads {
			if !f.Mine(t) {
				continue
			}
			timeNS[i]++
			for _, ns := range view[t].DurationNS {
				timeNS[i] += ns
			}
		}
		if models[i].here {
			f.solve(&w, s, &models[i])
		}
	})
	f.Reduce(team.Sum, timeNS)
	for i, s := range w.sequences {
		s.timeNS = timeNS[i]
	}
	w.reference = f.agree(view, w.sequences)
	return w
}

// solve finds the sections of a sequence by the thread that stands for it.
func (f *finder) solve(w *way, s *sequence, m *model) {
	n := w.pool.Get().(*numbering)
	seq, symbols := n.tokens(&m.view)
	w.pool.Put(n)
	compared := seq.kind
	if w.byCalls {
		compared = f.kindsOf(&m.own)
	}
	s.solve(&m.view, seq, symbols, compared)
	if len(w.delimiters) > 0 {
		s.delimit(&m.view, w)
	}
}

// kinds numbers the thread's symbols as it has them.
func (f *finder) kinds(thread int) []int32 { return f.kindsOf(&f.threads[thread]) }

func (f *finder) kindsOf(t *Thread) []int32 {
	n := f.own.Get().(*numbering)
	defer f.own.Put(n)
	seq, _ := n.tokens(t)
	return seq.kind
}

// A part becomes a phase of the run: a section of the reference's sequence, or nil for a stretch without.
type part struct {
	reference *sequence
	section   *section
}

// assemble makes the run's phases from those of the reference.
func (f *finder) assemble() {
	parts := []part{{}}
	ref := f.reference
	if ref.sequence >= 0 {
		s := f.sequences[ref.sequence]
		for i := range s.sections {
			parts = append(parts, part{s, &s.sections[i]}, part{})
		}
		if ref.share < 0.5 {
			f.result.Warnings = append(f.result.Warnings, fmt.Sprintf(
				"only %.0f %% of the time of threads with iterations belongs to threads with the same ones: those of thread %d are reported", 100*ref.share, s.threads[0]))
		}
	}
	phases := make([]Phase, len(parts))
	for i := range phases {
		phases[i] = Phase{Threads: make([]Loop, len(f.threads)), Correlation: math.NaN()}
	}
	workers.Every(f.sizes(), f.workers, func(t int) {
		if f.Mine(t) {
			f.partition(t, parts, phases)
		}
	})
	f.shareLoops(phases)
	jobs := make([]int, len(parts))
	for i := range jobs {
		jobs[i] = 1
	}
	times := make([]iterationTimes, len(parts))
	workers.Every(jobs, f.workers, func(i int) { times[i] = f.timesOf(&phases[i], parts[i]) })
	f.shareTimes(times)
	workers.Every(jobs, f.workers, func(i int) { f.describe(&phases[i], parts[i], &times[i]) })
	f.result.Phases = slices.DeleteFunc(phases, func(p Phase) bool {
		return !slices.ContainsFunc(p.Threads, func(l Loop) bool { return l.To > l.From })
	})
}

func (f *finder) sizes() []int {
	list := make([]int, len(f.threads))
	for t := range f.threads {
		list[t] = len(f.threads[t].Symbols) + 1
	}
	return list
}
