package prv

import (
	"errors"
	"slices"
	"sort"
)

// Records of a thread that are held back, so that those that are a little out of order can be sorted: windowRecords,
// less where there are very many threads, so that windowTotal are held of all of them, but not below windowLeast.
const (
	windowRecords = 1 << 12
	windowTotal   = 1 << 18
	windowLeast   = 16
)

// errDisorder ends a reading that does not sort.
var errDisorder = errors.New("a record lies before the one of its thread before it")

func windowOf(h *header) int {
	threads := 0
	for _, tasks := range h.tasks {
		for _, t := range tasks {
			threads += t.threads
		}
	}
	return min(windowRecords, max(windowLeast, windowTotal/max(threads, 1)))
}

// A heldLine is a state or an event record that waits for others of its thread that lie before it.
type heldLine struct {
	timeNS int64
	number int // of the line
	text   []byte
}

// hold takes a record into the window of its thread, in the place of its time, behind those of the same time; the first
// one leaves a full window. What lies before a record that has left is left out.
func (r *reader) hold(line []byte) error {
	var v [5]int64 // cpu, appl, task, thread, time
	if fields(line, 1, v[:]) < 0 {
		return errFields
	}
	now, err := r.inRange(v[4]) // what leaves the window is checked in full
	if err != nil {
		return err
	}
	t, err := r.object(v[:4])
	if err != nil {
		return err
	}
	if now < t.lastNS {
		r.leaveOut(t, reasonLate)
		return nil
	}
	h := heldLine{timeNS: now, number: r.lines.number}
	if n := len(r.spare); n > 0 {
		h.text, r.spare = r.spare[n-1][:0], r.spare[:n-1]
	}
	h.text = append(h.text, line...)
	held := t.held[t.heldFirst:]
	if n := len(held); n == 0 || held[n-1].timeNS <= now {
		t.held = append(t.held, h)
	} else {
		at := sort.Search(n, func(i int) bool { return held[i].timeNS > now })
		t.held = slices.Insert(t.held, t.heldFirst+at, h)
		r.sorted++
	}
	if len(t.held)-t.heldFirst > r.window {
		return r.release(t)
	}
	return nil
}

// release reads the first record of a thread's window.
func (r *reader) release(t *threadReader) error {
	h := t.held[t.heldFirst]
	t.held[t.heldFirst].text = nil
	if t.heldFirst++; t.heldFirst > r.window {
		t.held = t.held[:copy(t.held, t.held[t.heldFirst:])]
		t.heldFirst = 0
	}
	read := r.events
	if h.text[0] == '1' {
		read = r.state
	}
	r.number = h.number
	err := read(h.text)
	r.spare = append(r.spare, h.text)
	if err != nil {
		err = &Error{h.number, err}
	}
	return err
}

// releaseAll empties the windows at the end of the trace.
func (r *reader) releaseAll() error {
	for _, t := range r.threads {
		for t.heldFirst < len(t.held) {
			if err := r.fault(r.release(t), 0, t.world); err != nil {
				return err
			}
		}
		t.held, t.heldFirst = nil, 0
	}
	return nil
}
