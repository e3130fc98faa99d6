package retention

import (
	"sort"

	"moriens/analysis/represent"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A budget is what the run directory may take, and what it goes to.
type budget struct {
	reduction  *Reduction
	content    *rundir.Content
	options    Options
	detail     Detail  // nil: the run has all of it
	fixed      int64   // bytes of the files that every run has
	later      int64   // of that, what waits.json gets when it has the waits of windows
	manifest   int64   // its bytes
	room       int64   // bytes that detail may take
	known      bool    // what rows take in files is
	least      bool    // there are no windows, for lack of time, and of bursts the smallest sample
	scale      float64 // of the room: less than 1 once the windows have taken more than it had seemed
	neighbours [][]neighbour
	windows    []trace.Window
	kept       [][]trace.Span
}

// bytesOf is about what a thread's part of a window takes.
func (b *budget) bytesOf(w *represent.Window, thread int) int64 {
	first, behind := w.First[thread], w.Behind[thread]
	if first >= behind {
		return 0
	}
	t := &b.content.Run.Threads[thread]
	beginNS, endNS := stretch{first, behind}.time(t)
	calls := sort.Search(t.Calls.Len(), func(i int) bool { return t.Calls.ExitNS[i] > endNS }) -
		sort.Search(t.Calls.Len(), func(i int) bool { return t.Calls.EnterNS[i] >= beginNS })
	return max(1, int64(b.reduction.sizes.PerRow*float64(int(behind-first)+max(calls, 0))))
}
