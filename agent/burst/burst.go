// Package burst forms computation bursts from a ring's records.
//
// In come the MPI calls of one thread in time order, as the ring holds them. Out come the columns of a Calls message:
// one row per call, each with the burst before it, which lasts from the exit of the previous call to the entry of this
// one. Times are ticks of the node's clock; the package never converts them to seconds.
package burst

import (
	"moriens/agent/ring"
	"moriens/agent/spare"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Former forms the bursts of one ring. It keeps no record.
type Former struct {
	ring     uint64
	events   int
	calls    uint64 // rows formed so far
	spare    spare.List[moriensv1.Calls]
	lastExit uint64
	started  bool // a call has been seen, so the next one ends a burst
	lost     bool // records were lost, or recording was paused, before a mark, since the last call
	paused   bool
}

// NewFormer returns a Former for the ring with the given id, of a process that counts so many events.
func NewFormer(ring uint64, events int) *Former { return &Former{ring: ring, events: events} }

// Calls returns the number of rows formed so far.
func (f *Former) Calls() uint64 { return f.calls }

// Until returns when the last call ended of which there is a row.
func (f *Former) Until() uint64 { return f.lastExit }

// Form adds the records' calls, with the bursts between them, to a message that it has returned before, or to a new one
// for nil, and returns that; nil if there are none. Marks are no calls, and end no burst. The same message is passed
// until a new one is begun.
//
// A row has no burst where the time before it is not known to be computation: the first call of a
// thread, and a call before which records were lost or recording was paused. A clock that steps back makes the burst or
// the call zero long rather than wrapping round.
func (f *Former) Form(c *moriensv1.Calls, records []ring.Record) *moriensv1.Calls {
	for i := range records {
		r := &records[i]
		if r.Mark != 0 {
			f.lost, f.paused = f.lost || r.Lost, f.paused || r.Paused // the time before the next call
			continue
		}
		if c == nil {
			c = f.begin(r)
		}
		f.form(c, r)
	}
	return c
}

// Reuse takes back a message that is no longer needed, to reuse its memory.
func (f *Former) Reuse(c *moriensv1.Calls) { f.spare.Put(c) }

// empty is a message without rows.
func (f *Former) empty() *moriensv1.Calls {
	c := f.spare.Take()
	if c == nil {
		c = new(moriensv1.Calls)
		for range f.events {
			c.Counts = append(c.Counts, new(moriensv1.Counts))
		}
		return c
	}
	c.BurstTicks, c.CallTicks, c.Function, c.Path = c.BurstTicks[:0], c.CallTicks[:0], c.Function[:0], c.Path[:0]
	c.NoBurst, c.Paused, c.NoCounts, c.PollsRow, c.Polls = c.NoBurst[:0], c.Paused[:0], c.NoCounts[:0], c.PollsRow[:0], c.Polls[:0]
	for _, counts := range c.Counts {
		counts.Value = counts.Value[:0]
	}
	c.Unfinished = false
	return c
}

// begin begins a message with a record.
func (f *Former) begin(r *ring.Record) *moriensv1.Calls {
	c := f.empty()
	c.Ring, c.First = f.ring, f.calls
	if !f.started {
		f.started, f.lastExit = true, r.Enter
		c.NoBurst = append(c.NoBurst, 0)
	}
	c.OriginTicks = f.lastExit
	return c
}

// form appends a record. One that stands for polls from several places becomes a row for each place, from its
// first poll to the first of the next; there is no burst between them.
func (f *Former) form(c *moriensv1.Calls, r *ring.Record) {
	lost, paused := r.Lost || f.lost, r.Paused || f.paused
	f.lost, f.paused = false, false
	if (lost || paused) && f.calls > 0 {
		c.NoBurst = append(c.NoBurst, uint32(len(c.Function)))
		if paused {
			c.Paused = append(c.Paused, uint32(len(c.Function)))
		}
	}
	f.formCounts(c, r)
	own := uint64(1)
	var places [MaxPlaces]ring.Polls
	kept := places[:0]
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

// MaxPlaces is how many places the shim lets take part in a run of polls.
const MaxPlaces = 8

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
	f.calls++
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

// FormUnfinished adds the call inside which the process died, with the burst before it.
func (f *Former) FormUnfinished(c *moriensv1.Calls, r ring.Record) *moriensv1.Calls {
	r.Exit = r.Enter
	c = f.Form(c, []ring.Record{r})
	c.Unfinished = true
	return c
}
