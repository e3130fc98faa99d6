// Package section encodes what the ranks of a node did: rows of calls of one ring with what belongs to them (S), and
// what those calls moved to and from other ranks (N).
//
// In comes a Block, in ticks of the node's clock and with the numbers of the process's own log. Out come sections:
// bytes with a checksum, which are appended to the agent's log, sent and journaled as they are, and decode without any
// other. docs/format/section.md describes them byte by byte.
package section

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	// MaxRows and MaxMoves bound a block.
	MaxRows  = 4096
	MaxMoves = 8128
	// MaxEvents bounds what is counted.
	MaxEvents = 8

	// Version is that of the sections' format.
	Version = 1

	headBytes  = 64
	entryBytes = 6 // of the directory, for each column
	// maxBytes bounds a section: what its columns take at most is far less.
	maxBytes = 8 << 20
)

// A Kind says what a section holds.
type Kind uint8

// The kinds of sections.
const (
	Calls Kind = 1 // S
	Moves Kind = 2 // N
)

// flagUnfinished says that the process died inside the last row.
const flagUnfinished = 1

// ErrCorrupt is returned, wrapped with what is wrong, for bytes that are no section.
var ErrCorrupt = errors.New("corrupt section")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Head is what a section says of itself.
type Head struct {
	Kind       Kind
	Unfinished bool   // the process died inside the last row
	Rows       int    // of Moves: transfers
	Ring       uint64 // id
	First      uint64 // number of the first row; of Moves, of the first call that posted one of the transfers
	Origin     uint64 // ticks at which the first burst starts; of Moves, the row from which that of the first transfer differs
	Chunk      uint64 // of windows that the rows are in; 0: the first one, or not given
}

// Offsets in the head. What it has beside these is 0.
const (
	atLength   = 0
	atChecksum = 4
	atKind     = 8
	atVersion  = 9
	atFlags    = 10
	atRows     = 12
	atRing     = 16
	atFirst    = 24
	atOrigin   = 32
	atChunk    = 48
)

// An encoding of a column.
type encoding uint8

const (
	asBytes  encoding = iota
	asNumber          // varints
	asPacks           // the number of values, then packs of them in the order of rows
	bySite            // packs of the rows' values, site by site
)

// A column is one that has been written, or that the directory names.
type column struct {
	number   uint8
	encoding encoding
	from, to int // offsets in the section
}

// maxColumns bounds the columns of a section.
const maxColumns = 64

// A writer appends a section's columns. The directory is made when all are there.
type writer struct {
	columns [maxColumns]column
	n       int
	at      int // where the column began that is being written
}

func (w *writer) begin(dst []byte) {
	w.n, w.at = 0, len(dst)
}

// end ends a column that was appended to dst; one without bytes is left out.
func (w *writer) end(dst []byte, number uint8, e encoding) {
	if len(dst) > w.at {
		w.columns[w.n] = column{number, e, w.at, len(dst)}
		w.n++
	}
	w.at = len(dst)
}

// directoryBytes is how long the directory of n columns is.
func directoryBytes(n int) int { return 2 + entryBytes*n }

// seal writes head and directory before the columns, which begin at an offset of dst after room for both, and the
// checksum. It returns dst from where the section begins.
func (w *writer) seal(dst []byte, start, columns int, h *Head) []byte {
	dst = append(dst, make([]byte, slack)...)
	used := headBytes + directoryBytes(w.n)
	if room := columns - start; room != used { // fewer columns than there was room for
		copy(dst[start+used:], dst[columns:])
		dst = dst[:len(dst)-(room-used)]
	}
	b := dst[start:]
	directory := b[headBytes:]
	binary.LittleEndian.PutUint16(directory, uint16(w.n))
	for i, c := range w.columns[:w.n] {
		entry := directory[2+entryBytes*i:]
		entry[0], entry[1] = c.number, byte(c.encoding)
		binary.LittleEndian.PutUint32(entry[2:], uint32(c.to-c.from))
	}
	binary.LittleEndian.PutUint32(b[atLength:], uint32(len(b)))
	b[atKind], b[atVersion] = byte(h.Kind), Version
	flags := uint16(0)
	if h.Unfinished {
		flags |= flagUnfinished
	}
	binary.LittleEndian.PutUint16(b[atFlags:], flags)
	binary.LittleEndian.PutUint32(b[atRows:], uint32(h.Rows))
	clear(b[atOrigin:headBytes])
	for _, x := range []struct {
		at    int
		value uint64
	}{{atRing, h.Ring}, {atFirst, h.First}, {atOrigin, h.Origin}, {atChunk, h.Chunk}} {
		binary.LittleEndian.PutUint64(b[x.at:], x.value)
	}
	binary.LittleEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atKind:], castagnoli))
	return dst
}

