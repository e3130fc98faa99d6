package ring

import (
	"sync/atomic"
)

// Open returns the entry of the call, or of the run of polls, that the thread was inside when everything
// published had been read; false where it was inside none. A living writer may be past it by now: what it
// publishes next began no earlier.
func (r *Reader) Open() (enter uint64, open bool) {
	if r.err != nil {
		return 0, false
	}
	if r.follow() != nil {
		return 0, false
	}
	r.advance()
	s := r.slots().at(r.tail)
	if atomic.LoadUint32(&s.Seq) != uint32(r.tail+1) || s.Slots == 0 || uint64(s.Slots) > r.segment().slots {
		return 0, false
	}
	return s.Enter, true
}

// Missed is how many calls have no record in the ring: those for which there was no room, those that the
// thread left by longjmp or an exception, and those during which the program had paused recording.
func (r *Reader) Missed() uint64 {
	return r.Dropped() + r.Abandoned() + r.Paused()
}

// Unrecorded reports whether the process has threads whose calls are not recorded at all.
func (p *Process) Unrecorded() bool {
	failed := uint32(0)
	p.guard(func() { failed = atomic.LoadUint32(&p.header.Threads_failed) })
	return failed > 0
}

// clockBehind is how far, in ticks, a thread may be behind between taking a time stamp and publishing it. It is no
// bound: a thread can lose its processor in between, so that users of it must notice late records.
const clockBehind = 1 << 22

// ReadUntil returns the time up to which a ring of which everything published was read, when the clock stood at now,
// has reported all that it will.
func (r *Reader) ReadUntil(now uint64) uint64 {
	until := now - min(now, clockBehind)
	if enter, open := r.Open(); open {
		until = min(until, enter)
	}
	return until
}
