// Package burst makes computation bursts of a ring's records.
//
// In come the MPI calls of one thread in time order, as the ring gives them; out go columns of a
// Calls message, one row per call, each with the burst before it: the time from the exit of the call
// before to this call's entry, in ticks of the node's clock. It never converts ticks to seconds.
package burst

import (
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Former forms the bursts of one ring. It keeps no record: what it has returned is the caller's.
type Former struct {
	ring     uint64
	calls    uint64 // formed so far
	lastExit uint64
	started  bool // a call has been seen, so the next one ends a burst
}

// NewFormer returns a Former for the ring with the given id.
func NewFormer(ring uint64) *Former { return &Former{ring: ring} }

// Calls returns the number of calls formed so far.
func (f *Former) Calls() uint64 { return f.calls }

// Form returns the records' calls with the bursts between them; nil if there are no records.
//
// A row has no burst where the time before it is not known to be computation: the first call of a
// thread, and a call before which records were lost. A clock that steps back makes the burst or the
// call zero long rather than wrapping round.
func (f *Former) Form(records []ring.Record) *moriensv1.Calls {
	if len(records) == 0 {
		return nil
	}
	n := len(records)
	c := &moriensv1.Calls{
		Ring:       f.ring,
		First:      f.calls,
		BurstTicks: make([]uint64, n),
		CallTicks:  make([]uint64, n),
		Function:   make([]uint32, n),
		Path:       make([]uint32, n),
	}
	if !f.started {
		f.started, f.lastExit = true, records[0].Enter
		c.NoBurst = append(c.NoBurst, 0)
	}
	c.OriginTicks = f.lastExit
	at := f.lastExit
	for i, r := range records {
		enter := max(r.Enter, at)
		exit := max(r.Exit, enter)
		c.BurstTicks[i], c.CallTicks[i] = enter-at, exit-enter
		c.Function[i], c.Path[i] = uint32(r.Call), r.Path
		if r.Lost && f.calls+uint64(i) > 0 {
			c.NoBurst = append(c.NoBurst, uint32(i))
		}
		at = exit
	}
	f.lastExit = at
	f.calls += uint64(n)
	return c
}

// FormUnfinished returns the call inside which the process died, with the burst before it.
func (f *Former) FormUnfinished(r ring.Record) *moriensv1.Calls {
	r.Exit = r.Enter
	c := f.Form([]ring.Record{r})
	c.Unfinished = true
	return c
}
