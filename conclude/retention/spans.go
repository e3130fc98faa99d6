package retention

import (
	"cmp"
	"slices"

	"moriens/analysis/represent"
	"moriens/internal/team"
	"moriens/trace"
)

// whys are the words of the model for what windows are chosen for.
var whys = map[represent.Why]trace.Why{
	represent.Representative: trace.Representative, represent.Outlier: trace.Outlier, represent.Anomaly: trace.Anomaly,
	represent.Peer: trace.Peer, represent.Fallback: trace.Fallback, represent.CriticalPath: trace.CriticalPath,
}

// A part is a window of some threads that is kept.
type part struct {
	represent.Part
	window *represent.Window
	bytes  int64 // that its rows take in the files
}

// partsOf pairs what is chosen with its windows.
func partsOf(chosen []represent.Part, f *represent.Selection) []part {
	list := make([]part, len(chosen))
	for i, p := range chosen {
		list[i] = part{Part: p, window: windowAt(f, p.Window), bytes: p.Bytes}
	}
	return list
}

// windowAt is the window of a candidate's number.
func windowAt(f *represent.Selection, number int) *represent.Window {
	if number < len(f.Windows) {
		return &f.Windows[number]
	}
	return &f.Anomalies[number-len(f.Windows)]
}

// A stretch is bursts of a thread that a part holds: first ≤ i < behind.
type stretch struct{ first, behind int32 }

// stretches gives each part what of its threads no part before it has: by part and thread of it.
func stretches(parts []part, threads int) [][][]stretch {
	taken := make([][]stretch, threads) // by first
	list := make([][][]stretch, len(parts))
	for i := range parts {
		p := &parts[i]
		list[i] = make([][]stretch, len(p.Threads))
		for k, thread := range p.Threads {
			free := without(stretch{p.window.First[thread], p.window.Behind[thread]}, taken[thread])
			list[i][k] = free
			taken[thread] = append(taken[thread], free...)
			slices.SortFunc(taken[thread], func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
		}
	}
	return list
}

// without is what is left of a stretch without others, which lie apart and ascend.
func without(s stretch, others []stretch) []stretch {
	var left []stretch
	for _, o := range others {
		if o.behind <= s.first || o.first >= s.behind {
			continue
		}
		if o.first > s.first {
			left = append(left, stretch{s.first, o.first})
		}
		s.first = max(s.first, o.behind)
	}
	if s.first < s.behind {
		left = append(left, s)
	}
	return left
}

// time is the span of time of a stretch: from the end of the call before its first burst to that of the call after its
// last. What was before the first of a thread's bursts belongs to it, and what was after the last to that.
func (s stretch) time(t *trace.Thread) (beginNS, endNS int64) {
	beginNS, endNS = t.BeginNS, t.EndNS
	if s.first > 0 {
		beginNS = t.Bursts.StartNS[s.first]
	}
	if int(s.behind) < t.Bursts.Len() {
		endNS = t.Bursts.StartNS[s.behind]
	}
	return beginNS, endNS
}

// place makes the run's windows of parts, in the order of time, and the spans of each thread. order has for each window
// the number of its part. It is collective.
func place(run *trace.Run, owners team.Threads, parts []part) (windows []trace.Window, kept [][]trace.Span, order []int, err error) {
	windows, kept = []trace.Window{}, make([][]trace.Span, len(run.Threads))
	type span struct {
		thread int
		trace.Span
	}
	spans := make([][]span, len(parts))
	all := make([]trace.Window, len(parts))
	free := stretches(parts, len(run.Threads))
	times, err := timesOfStretches(run, owners, parts, free)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, of := range free {
		p := &parts[i]
		w := trace.Window{Phase: p.window.Phase, Why: whys[p.Why], Reason: p.Reason}
		for k, list := range of {
			thread := int(p.Threads[k])
			for range list {
				beginNS, endNS := times[thread][0], times[thread][1]
				times[thread] = times[thread][2:]
				if len(w.Threads) == 0 {
					w.BeginNS, w.EndNS = beginNS, endNS
				}
				w.BeginNS, w.EndNS = min(w.BeginNS, beginNS), max(w.EndNS, endNS)
				if n := len(w.Threads); n == 0 || w.Threads[n-1] != thread {
					w.Threads = append(w.Threads, thread)
				}
				spans[i] = append(spans[i], span{thread, trace.Span{BeginNS: beginNS, EndNS: endNS}})
			}
		}
		all[i] = w
		if len(w.Threads) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].BeginNS, all[b].BeginNS), cmp.Compare(all[a].EndNS, all[b].EndNS))
	})
	for number, i := range order {
		windows = append(windows, all[i])
		for _, s := range spans[i] {
			s.Window = number
			kept[s.thread] = append(kept[s.thread], s.Span)
		}
	}
	begins := make([][]int64, len(kept))
	for i := range kept {
		slices.SortFunc(kept[i], func(a, b trace.Span) int {
			return cmp.Or(cmp.Compare(a.BeginNS, b.BeginNS), cmp.Compare(a.EndNS, b.EndNS))
		})
		takeCallBefore(&run.Threads[i], kept[i])
		for _, s := range kept[i] {
			begins[i] = append(begins[i], s.BeginNS)
		}
	}
	if begins, err = team.ByThread(owners, begins); err != nil {
		return nil, nil, nil, err
	}
	for i, list := range begins {
		for k, ns := range list {
			kept[i][k].BeginNS = ns
		}
	}
	return windows, kept, order, nil
}

// timesOfStretches gives for each thread begin and end of its stretches, in the order of the parts.
func timesOfStretches(run *trace.Run, owners team.Threads, parts []part, free [][][]stretch) ([][]int64, error) {
	times := make([][]int64, len(run.Threads))
	for i, of := range free {
		for k, list := range of {
			thread := int(parts[i].Threads[k])
			if !owners.Mine(thread) {
				continue
			}
			for _, s := range list {
				beginNS, endNS := s.time(&run.Threads[thread])
				times[thread] = append(times[thread], beginNS, endNS)
			}
		}
	}
	return team.ByThread(owners, times)
}

// takeCallBefore has spans begin with the call before their first burst, where no other span has it: so that each burst
// has both its calls.
func takeCallBefore(t *trace.Thread, kept []trace.Span) {
	lastNS := t.BeginNS
	for i := range kept {
		row, found := slices.BinarySearch(t.Calls.ExitNS, kept[i].BeginNS)
		if found && t.Calls.EnterNS[row] >= lastNS {
			kept[i].BeginNS = t.Calls.EnterNS[row]
		}
		lastNS = kept[i].EndNS
	}
}
