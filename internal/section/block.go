package section

import "slices"

// A Site is where calls are made: an MPI function, and a call path of the process, 0 = unknown.
type Site struct {
	Function uint16
	Path     uint32
}

// A Block is rows of one ring with what belongs to them. A row is a call, or a run of polls, with the burst before it.
// It keeps the memory of the most rows that it has had.
type Block struct {
	Ring       uint64 // id
	First      uint64 // number of the first row within the ring
	Origin     uint64 // ticks at which the first burst starts: the exit of the call before it
	Chunk      uint64 // of windows
	Unfinished bool   // the process died inside the last row, whose call has no ticks

	Sites       []Site // of the rows, in the order of their first
	Rows        int
	Site        []uint16 // in Sites: of the first Rows; like Burst, Call and the columns of Counts
	Burst, Call []uint64 // ticks before and inside the call
	Events      int      // that the process counts
	Counts      [][]int64
	NoBurst     []uint32 // rows of the block, ascending, whose time before the call is no burst
	Paused      []uint32 // those of NoBurst before which the program had paused recording
	NoCounts    []uint32 // rows, ascending, that have no counts
	NotRead     []NotRead
	PollsRow    []uint32 // rows, ascending, that are runs of polls,
	Polls       []uint64 // and how many calls each stands for

	Collectives []Collective
	FirstMark   uint64 // number of the first mark within the ring
	Marks       []Mark
	// MarkCounts are, by event, what the bursts had counted at those marks that are Counted, in their order; the least
	// int64 was not read. There are no columns where no mark is.
	MarkCounts [][]int64
	// Rows of the ring before which calls are missing, and rows that moved something that nothing describes.
	GapsBefore, GapsInside []uint64

	Epoch     uint32 // of the ordinals of transfers
	Lanes     []Lane // of the transfers
	Transfers []Transfer

	room int // how many rows each column has room for
}

// NotRead is a count that could not be read: of an event, in the burst before a row. There Counts has the least int64
// when the block is decoded; before it is encoded, anything: best the number of the row before.
type NotRead struct {
	Row   uint32
	Event uint8
}

// A Collective is a collective call in a row of the block.
type Collective struct {
	Row            uint32
	Comm           uint32 // of the process's log, 0 = unknown
	Root           int32  // as a peer; -1 = it has none, -3 = this rank, for the other group
	Ordinal        uint64 // in its communicator
	Sent, Received uint64 // bytes
}

// MarkKind is what a mark says.
type MarkKind uint8

// The kinds of marks.
const (
	BeginPhase MarkKind = 1
	EndPhase   MarkKind = 2
	Event      MarkKind = 3 // with a value
)

// A Mark is a phase's begin or end, or an event.
type Mark struct {
	Ticks uint64
	What  MarkKind
	Name  uint32 // of the process's log, 0 = unknown
	Value int64  // of an event
	// Counted says that MarkCounts has what the burst had counted until then: of begins and ends.
	Counted bool
}

// MoveKind is which way bytes go: moriensv1.Transfers_Kind.
type MoveKind uint8

// A Lane is transfers of one kind with one communicator, peer and tag.
type Lane struct {
	Kind      MoveKind
	Comm      uint32 // of the process's log, 0 = unknown
	Peer, Tag int32  // -1 = any
	// Of the lane's latest transfer before the block, from which those in it continue: its bytes, and its ordinal plus 1
	// (Transfer.Ordinal).
	Bytes, Ordinal uint64
}

// A Transfer is what a row moved between its rank and one other.
type Transfer struct {
	Lane    uint16 // in Lanes
	Row     uint64 // of the ring: of the call that posted it
	Done    int64  // the row that completed it less its own, plus 1 if that is not negative; 0 = not known
	Bytes   uint64
	Ordinal uint64 // from 1, among those that the process posted in the lane; 0 = not known
	Ring    uint64 // of the completing row, where that is another one; else 0
	Channel uint32 // of a partitioned one: which of the process's requests in the lane, plus 1; else 0
	Untold  bool   // a receive whose result MPI has not reported: Bytes is the most that it can be
}

// Empty makes it a block of nothing, and keeps its memory.
func (b *Block) Empty() {
	b.Ring, b.First, b.Origin, b.Chunk, b.Unfinished = 0, 0, 0, 0, false
	b.Rows, b.Events, b.FirstMark, b.Epoch = 0, 0, 0, 0
	b.Sites = b.Sites[:0]
	b.NoBurst, b.Paused, b.NoCounts, b.NotRead = b.NoBurst[:0], b.Paused[:0], b.NoCounts[:0], b.NotRead[:0]
	b.PollsRow, b.Polls = b.PollsRow[:0], b.Polls[:0]
	b.Collectives, b.Marks, b.MarkCounts = b.Collectives[:0], b.Marks[:0], b.MarkCounts[:0]
	b.GapsBefore, b.GapsInside = b.GapsBefore[:0], b.GapsInside[:0]
	b.Lanes, b.Transfers = b.Lanes[:0], b.Transfers[:0]
}

