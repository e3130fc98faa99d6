// Package burst makes computation bursts of a ring's records.
//
// In come the MPI calls of one thread in time order, as the ring gives them; out go columns of a
// Calls message, one row per call, each with the burst before it: the time from the exit of the call
// before to this call's entry, in ticks of the node's clock. It never converts ticks to seconds.
package burst

import (
	"slices"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Former forms the bursts of one ring. It keeps no record: what it has returned is the caller's.
type Former struct {
	ring     uint64
	events   int
	calls    uint64 // rows formed so far
	lastExit uint64
	started  bool // a call has been seen, so the next one ends a burst
	lost     bool // records were lost, or recording was paused, before a mark, since the last call
	paused   bool
}

// NewFormer returns a Former for the ring with the given id, of a process that counts so many events.
func NewFormer(ring uint64, events int) *Former { return &Former{ring: ring, events: events} }

// Calls returns the number of rows formed so far.
func (f *Former) Calls() uint64 { return f.calls }

// Form returns the records' calls with the bursts between them; nil if there are none. Marks are no calls, and end no burst.
//
// A row has no burst where the time before it is not known to be computation: the first call of a
// thread, and a call before which records were lost or recording was paused. A clock that steps back makes the burst or the
// call zero long rather than wrapping round.
func (f *Former) Form(records []ring.Record) *moriensv1.Calls {
	first := slices.IndexFunc(records, func(r ring.Record) bool { return r.Mark == 0 })
	if first < 0 {
		f.pass(records)
		return nil
	}
	n := len(records) // or a few rows more
	c := &moriensv1.Calls{
		Ring:       f.ring,
		First:      f.calls,
		BurstTicks: make([]uint64, 0, n),
		CallTicks:  make([]uint64, 0, n),
		Function:   make([]uint32, 0, n),
		Path:       make([]uint32, 0, n),
	}
	for range f.events {
		c.Counts = append(c.Counts, &moriensv1.Counts{Value: make([]int64, 0, n)})
	}
	if !f.started {
		f.started, f.lastExit = true, records[first].Enter
		c.NoBurst = append(c.NoBurst, 0)
	}
	c.OriginTicks = f.lastExit
	for i := range records {
		if records[i].Mark != 0 {
			f.pass(records[i : i+1])
		} else {
			f.form(c, &records[i])
		}
	}
	f.calls += uint64(len(c.Function))
	return c
}

// form appends a record. One that stands for polls from several places becomes a row for each place, from its
// first poll to the first of the next; there is no burst between them.
func (f *Former) form(c *moriensv1.Calls, r *ring.Record) {
	lost, paused := r.Lost || f.lost, r.Paused || f.paused
	f.lost, f.paused = false, false
	if (lost || paused) && f.calls+uint64(len(c.Function)) > 0 {
		c.NoBurst = append(c.NoBurst, uint32(len(c.Function)))
		if paused {
			c.Paused = append(c.Paused, uint32(len(c.Function)))
		}
	}
	f.formCounts(c, r)
	own := uint64(1)
	kept := make([]ring.Polls, 0, maxPlaces)
	for _, p := range r.Polls {
		if samePlace(r, p) {
			own += p.Count
		} else {
			kept = append(kept, p)
		}
	}
	exit := func(next int) uint64 {
		if next < len(kept) {
			return min(kept[next].First, r.Exit)
		}
		return r.Exit
	}
	f.row(c, r.Enter, exit(0), uint32(r.Call), r.Path, own)
	for i, p := range kept {
		c.NoBurst = append(c.NoBurst, uint32(len(c.Function)))
		if f.events > 0 {
			c.NoCounts = append(c.NoCounts, uint32(len(c.Function)))
		}
		f.row(c, f.lastExit, exit(i+1), uint32(p.Call), p.Path, p.Count)
	}
}

// Rows is how many rows a record becomes. What it means belongs to the first of them. A mark becomes none.
func Rows(r *ring.Record) uint64 {
	if r.Mark != 0 {
		return 0
	}
	rows := uint64(1)
	for _, p := range r.Polls {
		if !samePlace(r, p) {
			rows++
		}
	}
	return rows
}

func samePlace(r *ring.Record, p ring.Polls) bool { return p.Call == r.Call && p.Path == r.Path }

// pass keeps what marks say of the time before them for the next call.
func (f *Former) pass(marks []ring.Record) {
	for i := range marks {
		f.lost = f.lost || marks[i].Lost
		f.paused = f.paused || marks[i].Paused
	}
}

// maxPlaces is how many places the shim lets take part in a run of polls.
const maxPlaces = 8

func (f *Former) row(c *moriensv1.Calls, enter, exit uint64, function, path uint32, polls uint64) {
	enter = max(enter, f.lastExit)
	exit = max(exit, enter)
	if polls > 1 {
		c.PollsRow = append(c.PollsRow, uint32(len(c.Function)))
		c.Polls = append(c.Polls, polls)
	}
	c.BurstTicks = append(c.BurstTicks, enter-f.lastExit)
	c.CallTicks = append(c.CallTicks, exit-enter)
	c.Function = append(c.Function, function)
	c.Path = append(c.Path, path)
	f.lastExit = exit
}

// formCounts appends the counts of the burst before a record. A record with another number of them than there
// are events is one of a writer gone astray, and counts as one without.
func (f *Former) formCounts(c *moriensv1.Calls, r *ring.Record) {
	if len(r.Counts) != f.events {
		c.NoCounts = append(c.NoCounts, uint32(len(c.Function)))
		return
	}
	for k, v := range r.Counts {
		c.Counts[k].Value = append(c.Counts[k].Value, v)
	}
}

// FormUnfinished returns the call inside which the process died, with the burst before it.
func (f *Former) FormUnfinished(r ring.Record) *moriensv1.Calls {
	r.Exit = r.Enter
	c := f.Form([]ring.Record{r})
	c.Unfinished = true
	return c
}
