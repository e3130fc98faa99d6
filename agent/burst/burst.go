// Package burst forms computation bursts from a ring's records.
//
// In come the MPI calls and the marks of one thread in time order, as the ring holds them. Out come blocks
// (section.Block): one row per call, each with the burst before it, which lasts from the exit of the previous call to
// the entry of this one, and what belongs to the rows. Times are ticks of the node's clock; the package never converts
// them to seconds.
package burst

import (
	"moriens/agent/ring"
	"moriens/internal/section"
	"moriens/internal/shmabi"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Log says what a process's log defines, which is all that records may name: else the number becomes 0, unknown.
type Log interface {
	Path(number uint32) uint32 // of a call
	Name(number uint32) uint32 // of a mark
}

// A Former forms the blocks of one ring. It keeps no record.
type Former struct {
	ring   uint64
	events int
	log    Log
	room   *Room

	calls    uint64 // rows formed so far
	lastExit uint64
	started  bool // a call has been seen, so the next one ends a burst
	lost     bool // records were lost, or recording was paused, before a mark, since the last call
	paused   bool
	marks    uint64 // formed so far
	lastMark uint64 // ticks

	blocks []*section.Block // that were not taken; the last one is being filled
	rows   int              // in them, with marks
	sites  sites            // of the last one
}

// NewFormer returns a Former for the ring with the given id, of a process that counts so many events.
func NewFormer(ring uint64, events int, log Log, room *Room) *Former {
	return &Former{ring: ring, events: events, log: log, room: room}
}

// Restore returns a Former that forms what the one of the snapshot would have formed next.
func Restore(ring uint64, events int, log Log, room *Room, calls *moriensv1.BurstState, marks *moriensv1.MarkState) *Former {
	f := NewFormer(ring, events, log, room)
	f.calls, f.lastExit, f.started, f.lost, f.paused = calls.GetCalls(), calls.GetLastExit(), calls.GetStarted(), calls.GetLost(), calls.GetPaused()
	f.marks, f.lastMark = marks.GetMarks(), marks.GetLast()
	return f
}

// Snapshot returns what Restore needs to continue after the rows and marks formed so far.
func (f *Former) Snapshot() (*moriensv1.BurstState, *moriensv1.MarkState) {
	return &moriensv1.BurstState{Calls: f.calls, LastExit: f.lastExit, Started: f.started, Lost: f.lost, Paused: f.paused},
		&moriensv1.MarkState{Marks: f.marks, Last: f.lastMark}
}

// Calls is the number of rows formed so far, and Marks that of marks.
func (f *Former) Calls() uint64 { return f.calls }

// Marks is described with Calls.
func (f *Former) Marks() uint64 { return f.marks }

// Until returns when the last call ended of which there is a row.
func (f *Former) Until() uint64 { return f.lastExit }

// Waiting is how many rows and marks there are in blocks that were not taken.
func (f *Former) Waiting() int { return f.rows }

// Blocks are those that were not taken.
func (f *Former) Blocks() []*section.Block { return f.blocks }

// Take appends the blocks formed since the last time to a list. They are the caller's, who gives them back to the Room.
func (f *Former) Take(list []*section.Block) []*section.Block {
	for _, b := range f.blocks {
		if b.Rows == 0 && len(b.Marks) > 0 {
			b.Origin = b.Marks[0].Ticks
		}
	}
	list = append(list, f.blocks...)
	clear(f.blocks)
	f.blocks, f.rows = f.blocks[:0], 0
	return list
}

// Call forms the row of a call. A record that stands for polls from several places becomes a row for each, from its
// first poll to the first of the next; there is no burst between them. What the record means belongs to the first of
// them. Call paths that the log does not define become unknown, in the record too.
//
// A row has no burst where the time before it is not known to be computation: the first call of a
// thread, and a call before which records were lost or recording was paused. A clock that steps back makes the burst or
// the call zero long rather than wrapping round.
func (f *Former) Call(r *ring.Record) {
	first := f.calls
	lost, paused := r.Lost || f.lost, r.Paused || f.paused
	f.lost, f.paused = false, false
	own, places := uint64(1), r.Polls
	if len(places) > 0 {
		own, places = f.places(r)
	}
	exit := r.Exit
	if len(places) > 0 {
		exit = min(places[0].First, r.Exit)
	}
	starts := !f.started
	if starts {
		f.started, f.lastExit = true, r.Enter
	}
	b, row := f.row(r.Enter, exit, section.Site{Function: uint16(r.Call), Path: r.Path}, own)
	r.Path = b.Sites[b.Site[row]].Path
	if starts || (lost || paused) && first > 0 {
		b.NoBurst = append(b.NoBurst, uint32(row))
		if paused && !starts {
			b.Paused = append(b.Paused, uint32(row))
		}
	}
	f.counts(b, row, r.Counts)
	for i, p := range places {
		exit := r.Exit
		if i+1 < len(places) {
			exit = min(places[i+1].First, r.Exit)
		}
		b, row := f.row(f.lastExit, exit, section.Site{Function: uint16(p.Call), Path: p.Path}, p.Count)
		b.NoBurst = append(b.NoBurst, uint32(row))
		f.counts(b, row, nil)
	}
}

// Unfinished forms the row of the call inside which the process died, with the burst before it. Nothing can follow it.
func (f *Former) Unfinished(r *ring.Record) {
	r.Exit = r.Enter
	f.Call(r)
	f.last().Unfinished = true
}

// places are those of a record that become rows of their own, and how many calls its own row stands for.
func (f *Former) places(r *ring.Record) (own uint64, places []ring.Polls) {
	own, places = 1, r.Polls[:0]
	for _, p := range r.Polls {
		if p.Call == r.Call && p.Path == r.Path {
			own += p.Count
		} else {
			places = append(places, p)
		}
	}
	return own, places
}

// last is the block that is being filled.
func (f *Former) last() *section.Block { return f.blocks[len(f.blocks)-1] }

// begin begins another block.
func (f *Former) begin() *section.Block {
	b := f.room.take()
	b.Empty()
	b.Grow(0, f.events)
	b.Ring, b.First, b.Origin, b.FirstMark = f.ring, f.calls, f.lastExit, f.marks
	f.blocks = append(f.blocks, b)
	f.sites.begin()
	return b
}

// row appends a row, of which the counts are missing yet.
func (f *Former) row(enter, exit uint64, site section.Site, polls uint64) (b *section.Block, row int) {
	if len(f.blocks) > 0 {
		b = f.last()
	}
	if b == nil || b.Rows == section.MaxRows {
		b = f.begin()
	}
	if b.Rows == 0 {
		b.Origin = f.lastExit
	}
	enter = max(enter, f.lastExit)
	exit = max(exit, enter)
	row = b.Append(f.sites.number(b, site, f.log), enter-f.lastExit, exit-enter)
	if polls > 1 {
		b.PollsRow, b.Polls = append(b.PollsRow, uint32(row)), append(b.Polls, polls)
	}
	f.lastExit = exit
	f.calls++
	f.rows++
	return b, row
}

// counts sets the counts of the burst before a row. A record with another number of them than there are events is one
// of a writer gone astray, and counts as one without. What is not there is the number of the row before, which takes no
// room.
func (f *Former) counts(b *section.Block, row int, counts []int64) {
	if f.events == 0 && len(counts) == 0 {
		return
	}
	if len(counts) != f.events {
		b.NoCounts = append(b.NoCounts, uint32(row))
		counts = nil
	}
	for k, column := range b.Counts[:f.events] {
		value := int64(shmabi.NoCount)
		if counts != nil {
			if value = counts[k]; value == shmabi.NoCount {
				b.NotRead = append(b.NotRead, section.NotRead{Row: uint32(row), Event: uint8(k)})
			}
		}
		if value == shmabi.NoCount {
			if value = 0; row > 0 {
				value = column[row-1]
			}
		}
		column[row] = value
	}
}

// Meet says that a row was a collective call. It is of the latest record.
func (f *Former) Meet(row uint64, c section.Collective) {
	b := f.last()
	if row < b.First {
		b = f.blocks[len(f.blocks)-2]
	}
	c.Row = uint32(row - b.First)
	b.Collectives = append(b.Collectives, c)
}

// Mark takes a mark: no call, and it ends no burst. Where the clock steps back it has the time of the one before it.
func (f *Former) Mark(r *ring.Record) {
	f.lost, f.paused = f.lost || r.Lost, f.paused || r.Paused // the time before the next call
	var b *section.Block
	if len(f.blocks) > 0 {
		b = f.last()
	}
	if b == nil || len(b.Marks) == section.MaxRows {
		b = f.begin()
	}
	f.lastMark = max(r.Enter, f.lastMark)
	m := section.Mark{Ticks: f.lastMark, What: kinds[r.Mark], Name: r.Name}
	if m.Name != 0 {
		m.Name = f.log.Name(m.Name)
	}
	if r.Mark == ring.Event {
		m.Value = r.Value
	}
	counts := r.Counts
	if len(counts) != f.events || r.Mark == ring.Event { // as of a call
		counts = nil
	}
	b.AddMark(m, counts)
	f.marks++
	f.rows++
}

var kinds = map[ring.MarkKind]section.MarkKind{ring.Begin: section.BeginPhase, ring.End: section.EndPhase, ring.Event: section.Event}

// MaxPlaces is how many places the shim lets take part in a run of polls.
const MaxPlaces = 8
