package section

import "encoding/binary"

// Numbers of the columns of calls.
const (
	colSites    = 1
	colSite     = 2
	colBurst    = 3
	colCall     = 4
	colNoBurst  = 10
	colPaused   = 11
	colNoCounts = 12
	colPollsRow = 13
	colPolls    = 14
	colNotRead  = 15

	colMeetRow      = 20
	colMeetComm     = 21
	colMeetOrdinal  = 22
	colMeetSent     = 23
	colMeetReceived = 24
	colMeetRoot     = 25

	colMarkFirst = 30
	colMarkTicks = 31
	colMarkWhat  = 32
	colMarkName  = 33
	colMarkValue = 34

	colGapsBefore = 40
	colGapsInside = 41

	colMarkCounted = 35

	colCounts     = 64 // and up, one for each event
	colMarkCounts = 80 // likewise
)

// Numbers of the columns of moves.
const (
	colLanes       = 1
	colLane        = 2
	colRow         = 3
	colDone        = 4
	colBytes       = 5
	colOrdinal     = 6
	colEpoch       = 7
	colElsewhere   = 10
	colPartitioned = 12
	colUntold      = 14
)

// An Encoder makes sections of blocks. It has room for one at a time.
type Encoder struct {
	writer   writer
	order    order
	counts   []int // rows of each site
	followed [MaxRows + 1]uint16
	values   [MaxMoves]uint64
	columns  [6][MaxMoves]uint64
	meetings meetings
	lanes    []Lane // with the latest of the transfers that are encoded
}

// Calls appends the block's rows, and what belongs to them, to dst as a section.
func (e *Encoder) Calls(dst []byte, b *Block) []byte {
	start := len(dst)
	dst = grow(dst, headBytes+directoryBytes(maxColumns))
	columns := len(dst)
	e.writer.begin(dst)
	dst = e.rows(dst, b)
	dst = e.sparse(dst, b)
	dst = e.collectives(dst, b)
	dst = e.marks(dst, b)
	dst = e.number(colGapsBefore, appendRows(dst, b.GapsBefore, b.First))
	dst = e.number(colGapsInside, appendRows(dst, b.GapsInside, b.First))
	for k := range b.Events {
		dst = sorted(e, dst, uint8(colCounts+k), b.Counts[k][:b.Rows])
	}
	for k, column := range b.MarkCounts {
		v := e.values[:len(column)]
		for i, x := range column {
			v[i] = zigzag(x)
		}
		dst = e.packed(dst, uint8(colMarkCounts+k), v)
	}
	return e.writer.seal(dst, start, columns, &Head{
		Kind: Calls, Unfinished: b.Unfinished, Rows: b.Rows, Ring: b.Ring, First: b.First, Origin: b.Origin, Chunk: b.Chunk,
	})
}

// grow makes dst longer by so many bytes, of any content.
func grow(dst []byte, n int) []byte {
	for cap(dst)-len(dst) < n {
		dst = append(dst[:cap(dst)], 0)[:len(dst)]
	}
	return dst[:len(dst)+n]
}

// number ends a column of varints.
func (e *Encoder) number(column uint8, dst []byte) []byte {
	e.writer.end(dst, column, asNumber)
	return dst
}

// packed appends a column of values, which it uses as room.
func (e *Encoder) packed(dst []byte, column uint8, v []uint64) []byte {
	if len(v) > 0 {
		dst = appendPacks(binary.AppendUvarint(dst, uint64(len(v))), v)
	}
	e.writer.end(dst, column, asPacks)
	return dst
}

// sorted appends a column of the rows' values in the order of their sites.
func sorted[T uint64 | int64](e *Encoder, dst []byte, column uint8, values []T) []byte {
	v, rows := e.values[:len(values)], e.order.rows[:len(values)]
	for i, row := range rows {
		v[i] = uint64(values[row])
	}
	for _, n := range e.order.groups {
		dst = appendPacks(dst, v[:n])
		v = v[n:]
	}
	e.writer.end(dst, column, bySite)
	return dst
}

