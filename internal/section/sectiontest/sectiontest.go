// Package sectiontest makes sections and messages, for tests of what takes them.
package sectiontest

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Rows is consecutive rows of a ring, column by column, with what belongs to them. Function, Burst and Call have a
// value for each row; so has Path, or none, where no path is known.
type Rows struct {
	Ring, First, Origin       uint64
	Function, Path            []uint32
	Burst, Call               []uint64
	NoBurst, Paused, NoCounts []uint32
	PollsRow                  []uint32
	Polls                     []uint64
	Counts                    [][]int64 // by event: of the rows but those of NoCounts; the least one was not read
	Unfinished                bool
	Collectives               []section.Collective
	FirstMark                 uint64
	Marks                     []section.Mark
	MarkCounts                [][]int64 // by event: at the marks that are Counted
	GapsBefore, GapsInside    []uint64
}

// Add adds a call with the burst before it.
func (x *Rows) Add(function, path uint32, burst, call uint64) {
	x.Function, x.Path = append(x.Function, function), append(x.Path, path)
	x.Burst, x.Call = append(x.Burst, burst), append(x.Call, call)
}

// Meet makes the row that was added last a collective one, with such a root.
func (x *Rows) Meet(comm uint32, ordinal uint64, root int32, sent, received uint64) {
	x.Collectives = append(x.Collectives, section.Collective{
		Row: uint32(len(x.Function) - 1), Comm: comm, Ordinal: ordinal, Root: root, Sent: sent, Received: received,
	})
}

// Mark adds a mark, with what had been counted until then, if anything.
func (x *Rows) Mark(m section.Mark, counts ...int64) {
	if m.Counted = len(counts) > 0; m.Counted && x.MarkCounts == nil {
		x.MarkCounts = make([][]int64, len(counts))
	}
	x.Marks = append(x.Marks, m)
	for k, v := range counts {
		x.MarkCounts[k] = append(x.MarkCounts[k], v)
	}
}

// Block is the rows as an agent forms them.
func (x *Rows) Block() *section.Block {
	b := new(section.Block)
	x.fill(b)
	return b
}

// fill makes b the rows and what belongs to them.
func (x *Rows) fill(b *section.Block) {
	b.Empty()
	b.Ring, b.First, b.Origin, b.Unfinished = x.Ring, x.First, x.Origin, x.Unfinished
	b.Grow(len(x.Function), len(x.Counts))
	sites := make(map[section.Site]uint16)
	for row, function := range x.Function {
		site := section.Site{Function: uint16(function)}
		if len(x.Path) > 0 {
			site.Path = x.Path[row]
		}
		if _, known := sites[site]; !known {
			sites[site] = uint16(len(b.Sites))
			b.Sites = append(b.Sites, site)
		}
		b.Site[row], b.Burst[row], b.Call[row] = sites[site], x.Burst[row], x.Call[row]
		without, none := slices.BinarySearch(x.NoCounts, uint32(row))
		for k, counts := range x.Counts {
			b.Counts[k][row] = 0
			switch {
			case none:
			case counts[row-without] == math.MinInt64:
				b.NotRead = append(b.NotRead, section.NotRead{Row: uint32(row), Event: uint8(k)})
			default:
				b.Counts[k][row] = counts[row-without]
			}
		}
	}
	b.NoBurst, b.Paused, b.NoCounts = append(b.NoBurst, x.NoBurst...), append(b.Paused, x.Paused...), append(b.NoCounts, x.NoCounts...)
	b.PollsRow, b.Polls = append(b.PollsRow, x.PollsRow...), append(b.Polls, x.Polls...)
	b.Collectives = append(b.Collectives, x.Collectives...)
	b.FirstMark, b.Marks = x.FirstMark, append(b.Marks, x.Marks...)
	b.MarkCounts = section.CloneCounts(x.MarkCounts)
	b.GapsBefore, b.GapsInside = append(b.GapsBefore, x.GapsBefore...), append(b.GapsInside, x.GapsInside...)
}

