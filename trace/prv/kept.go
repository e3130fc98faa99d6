package prv

import (
	"cmp"
	"fmt"

	"moriens/trace"
)

// window takes a window event: a span of the thread begins or, with windowEnd, the one that is open ends.
func (t *threadReader) window(value, timeNS int64) error {
	if value < windowEnd || value > maxWindow {
		return fmt.Errorf("window event of value %d", value)
	}
	if t.inWindow {
		t.kept[len(t.kept)-1].EndNS = timeNS
	}
	if t.inWindow = value != windowEnd; t.inWindow {
		t.kept = append(t.kept, trace.Span{BeginNS: timeNS, EndNS: timeNS, Window: int(value - firstWindow)})
	}
	return nil
}

// windows makes the run's windows of the labels and of the spans that its threads keep, or finds that those are not
// what is there. A trace that has neither has no windows.
func (r *reader) windows(run *trace.Run) error {
	n := len(r.labels.windows)
	for i := range run.Threads {
		for _, s := range run.Threads[i].Kept {
			n = max(n, s.Window+1)
		}
	}
	if n == 0 && !(r.dropped && r.labels.windowed) {
		return nil
	}
	run.Windows = make([]trace.Window, n)
	for i := range run.Windows {
		run.Windows[i].Phase = -1
	}
	copy(run.Windows, r.labels.windows)
	for i := range run.Threads {
		for _, s := range run.Threads[i].Kept {
			w := &run.Windows[s.Window]
			if s.Window >= len(r.labels.windows) {
				if len(w.Threads) == 0 {
					w.BeginNS, w.EndNS = s.BeginNS, s.EndNS
				}
				w.BeginNS, w.EndNS = min(w.BeginNS, s.BeginNS), max(w.EndNS, s.EndNS)
			}
			if k := len(w.Threads); k == 0 || w.Threads[k-1] != i {
				w.Threads = append(w.Threads, i)
			}
		}
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		if err := cmp.Or(checkKept(run, t), checkDetail(run, t)); err != nil {
			run.Windows = nil
			for k := range run.Threads {
				run.Threads[k].Kept = nil
			}
			return fmt.Errorf("application %d task %d thread %d: %w", t.World+1, t.Rank+1, t.Thread+1, err)
		}
	}
	return nil
}

// apart reports whether a call is not of the same span as a burst: what was between them was dropped.
func apart(t *trace.Thread, at *int, burst, call int) bool {
	if len(t.Kept) == 0 {
		return false
	}
	beginNS := t.Bursts.StartNS[burst]
	if !keeps(t, at, beginNS, beginNS+t.Bursts.DurationNS[burst]) {
		return true
	}
	s := t.Kept[*at]
	return t.Calls.EnterNS[call] < s.BeginNS || t.Calls.ExitNS[call] > s.EndNS
}
