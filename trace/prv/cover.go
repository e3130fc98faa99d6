package prv

import (
	"cmp"
	"math"
	"slices"

	"moriens/trace"
)

// openEnd stands for the end of a state that is still open when the trace ends.
const openEnd = math.MaxInt64

// A cover says which time of a thread its records tell something of: states, MPI calls, and what the tracer says of itself.
type cover struct {
	begun             bool
	toNS              int64
	items             int             // states and calls
	gaps              []trace.Stretch // between them
	dropped           []trace.Stretch // states of time whose detail was dropped
	flushes           []trace.Stretch
	off, flushing     bool
	offNS, flushingNS int64 // since when
}

// covers notes that something is known from a time on.
func (t *threadReader) covers(beginNS, endNS int64) {
	c := &t.cover
	if c.begun && beginNS > c.toNS && !t.open && !c.off && !c.flushing {
		c.gaps = append(c.gaps, trace.Stretch{BeginNS: c.toNS, EndNS: beginNS})
	}
	c.begun = true
	c.items++
	c.toNS = max(c.toNS, beginNS, endNS)
}

func (t *threadReader) stateCovers(beginNS, endNS, state int64) {
	if !t.seen && (state == stateIdle || state == stateAbsent) {
		return // the thread has not begun
	}
	t.covers(beginNS, endNS)
	if state == stateDropped {
		t.cover.dropped = append(t.cover.dropped, trace.Stretch{BeginNS: beginNS, EndNS: endNS})
	}
}

// tracerEvents takes what the tracer says of itself: that it is switched off or on, and that it writes its buffer.
func (t *threadReader) tracerEvents(l *eventLine) {
	c := &t.cover
	if l.tracing {
		if l.traces {
			t.on(l.timeNS)
		} else if !c.off {
			c.off, c.offNS = true, l.timeNS
		}
	}
	if l.flushing {
		if c.flushing {
			c.flushes = append(c.flushes, trace.Stretch{BeginNS: c.flushingNS, EndNS: l.timeNS})
			c.toNS = max(c.toNS, l.timeNS)
		}
		c.flushing, c.flushingNS = l.flushes, l.timeNS
	}
}

// on ends a stretch without tracing. Mostly a state tells it too.
func (t *threadReader) on(nowNS int64) {
	c := &t.cover
	if !c.off {
		return
	}
	c.off, c.toNS = false, max(c.toNS, nowNS)
	if n := len(t.pauses); n == 0 || t.pauses[n-1].EndNS <= c.offNS {
		t.pauses = append(t.pauses, trace.Pause{BeginNS: c.offNS, EndNS: nowNS})
	}
}

// closeCover ends what is open with the thread, or with the run.
func (t *threadReader) closeCover(runEndNS int64) {
	t.on(t.endNS)
	for i := range t.pauses {
		t.pauses[i].EndNS = min(t.pauses[i].EndNS, runEndNS)
	}
	for i := range t.cover.dropped {
		t.cover.dropped[i].EndNS = min(t.cover.dropped[i].EndNS, runEndNS)
	}
}

// A gap counts from leastGap of the run's time on, and where the states and calls of its thread are gapsEach times as many as gaps: else the
// trace was written so, with computing alone as a state, say.
const (
	leastGap = 1000
	gapsEach = 10
)

// longGaps are the stretches in which a thread should have records and has none.
func (c *cover) longGaps(runNS int64) []trace.Stretch {
	long := slices.DeleteFunc(slices.Clone(c.gaps), func(s trace.Stretch) bool { return s.EndNS-s.BeginNS < max(runNS/leastGap, 1) })
	if gapsEach*len(long) > c.items {
		return nil
	}
	return long
}

// A Missing is time of threads in which the trace does not tell what they did.
type Missing struct {
	What         string
	Stretches    int
	NS           float64
	Longest      trace.Stretch
	Rank, Thread int // of the longest, from 0 on
}

// What a Missing can be.
const (
	MissingOff     = "tracing was disabled"
	MissingRecords = "the trace has no records"
	MissingDetail  = "the detail was dropped when the trace was written"
)

func (m *Missing) add(t *trace.Thread, list []trace.Stretch) {
	for _, s := range list {
		m.Stretches++
		m.NS += float64(s.EndNS - s.BeginNS)
		if s.EndNS-s.BeginNS > m.Longest.EndNS-m.Longest.BeginNS {
			m.Longest, m.Rank, m.Thread = s, t.Rank, t.Thread
		}
	}
}

// united are stretches of time without what they have in common, and how long they are.
func united(lists ...[]trace.Stretch) (ns float64) {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b trace.Stretch) int { return cmp.Compare(a.BeginNS, b.BeginNS) })
	toNS := int64(0)
	for _, s := range all {
		if s.EndNS > toNS {
			ns += float64(s.EndNS - max(s.BeginNS, toNS))
			toNS = s.EndNS
		}
	}
	return ns
}