// Clone is a block of the same, in memory of its own.
func (b *Block) Clone() *Block {
	c := *b
	c.Sites, c.Site, c.Burst, c.Call = slices.Clone(b.Sites), slices.Clone(b.Site[:b.Rows]), slices.Clone(b.Burst[:b.Rows]), slices.Clone(b.Call[:b.Rows])
	c.Counts = make([][]int64, b.Events)
	for k := range c.Counts {
		c.Counts[k] = slices.Clone(b.Counts[k][:b.Rows])
	}
	c.NoBurst, c.Paused, c.NoCounts, c.NotRead = slices.Clone(b.NoBurst), slices.Clone(b.Paused), slices.Clone(b.NoCounts), slices.Clone(b.NotRead)
	c.PollsRow, c.Polls = slices.Clone(b.PollsRow), slices.Clone(b.Polls)
	c.Collectives, c.Marks, c.MarkCounts = slices.Clone(b.Collectives), slices.Clone(b.Marks), CloneCounts(b.MarkCounts)
	c.GapsBefore, c.GapsInside = slices.Clone(b.GapsBefore), slices.Clone(b.GapsInside)
	c.Lanes, c.Transfers = slices.Clone(b.Lanes), slices.Clone(b.Transfers)
	c.room = b.Rows
	return &c
}

// CloneCounts are the same counts in memory of their own.
func CloneCounts(counts [][]int64) [][]int64 {
	if len(counts) == 0 {
		return nil
	}
	c := make([][]int64, len(counts))
	for k := range c {
		c[k] = slices.Clone(counts[k])
	}
	return c
}

// AddMark appends a mark, which is Counted if there are counts: one for each event.
func (b *Block) AddMark(m Mark, counts []int64) {
	m.Counted = len(counts) > 0
	b.Marks = append(b.Marks, m)
	for len(b.MarkCounts) < len(counts) {
		b.addMarkEvent()
	}
	for k, v := range counts {
		b.MarkCounts[k] = append(b.MarkCounts[k], v)
	}
}

// addMarkEvent adds a column to MarkCounts.
func (b *Block) addMarkEvent() {
	if n := len(b.MarkCounts); n < cap(b.MarkCounts) {
		b.MarkCounts = b.MarkCounts[:n+1]
		b.MarkCounts[n] = b.MarkCounts[n][:0]
		return
	}
	b.MarkCounts = append(b.MarkCounts, nil)
}

// EachMark hands out the marks in their order, with their counts if they have some, which do not last.
func (b *Block) EachMark(visit func(i int, m *Mark, counts []int64)) {
	var counts [MaxEvents]int64
	counted := 0
	for i := range b.Marks {
		own := counts[:0]
		if b.Marks[i].Counted {
			for _, column := range b.MarkCounts {
				own = append(own, column[counted])
			}
			counted++
		}
		visit(i, &b.Marks[i], own)
	}
}

// Grow makes it a block of so many rows and events. What is in new ones is to be set.
func (b *Block) Grow(rows, events int) {
	b.Rows, b.Events = rows, events
	if rows <= b.room && events <= len(b.Counts) {
		return
	}
	b.room = max(b.room, rows)
	for len(b.Counts) < events {
		b.Counts = append(b.Counts, nil)
	}
	b.Site, b.Burst, b.Call = fit(b.Site, b.room), fit(b.Burst, b.room), fit(b.Call, b.room)
	for k := range b.Counts {
		b.Counts[k] = fit(b.Counts[k], b.room)
	}
}

// Append adds a row, of which the counts are to be set, and returns its number.
func (b *Block) Append(site uint16, burst, call uint64) (row int) {
	row = b.Rows
	if row == b.room {
		b.Grow(max(leastRoom, 2*row), b.Events)
	}
	b.Rows = row + 1
	b.Site[row], b.Burst[row], b.Call[row] = site, burst, call
	return row
}

// leastRoom is for how many rows there is room, once there is some.
const leastRoom = 64

// fit is a column that has room for so many rows.
func fit[T any](column []T, rows int) []T {
	if len(column) >= rows {
		return column
	}
	return append(column, make([]T, rows-len(column))...)
}