// Length is how long the section is that bytes begin with.
func Length(b []byte) (int, error) {
	if len(b) < headBytes+directoryBytes(0)+slack {
		return 0, corrupt("%d bytes", len(b))
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < headBytes+directoryBytes(0)+slack || n > maxBytes || n > len(b) {
		return 0, corrupt("a length of %d in %d bytes", n, len(b))
	}
	return n, nil
}

// Of says what the section is of that bytes begin with, whose Length is known; 0 where there is none.
func Of(b []byte) (kind Kind, ring, first uint64) {
	if len(b) < headBytes {
		return 0, 0, 0
	}
	return Kind(b[atKind]), binary.LittleEndian.Uint64(b[atRing:]), binary.LittleEndian.Uint64(b[atFirst:])
}

// A Section is one whose checksum and structure are right: nothing that is read of it lies outside of it.
type Section struct {
	Head
	bytes   []byte
	columns [maxColumns]column
	n       int
	// Of calls.
	sites          []Site
	counts, groups []int // rows of each site; and of each group of sites that is packed together
}

// Bytes returns the section as it was read.
func (s *Section) Bytes() []byte { return s.bytes }

// Read takes the section that bytes begin with, which it keeps, and returns what follows it.
func (s *Section) Read(b []byte) (rest []byte, err error) {
	n, err := Length(b)
	if err != nil {
		return nil, err
	}
	b, rest = b[:n:n], b[n:]
	if want, is := binary.LittleEndian.Uint32(b[atChecksum:]), crc32.Checksum(b[atKind:], castagnoli); want != is {
		return nil, corrupt("checksum %08x, its bytes have %08x", want, is)
	}
	if v := b[atVersion]; v != Version {
		return nil, corrupt("version %d, this program reads %d", v, Version)
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	s.bytes = b
	s.Head = Head{
		Kind: Kind(b[atKind]), Unfinished: binary.LittleEndian.Uint16(b[atFlags:])&flagUnfinished != 0,
		Rows: int(binary.LittleEndian.Uint32(b[atRows:])), Ring: number(atRing), First: number(atFirst), Origin: number(atOrigin),
		Chunk: number(atChunk),
	}
	if err := s.readDirectory(); err != nil {
		return nil, err
	}
	return rest, s.check()
}

// Events is how many events the rows have counts of.
func (s *Section) Events() (n int) {
	for _, c := range s.columns[:s.n] {
		if c.number >= colCounts && c.encoding == bySite {
			n++
		}
	}
	return n
}

func (s *Section) readDirectory() error {
	b := s.bytes
	s.n = int(binary.LittleEndian.Uint16(b[headBytes:]))
	at, end := headBytes+directoryBytes(s.n), len(b)-slack
	if s.n > maxColumns || at > end {
		return corrupt("%d columns in %d bytes", s.n, len(b))
	}
	last := -1
	for i := range s.n {
		entry := b[headBytes+2+entryBytes*i:]
		c := column{entry[0], encoding(entry[1]), at, at + int(binary.LittleEndian.Uint32(entry[2:]))}
		if int(c.number) <= last || c.to > end {
			return corrupt("column %d of %d bytes", c.number, c.to-c.from)
		}
		s.columns[i], last, at = c, int(c.number), c.to
	}
	if at != end {
		return corrupt("%d bytes behind the columns", end-at)
	}
	return nil
}

// find returns a column, if it is there in that encoding.
func (s *Section) find(number uint8, e encoding) (c column, there bool, err error) {
	for _, c := range s.columns[:s.n] {
		if c.number == number {
			if c.encoding != e {
				return c, false, corrupt("column %d in encoding %d", number, c.encoding)
			}
			return c, true, nil
		}
	}
	return c, false, nil
}

// check tests that a section of a kind that this version knows has what its kind has, and that packs are whole. Values
// are tested when they are read.
func (s *Section) check() (err error) {
	most := MaxRows
	switch s.Kind {
	case Calls:
	case Moves:
		most = MaxMoves
	default:
		return corrupt("kind %d", s.Kind)
	}
	if s.Rows > most {
		return corrupt("%d rows", s.Rows)
	}
	if s.Kind == Calls {
		if err = s.readSites(); err != nil {
			return err
		}
		s.groups = groupsOf(s.groups[:0], s.counts)
	}
	for _, c := range s.columns[:s.n] {
		switch c.encoding {
		case asPacks:
			n, size := binary.Uvarint(s.bytes[c.from:c.to])
			if size <= 0 || n > MaxMoves {
				return corrupt("column %d of %d values", c.number, n)
			}
			err = s.checkPacks(c, c.from+size, int(n))
		case bySite:
			err = s.checkPacks(c, c.from, s.groups...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPacks tests the packs of a column, which begin at an offset, for groups of so many values.
func (s *Section) checkPacks(c column, at int, groups ...int) error {
	ok := true
	for _, n := range groups {
		if at, ok = skipPacks(s.bytes, at, c.to, n); !ok {
			return corrupt("the packs of column %d", c.number)
		}
	}
	if at != c.to {
		return corrupt("%d bytes too many in column %d", c.to-at, c.number)
	}
	return nil
}
