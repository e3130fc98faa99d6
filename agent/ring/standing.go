package ring

import (
	"sync/atomic"

	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// An Inside is the record that a thread has open: a call that it is in, or a run of polls.
type Inside struct {
	Enter uint64 // of the call, or of the run's first; 0: none is open
	Exit  uint64 // of the run's latest poll; 0: the thread is in the call
	Call  mpicall.ID
	Path  uint32
}

// Inside returns what a living thread has open at this moment; false where it has published records that were not read,
// or publishes one just now.
func (r *Reader) Inside() (in Inside, quiet bool) {
	if r.err != nil {
		return in, false
	}
	head, err := r.readable()
	if err != nil || head != r.tail {
		return in, false
	}
	r.advance()
	slot := r.slots().at(head)
	if atomic.LoadUint32(&slot.Seq) == uint32(head+1) && slot.Call < firstMark {
		in = Inside{Enter: slot.Enter, Call: mpicall.ID(slot.Call), Path: slot.Path}
		if slot.Flags&shmabi.SlotReturned != 0 {
			in.Exit = max(slot.Enter, slot.Exit)
		}
	}
	// What was read belongs together if nothing was published since: a record that was dropped, or left, shows in Missed.
	return in, atomic.LoadUint64(&r.header.Head) == head && atomic.LoadUint32(&r.header.Segments) == r.known
}