// rows appends the columns that have a value for each row, but counts.
func (e *Encoder) rows(dst []byte, b *Block) []byte {
	e.counts = append(e.counts[:0], make([]int, len(b.Sites))...)
	sites := b.Site[:b.Rows]
	for _, site := range sites {
		e.counts[site]++
	}
	e.order.of(sites, e.counts)
	dst = e.number(colSites, appendSites(dst, b.Sites, e.counts))
	if len(b.Sites) > 1 {
		predictSites(sites, e.followed[:len(b.Sites)+1], e.values[:b.Rows])
		dst = e.packed(dst, colSite, e.values[:b.Rows])
	}
	dst = sorted(e, dst, colBurst, b.Burst[:b.Rows])
	return sorted(e, dst, colCall, b.Call[:b.Rows])
}

// sparse appends the columns of some rows.
func (e *Encoder) sparse(dst []byte, b *Block) []byte {
	dst = e.number(colNoBurst, appendAscending(dst, b.NoBurst))
	dst = e.number(colPaused, appendAscending(dst, b.Paused))
	dst = e.number(colNoCounts, appendAscending(dst, b.NoCounts))
	dst = e.number(colPollsRow, appendAscending(dst, b.PollsRow))
	for _, n := range b.Polls {
		dst = binary.AppendUvarint(dst, n)
	}
	dst = e.number(colPolls, dst)
	last := uint32(0)
	for _, x := range b.NotRead {
		dst = append(binary.AppendUvarint(dst, uint64(x.Row-last)), x.Event)
		last = x.Row
	}
	return e.number(colNotRead, dst)
}

// appendAscending appends numbers as the differences between them.
func appendAscending(dst []byte, rows []uint32) []byte {
	last := uint32(0)
	for _, row := range rows {
		dst = binary.AppendUvarint(dst, uint64(row-last))
		last = row
	}
	return dst
}

// appendRows appends rows of the ring as their differences to one.
func appendRows(dst []byte, rows []uint64, first uint64) []byte {
	for _, row := range rows {
		dst = binary.AppendUvarint(dst, zigzag(int64(row-first)))
	}
	return dst
}

// collectives appends their columns. Communicator, root and sizes mostly recur with the site; ordinals count in the
// communicator.
func (e *Encoder) collectives(dst []byte, b *Block) []byte {
	n := len(b.Collectives)
	if n == 0 {
		return dst
	}
	v, last := &e.columns, uint32(0)
	e.meetings.begin(len(b.Sites))
	for i := range b.Collectives {
		c := &b.Collectives[i]
		before := &e.meetings.bySite[b.Site[c.Row]]
		next := e.meetings.next(c.Comm)
		v[0][i] = uint64(c.Row - last)
		v[1][i] = zigzag(int64(c.Comm) - int64(before.Comm))
		v[2][i] = zigzag(int64(c.Ordinal - *next))
		v[3][i] = zigzag(int64(c.Sent - before.Sent))
		v[4][i] = zigzag(int64(c.Received - before.Received))
		v[5][i] = zigzag(int64(c.Root) - int64(before.Root))
		*before, *next, last = *c, c.Ordinal+1, c.Row
	}
	for k := range v {
		dst = e.packed(dst, uint8(colMeetRow+k), v[k][:n])
	}
	return dst
}

// marks appends the columns of marks.
func (e *Encoder) marks(dst []byte, b *Block) []byte {
	list := b.Marks
	if len(list) == 0 {
		return dst
	}
	dst = e.number(colMarkFirst, binary.AppendUvarint(dst, b.FirstMark))
	v, last := e.values[:len(list)], b.Origin
	for i := range list {
		v[i] = zigzag(int64(list[i].Ticks - last))
		last = list[i].Ticks
	}
	dst = e.packed(dst, colMarkTicks, v)
	for i := range list {
		v[i] = uint64(list[i].What)
	}
	dst = e.packed(dst, colMarkWhat, v)
	for i := range list {
		v[i] = uint64(list[i].Name)
	}
	dst = e.packed(dst, colMarkName, v)
	v = v[:0]
	for i := range list {
		if list[i].What == Event {
			v = append(v, zigzag(list[i].Value))
		}
	}
	dst = e.packed(dst, colMarkValue, v)
	at := 0
	for i := range list {
		if list[i].Counted {
			dst = binary.AppendUvarint(dst, uint64(i-at))
			at = i
		}
	}
	return e.number(colMarkCounted, dst)
}

