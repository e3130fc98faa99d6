package message

import (
	"math"
	"slices"

	"moriens/agent/ring"
)

type eventKind uint8

const (
	gapBegins eventKind = iota
	gapEnds
	made
	started
	completed
	cancelled
	freed
	probed  // a message was matched, to be received by handle
	matched // that message is received
	posts   // a send or a receive takes its place, at the entry of its call
	moved   // a call has sent or received at once
	left    // a call that has completed something, after which nothing of it follows
)

// ending is the event of a request that a call has ended.
func ending(of ring.RequestEvent) (what eventKind, ends bool) {
	switch of {
	case ring.Completed:
		return completed, true
	case ring.Cancelled:
		return cancelled, true
	case ring.Freed:
		return freed, true
	case ring.Matched:
		return matched, true
	}
	return 0, false
}

// An event is one thing that a call did to a request, or the edge of a gap.
type event struct {
	what    eventKind
	ticks   uint64
	row     uint64
	handle  uint64
	request request // made, probed, moved; matched: what the call itself received; started, left: an operation of the call
	posting *posting
	began   uint64 // started: entry of the call
	// Of a completed receive; bytes of left: how long the call lasted, in ticks.
	bytes     uint64
	peer, tag int32
}

// direct reports whether what happens at a time may be done at once: its order among what other threads do does not
// matter or is known.
func (t *Thread) direct(ticks uint64) bool {
	t.lastTicks = max(t.lastTicks, ticks)
	return len(t.m.threads) == 1 && t.m.threadsSeen >= t.m.coming && len(t.queue) == t.next
}

// addEvent passes an event on at once where it may be.
func (t *Thread) addEvent(e *event) {
	direct := t.direct(e.ticks)
	e.ticks = t.lastTicks
	if direct {
		t.m.apply(t, e)
		return
	}
	t.queue = append(t.queue, *e)
	t.m.held++
	if t.m.held > maxHeld {
		t.m.advance(true)
	}
}

// Expect says how many threads the process has had by the time that what will be added was read. As long as some of
// them have not been added here, what they do to the others' requests is not known.
func (m *Matcher) Expect(threads int) {
	if m.coming = threads; threads > 1 {
		m.general()
	}
}

// Advance takes the events up to the time to which all threads were read.
func (m *Matcher) Advance() {
	m.sendOld()
	if m.threadsSeen < m.coming {
		return
	}
	m.advance(false)
	m.threads = slices.DeleteFunc(m.threads, func(t *Thread) bool { return t.ended && len(t.queue) == t.next })
}

// advance merges the threads' queues by time. With force it continues until half of the bound is held, even if some
// threads were not read so far.
func (m *Matcher) advance(force bool) {
	for m.held > 0 {
		var first *Thread
		second := uint64(math.MaxUint64) // the time up to which first's events are the earliest
		limit := second
		for _, t := range m.threads {
			at, waits := t.head()
			switch {
			case !waits:
				limit = min(limit, t.until)
			case first == nil:
				first = t
			default:
				if other, _ := first.head(); before(t.queue[t.next], at, first.queue[first.next], other) {
					second = min(second, other)
					first = t
				} else {
					second = min(second, at)
				}
			}
		}
		if first == nil {
			return
		}
		at, _ := first.head()
		if at >= limit && !(force && m.held > maxHeld/2) && limit != math.MaxUint64 {
			return
		}
		m.take(first, second, limit, force)
	}
}

// before orders events of one time: a request that was made then can end then, by another thread.
func before(a event, at uint64, b event, other uint64) bool {
	return at < other || at == other && a.starts() && !b.starts()
}

func (e *event) starts() bool {
	return e.what == made || e.what == started || e.what == probed || e.what == posts
}

// take applies a thread's first event, and those after it that are sure to be next.
func (m *Matcher) take(t *Thread, second, limit uint64, force bool) {
	for {
		m.held--
		e := &t.queue[t.next]
		t.next++
		m.apply(t, e)
		at, waits := t.head()
		if !waits {
			t.queue, t.next = t.queue[:0], 0
			return
		}
		if at >= second || at >= limit && !force || force && m.held <= maxHeld/2 {
			return
		}
	}
}

// head is the time of a thread's first event that waits.
func (t *Thread) head() (ticks uint64, waits bool) {
	if t.next == len(t.queue) {
		return 0, false
	}
	return t.queue[t.next].ticks, true
}
