package prv

import (
	"cmp"
	"math"
	"slices"

	"moriens/trace"
)

// openEnd stands for the end of a state that is still open when the trace ends.
const openEnd = math.MaxInt64

// A cover says which time of a thread its records describe: states, MPI calls, and what the tracer says of itself.
type cover struct {
	begun             bool
	toNS              int64
	items             int             // states and calls
	gaps              []trace.Stretch // between them
	dropped           []trace.Stretch // states of time whose detail was dropped
	flushes           []trace.Stretch
	off, flushing     bool
	offNS, flushingNS int64 // since when
	// What lies between a flush and what comes next, until its end is reported: that of a flush comes with the next
	// record.
	flushed trace.Stretch
}

// covers notes that something is known from a time on.
func (t *threadReader) covers(beginNS, endNS int64) {
	c := &t.cover
	if c.begun && beginNS > c.toNS && !t.open && !c.off {
		gap := trace.Stretch{BeginNS: c.toNS, EndNS: beginNS}
		if c.flushing && c.flushed.EndNS == 0 {
			c.flushed = gap
		} else {
			c.gaps = append(c.gaps, gap)
		}
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
			if c.endFlush(l.timeNS) {
				c.flushes = append(c.flushes, trace.Stretch{BeginNS: c.flushingNS, EndNS: l.timeNS})
			}
			c.toNS = max(c.toNS, l.timeNS)
		}
		c.flushing, c.flushingNS = l.flushes, l.timeNS
	}
}

// endFlush reports whether a flush ended before any other record. Else its end was lost, and the stretch that was taken
// for a flush is a gap.
func (c *cover) endFlush(nowNS int64) bool {
	gap := c.flushed
	c.flushed = trace.Stretch{}
	if gap.EndNS == 0 || nowNS <= gap.EndNS {
		return true
	}
	c.gaps = append(c.gaps, gap)
	return false
}

// on ends a stretch without tracing. Mostly a state shows it too.
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
	if t.cover.flushing {
		t.cover.endFlush(openEnd)
	}
	for i := range t.pauses {
		t.pauses[i].EndNS = min(t.pauses[i].EndNS, runEndNS)
	}
	for i := range t.cover.dropped {
		t.cover.dropped[i].EndNS = min(t.cover.dropped[i].EndNS, runEndNS)
	}
}

// Gaps count where the states and calls of their thread are over gapsEach times as many: else the trace was written so,
// with computing alone as a state, say. And they count where together they are leastGaps of the thread's time.
const (
	leastGaps = 1000
	gapsEach  = 2
)

// missing are the stretches of a thread's time in which it should have records and has none.
func (c *cover) missing(threadNS int64) []trace.Stretch {
	if c.sparse() || united(c.gaps) < float64(threadNS)/leastGaps {
		return nil
	}
	return c.gaps
}

// sparse reports whether the trace was written with gaps.
func (c *cover) sparse() bool { return gapsEach*len(c.gaps) >= max(c.items, 2) }

// A Missing is time of threads in which the trace does not show what they did.
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