// Moves appends the block's transfers to dst as a section.
func (e *Encoder) Moves(dst []byte, b *Block) []byte {
	start, n := len(dst), len(b.Transfers)
	dst = grow(dst, headBytes+directoryBytes(maxColumns))
	columns := len(dst)
	e.writer.begin(dst)
	lowest := e.split(b)
	dst = e.number(colLanes, appendLanes(dst, b.Lanes))
	for k := range colOrdinal - colLane + 1 {
		dst = e.packed(dst, uint8(colLane+k), e.columns[k][:n])
	}
	if b.Epoch > 0 {
		dst = binary.AppendUvarint(dst, uint64(b.Epoch))
	}
	dst = e.number(colEpoch, dst)
	dst = e.rare(dst, b.Transfers)
	return e.writer.seal(dst, start, columns, &Head{
		Kind: Moves, Rows: n, Ring: b.Ring, First: lowest, Origin: b.First, Chunk: b.Chunk,
	})
}

// split makes columns of the transfers, and returns the lowest row that posted one.
func (e *Encoder) split(b *Block) (lowest uint64) {
	e.lanes = append(e.lanes[:0], b.Lanes...)
	lowest = b.First
	if len(b.Transfers) > 0 {
		lowest = b.Transfers[0].Row
	}
	v, last := &e.columns, b.First
	for i := range b.Transfers {
		x := &b.Transfers[i]
		lane := &e.lanes[x.Lane]
		v[0][i] = uint64(x.Lane)
		v[1][i] = zigzag(int64(x.Row - last))
		v[2][i] = zigzag(x.Done)
		v[3][i] = zigzag(int64(x.Bytes - lane.Bytes))
		v[4][i] = zigzag(int64(x.Ordinal - lane.Ordinal - 1))
		last, lane.Bytes = x.Row, x.Bytes
		if x.Ordinal != 0 {
			lane.Ordinal = x.Ordinal
		}
		lowest = min(lowest, x.Row)
	}
	return lowest
}

func appendLanes(dst []byte, lanes []Lane) []byte {
	for i := range lanes {
		l := &lanes[i]
		dst = append(dst, byte(l.Kind))
		dst = binary.AppendUvarint(dst, uint64(l.Comm))
		dst = binary.AppendUvarint(dst, zigzag(int64(l.Peer)))
		dst = binary.AppendUvarint(dst, zigzag(int64(l.Tag)))
		dst = binary.AppendUvarint(dst, l.Ordinal)
		dst = binary.AppendUvarint(dst, l.Bytes)
	}
	return dst
}

// rare appends the columns of few transfers: places among all, as differences, and what is there.
func (e *Encoder) rare(dst []byte, list []Transfer) []byte {
	places := func(is func(*Transfer) bool, add func(dst []byte, x *Transfer) []byte) []byte {
		last := 0
		for i := range list {
			if is(&list[i]) {
				dst = add(binary.AppendUvarint(dst, uint64(i-last)), &list[i])
				last = i
			}
		}
		return dst
	}
	dst = e.number(colElsewhere, places(func(x *Transfer) bool { return x.Ring != 0 },
		func(dst []byte, x *Transfer) []byte { return binary.LittleEndian.AppendUint64(dst, x.Ring) }))
	dst = e.number(colPartitioned, places(func(x *Transfer) bool { return x.Channel != 0 },
		func(dst []byte, x *Transfer) []byte { return binary.AppendUvarint(dst, uint64(x.Channel)) }))
	return e.number(colUntold, places(func(x *Transfer) bool { return x.Untold },
		func(dst []byte, _ *Transfer) []byte { return dst }))
}