// A maker makes sections. It is large: its encoder is.
type maker struct {
	encoder section.Encoder
	block   section.Block
}

var makers = sync.Pool{New: func() any { return new(maker) }}

// Message is a message of the rows as a section.
func (x *Rows) Message() *moriensv1.ReportRequest {
	m := makers.Get().(*maker)
	defer makers.Put(m)
	x.fill(&m.block)
	return Message(m.encoder.Calls(nil, &m.block))
}

// Calls are blocks of calls as sections.
func Calls(blocks ...*section.Block) (bytes []byte) {
	m := makers.Get().(*maker)
	defer makers.Put(m)
	for _, b := range blocks {
		bytes = m.encoder.Calls(bytes, b)
	}
	return bytes
}

// A Move is a transfer and its lane. The lane's number is found.
type Move struct {
	section.Transfer
	Kind      moriensv1.Transfers_Kind
	Comm      uint32
	Peer, Tag int32
}

// Moves are sections of moves of a ring, as many as it takes.
func Moves(ring uint64, epoch uint32, list ...Move) (bytes []byte) {
	m := makers.Get().(*maker)
	defer makers.Put(m)
	g, b := new(section.Gatherer), &m.block
	for {
		b.Empty()
		b.Ring, b.Epoch = ring, epoch
		n := min(len(list), section.MaxMoves)
		for _, x := range list[:n] {
			g.Add(b, section.Lane{Kind: section.MoveKind(x.Kind), Comm: x.Comm, Peer: x.Peer, Tag: x.Tag}, x.Transfer)
		}
		bytes = m.encoder.Moves(bytes, b)
		if list = list[n:]; len(list) == 0 {
			return bytes
		}
	}
}

// Done is what Transfer.Done says of a transfer that one row posted and another completed.
func Done(row, by uint64) int64 {
	if by >= row {
		return int64(by-row) + 1
	}
	return -int64(row - by)
}

// Message is a message of sections.
func Message(sections []byte) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: sections}}
}

// Offsets in a section, and how many bytes its directory has for each column.
const (
	atLength, atChecksum, atKind, atVersion, atOrigin, atColumns, atDirectory = 0, 4, 8, 9, 32, 64, 66

	entry = 6
	least = 80
)

// Without is a section without one of its columns.
func Without(b []byte, column byte) []byte {
	n := int(binary.LittleEndian.Uint16(b[atColumns:]))
	for i, from := 0, atDirectory+entry*n; i < n; i++ {
		at := atDirectory + entry*i
		length := int(binary.LittleEndian.Uint32(b[at+2:]))
		if b[at] == column {
			b = slices.Concat(b[:at], b[at+entry:from], b[from+length:])
			binary.LittleEndian.PutUint16(b[atColumns:], uint16(n-1))
			binary.LittleEndian.PutUint32(b[atLength:], uint32(len(b)))
			Seal(b)
			return b
		}
		from += length
	}
	panic("the section does not have that column")
}

// Shift makes the times in sections of calls later by so many ticks.
func Shift(b []byte, ticks uint64) {
	for rest := b; len(rest) > 0; rest = rest[binary.LittleEndian.Uint32(rest):] {
		if section.Kind(rest[atKind]) == section.Calls {
			binary.LittleEndian.PutUint64(rest[atOrigin:], binary.LittleEndian.Uint64(rest[atOrigin:])+ticks)
		}
	}
	Seal(b)
}

// Seal gives sections that follow each other their checksums, and a length to one without, whatever else they are. It
// says how many rows they have.
func Seal(b []byte) (rows int) {
	for len(b) >= least {
		n := uint32(len(b))
		if own := binary.LittleEndian.Uint32(b); own >= least && own < n {
			n = own
		}
		binary.LittleEndian.PutUint32(b, n)
		b[atVersion] = section.Version
		binary.LittleEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atKind:n], crc32.MakeTable(crc32.Castagnoli)))
		s := new(section.Section)
		if _, err := s.Read(b); err == nil {
			rows += s.Rows
		}
		b = b[n:]
	}
	return rows
}
