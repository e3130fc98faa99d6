package retention

import (
	"math"
	"slices"

	"moriens/analysis/period"
	"moriens/analysis/represent"
	"moriens/conclude/clustering"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/trace"
)

// meetings are the collective calls of all threads that have any. A call that a thread lacks, though it got as far, is
// none, because the numbers of those after it would be others there.
type meetings struct {
	ordinals []int64
	calls    [][]clustering.Meeting // per thread: the first of them, as many as it has made
}

func findMeetings(run *trace.Run, owners team.Threads) (meetings, error) {
	m := meetings{calls: make([][]clustering.Meeting, len(run.Threads))}
	all, err := clustering.Meetings(run, owners)
	if err != nil {
		return m, err
	}
	last, count, err := shareOrdinals(owners, all)
	if err != nil {
		return m, err
	}
	for ordinal, n := range count {
		ended, _ := slices.BinarySearch(last, ordinal) // threads that did not get so far
		if n == int64(len(last)-ended) {
			m.ordinals = append(m.ordinals, ordinal)
		}
	}
	slices.Sort(m.ordinals)
	for i, calls := range all {
		ordinals := m.ordinals
		m.calls[i] = slices.DeleteFunc(calls, func(c clustering.Meeting) bool {
			for len(ordinals) > 0 && ordinals[0] < c.Ordinal {
				ordinals = ordinals[1:]
			}
			return len(ordinals) == 0 || ordinals[0] != c.Ordinal
		})
	}
	return m, nil
}

// countOrdinals gives the last ordinal of each thread that has any, and how many threads have each.
func countOrdinals(all [][]clustering.Meeting) (last []int64, count map[int64]int64) {
	count = make(map[int64]int64)
	var before []clustering.Meeting // those of the thread before, and
	alike := int64(0)               // how many threads one after the other had the same
	sameOrdinal := func(a, b clustering.Meeting) bool { return a.Ordinal == b.Ordinal }
	add := func() {
		for _, c := range before {
			count[c.Ordinal] += alike
		}
	}
	for _, calls := range all {
		if len(calls) == 0 {
			continue
		}
		last = append(last, calls[len(calls)-1].Ordinal)
		if !slices.EqualFunc(calls, before, sameOrdinal) {
			add()
			before, alike = calls, 0
		}
		alike++
	}
	add()
	return last, count
}

// shareOrdinals is countOrdinals of the threads of all members; last ascends.
func shareOrdinals(owners team.Threads, all [][]clustering.Meeting) (last []int64, count map[int64]int64, err error) {
	last, count = countOrdinals(all)
	if owners.Size() > 1 {
		var pairs []int64
		for ordinal, n := range count {
			pairs = append(pairs, ordinal, n)
		}
		lasts, err := team.Gather(owners, last)
		if err != nil {
			return nil, nil, err
		}
		counts, err := team.Gather(owners, pairs)
		if err != nil {
			return nil, nil, err
		}
		last = slices.Concat(lasts...)
		clear(count)
		for _, list := range counts {
			for pair := range slices.Chunk(list, 2) {
				count[pair[0]] += pair[1]
			}
		}
	}
	slices.Sort(last)
	return last, count, nil
}

// before gives for each thread how many of its bursts are before each meeting.
func (m *meetings) before() [][]int32 {
	list := make([][]int32, len(m.calls))
	for i, calls := range m.calls {
		for _, c := range calls {
			list[i] = append(list[i], c.At)
		}
	}
	return list
}

// timesOf are when phases begin and end, over all threads that have bursts in them.
func timesOf(run *trace.Run, owners team.Threads, phases []period.Phase) ([]trace.Span, error) {
	begins, ends := make([]int64, len(phases)), make([]int64, len(phases))
	for k := range phases {
		begins[k], ends[k] = math.MaxInt64, math.MinInt64
		for i, l := range phases[k].Threads {
			if l.From < l.To && owners.Mine(i) {
				beginNS, endNS := stretch{l.From, l.To}.time(&run.Threads[i])
				begins[k], ends[k] = min(begins[k], beginNS), max(ends[k], endNS)
			}
		}
	}
	if err := owners.AllReduce(begins, team.Min); err != nil {
		return nil, err
	}
	if err := owners.AllReduce(ends, team.Max); err != nil {
		return nil, err
	}
	times := make([]trace.Span, len(phases))
	for k := range phases {
		if begins[k] <= ends[k] {
			times[k] = trace.Span{BeginNS: begins[k], EndNS: ends[k]}
		}
	}
	return times, nil
}

func findPeriods(run *trace.Run, owners team.Threads, table *levels.Table, anchors [][]int32, workers int) (*period.Result, error) {
	threads := make([]period.Thread, len(run.Threads))
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		threads[i] = period.Thread{Symbols: table.Threads[i], BeginNS: b.StartNS, DurationNS: b.DurationNS, Anchors: anchors[i]}
	}
	return period.Find(threads, period.Options{Workers: workers, Calls: table.Calls(), Team: owners})
}

// phasesOf are the phases as windows are looked for in them.
func phasesOf(found *period.Result) []represent.Phase {
	if found == nil {
		return nil
	}
	list := make([]represent.Phase, len(found.Phases))
	for i, p := range found.Phases {
		list[i] = represent.Phase{FromAnchor: p.FromAnchor, ToAnchor: p.ToAnchor, Iterations: p.Iterations}
		for _, l := range p.Threads {
			list[i].First, list[i].Behind = append(list[i].First, l.From), append(list[i].Behind, l.To)
			list[i].Begins = append(list[i].Begins, l.Begins)
		}
	}
	return list
}
