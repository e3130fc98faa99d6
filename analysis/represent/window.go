package represent

import (
	"math"
	"slices"

	"moriens/internal/team"
)

// A Window is a stretch of time, the same one on all threads.
type Window struct {
	Why                        Why     // Representative, Anomaly, or Fallback
	Phase                      int     // index into Run.Phases; 0 where there are none
	FromIteration, ToIteration int     // iterations [From, To) of the phase; both 0 where it is no whole number of them
	BeginNS, EndNS             int64   // over all threads; a thread's end is the begin of its next burst, if that follows in the next piece
	First, Behind              []int32 // per thread: it has the bursts [First, Behind); equal = none
	TimeNS                     int64   // computing time in it, of all threads
	ExplainsNS                 int64   // computing time that it stands for; of an anomaly: the time that is unusual, on the thread or in the iteration that has most
	// Threads are those that show what the window is for, the most important first; empty: exemplars do. Others are of no
	// use in windows of a run with iterations that are Fallback.
	Threads []int32
	Reason  string
}

// A Selection is the windows of a run.
type Selection struct {
	Windows   []Window // in the order of time: Representative, and Fallback for what these leave out
	Anomalies []Window // those with most unusual time first
	More      int      // anomalous stretches that are in no window, because there are so many, or so many of their kind
	Explained float64  // share of the computing time in clusters of which Windows have a burst
	Warnings  []string
}

// window makes one of a stretch's pieces [from, to).
func (s *stretch) window(run *Run, from, to int) Window {
	n := len(run.Threads)
	w := Window{Phase: s.phase, First: make([]int32, n), Behind: make([]int32, n)}
	if s.iterations {
		w.FromIteration, w.ToIteration = from, to
	}
	for t, at := range s.at {
		if len(at) > 0 {
			w.First[t], w.Behind[t] = at[from], at[to]
		}
	}
	for _, p := range s.pieces[from:to] {
		w.TimeNS += p.timeNS
		if p.bursts == 0 {
			continue
		}
		if w.EndNS == 0 {
			w.BeginNS, w.EndNS = p.beginNS, p.endNS
		}
		w.BeginNS, w.EndNS = min(w.BeginNS, p.beginNS), max(w.EndNS, p.endNS)
	}
	return w
}

// longest is how many bursts of one thread it has at most.
func (w *Window) longest() int {
	most := int32(0)
	for t := range w.First {
		most = max(most, w.Behind[t]-w.First[t])
	}
	return int(most)
}

// slowest is the thread that takes longest for it.
func (w *Window) slowest(run *Run) []int32 {
	who := []foremost{noneYet}
	for t := range w.First {
		if w.First[t] == w.Behind[t] || !run.team.Mine(t) {
			continue
		}
		who[0].take(foremost{run.Threads[t].endNS(w.Behind[t]) - run.Threads[t].BeginNS[w.First[t]], spot{thread: t}})
	}
	if who = foremostOf(run.team, who); who[0] == noneYet {
		return nil
	}
	return []int32{int32(who[0].thread)}
}

// narrow leaves of it what lies round a burst: on the burst's thread about so many bursts, on the others what begins at
// the same time. It is then no whole number of iterations.
func (w *Window) narrow(run *Run, thread int, burst int32, bursts int) {
	first, behind := w.First[thread], w.Behind[thread]
	from := max(first, burst-int32(bursts/2))
	to := min(behind, max(from+int32(bursts), burst+1))
	var ends []spot
	if from > first {
		ends = append(ends, spot{thread, from})
	}
	if to < behind {
		ends = append(ends, spot{thread, to})
	}
	times := run.beginsAt(ends)
	whole := *w
	bounds := make([][]int32, len(whole.First))
	w.FromIteration, w.ToIteration = 0, 0
	for t := range bounds {
		if !run.team.Mine(t) {
			continue
		}
		begins := run.Threads[t].BeginNS[whole.First[t]:whole.Behind[t]]
		a, b := 0, len(begins)
		if from > first {
			a, _ = slices.BinarySearch(begins, times[0])
		}
		if to < behind {
			b, _ = slices.BinarySearch(begins, times[len(times)-1])
		}
		bounds[t] = []int32{whole.First[t] + int32(a), whole.First[t] + int32(max(a, b))}
	}
	w.First, w.Behind = make([]int32, len(whole.First)), make([]int32, len(whole.First))
	for t, list := range byThread(run.team, bounds) {
		if len(list) == 2 {
			w.First[t], w.Behind[t] = list[0], list[1]
		}
	}
	w.First[thread], w.Behind[thread] = from, to // several bursts may begin at one time
	begin, end, sum := []int64{math.MaxInt64}, []int64{math.MinInt64}, []int64{0}
	for t := range w.First {
		if w.First[t] == w.Behind[t] || !run.team.Mine(t) {
			continue
		}
		x := &run.Threads[t]
		begin[0], end[0] = min(begin[0], x.BeginNS[w.First[t]]), max(end[0], x.endNS(w.Behind[t]))
		for _, ns := range x.DurationNS[w.First[t]:w.Behind[t]] {
			sum[0] += ns
		}
	}
	run.team.Reduce(team.Min, begin)
	run.team.Reduce(team.Max, end)
	run.team.Reduce(team.Sum, sum)
	w.BeginNS, w.EndNS, w.TimeNS = begin[0], end[0], sum[0]
}
