package phase

import "math"

// A walk goes through a thread's time part by part: they follow each other without a gap from the begin of the program
// to its end, or to where the last record ends beyond that. A part is of one record in one interval, of a pause, or of
// what is not recorded. A record without time of its own has one part of 0 ns.
//
// It is what everything of a long run goes through, more than once: no function is called, and nothing is written, for
// each part.
type walk struct {
	part

	t         *Timeline
	intervals []Interval
	r         *Records
	points    *Instances // that say which point an instance is in; nil: it is not asked for

	open    []level // phases, outermost first
	begun   int     // intervals
	untilNS int64   // when the next one begins, or the innermost one ends

	nowNS, toNS   int64 // toNS: where the record at hand ends
	lastsNS       int64 // how long it lasts, with what of it others have
	fresh         bool  // nothing of it has been handed out
	call, burst   head
	pause         head
	calls, bursts int // that are behind, as are the
	pauses        int
}

// A part is of a record, which is the index of a call, burst or pause.
type part struct {
	what   What
	record int32
	ns     int64
	first  bool  // of its record, which counts here or where Records say
	in     int32 // interval; -1: directly in the program
}

// A head is the next record of a kind.
type head struct{ fromNS, toNS int64 }

var noHead = head{math.MaxInt64, math.MaxInt64}

// A level is an open phase.
type level struct {
	interval, path, point int32
	above                 int32 // index in open of what is round its instance; -1: the program
}

func (t *Timeline) walk(intervals []Interval, r *Records, points *Instances) walk {
	w := walk{t: t, intervals: intervals, r: r, points: points, nowNS: t.BeginNS, toNS: t.BeginNS}
	w.untilNS = w.event()
	w.nextCall()
	w.nextBurst()
	w.nextPause()
	return w
}

// next goes to the next part; false: there is none.
func (w *walk) next() bool {
	for w.nowNS >= w.toNS && !w.fresh {
		if !w.take() {
			return false
		}
	}
	if w.untilNS <= w.nowNS {
		w.moveTo(w.nowNS)
	}
	endNS := max(w.nowNS, min(w.toNS, w.untilNS))
	w.ns, w.nowNS = endNS-w.nowNS, endNS
	w.first, w.fresh = w.fresh, false
	w.in = -1
	if n := len(w.open); n > 0 {
		w.in = w.open[n-1].interval
	}
	return true
}

// whole says whether the part is all of its record that is left.
func (w *walk) whole() bool { return w.nowNS >= w.toNS }

// take makes what follows the record at hand.
func (w *walk) take() bool {
	what, next := Call, w.call // of those that begin at one time, one without length is the first
	if w.burst.fromNS < next.fromNS || w.burst.fromNS == next.fromNS && w.burst.toNS < next.toNS {
		what, next = Burst, w.burst
	}
	if w.pause.fromNS < next.fromNS || w.pause.fromNS == next.fromNS && w.pause.toNS < next.toNS {
		what, next = Paused, w.pause
	}
	if next == noHead {
		next.fromNS = w.t.EndNS
		if w.nowNS >= w.t.EndNS {
			return false
		}
	}
	if next.fromNS > w.nowNS {
		w.what, w.record, w.toNS = Unrecorded, 0, next.fromNS
		return true
	}
	w.what, w.toNS, w.lastsNS, w.fresh = what, next.toNS, next.toNS-next.fromNS, true
	switch what {
	case Call:
		w.record = int32(w.calls)
		w.calls++
		w.nextCall()
	case Burst:
		w.record = int32(w.bursts)
		w.bursts++
		w.nextBurst()
	case Paused:
		w.record = int32(w.pauses)
		w.pauses++
		w.nextPause()
	}
	return true
}

func (w *walk) nextCall() {
	if w.call = noHead; w.calls < len(w.r.EnterNS) {
		w.call = head{w.r.EnterNS[w.calls], w.r.ExitNS[w.calls]}
	}
}

func (w *walk) nextBurst() {
	if w.burst = noHead; w.bursts < len(w.r.StartNS) {
		from := w.r.StartNS[w.bursts]
		w.burst = head{from, from + w.r.DurationNS[w.bursts]}
	}
}

func (w *walk) nextPause() {
	if w.pause = noHead; w.pauses < len(w.r.Pauses) {
		x := w.r.Pauses[w.pauses]
		w.pause = head{x.BeginNS, x.EndNS}
	}
}

// countsIn is the interval in which a record counts whose first part is at hand.
func (w *walk) countsIn() int32 {
	if w.what == Burst && w.r.CountsIn != nil {
		return w.r.CountsIn[w.record]
	}
	return w.in
}

// event is when the next phase begins in the innermost one, or that one ends.
func (w *walk) event() int64 {
	n := len(w.open)
	switch {
	case w.begun < len(w.intervals) && int(w.intervals[w.begun].Depth) >= n:
		return w.intervals[w.begun].BeginNS
	case n > 0:
		return w.intervals[w.open[n-1].interval].EndNS
	}
	return math.MaxInt64
}

// moveTo lets phases begin and end up to a moment.
func (w *walk) moveTo(ns int64) {
	for w.untilNS <= ns {
		n := len(w.open)
		if w.begun == len(w.intervals) || int(w.intervals[w.begun].Depth) < n {
			w.open = w.open[:n-1]
		} else {
			w.begin()
		}
		w.untilNS = w.event()
	}
}

// begin opens the next interval.
func (w *walk) begin() {
	x := level{interval: int32(w.begun), above: int32(len(w.open)) - 1}
	if _, whole := w.t.Number(x.interval); !whole {
		x.above = w.open[x.above].above
	}
	if w.points != nil {
		x.path, x.point = w.points.place(w.t, x.interval)
	}
	w.open = append(w.open, x)
	w.begun++
}
