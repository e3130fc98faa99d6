package window

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// Windows have a few calls each, and there are thousands of them a second: their messages are encoded straight from the
// columns that they are cut from, and remain encoded until they are asked for. wire_test.go holds the field numbers
// here against the messages' own.

// Fields of WindowBatch.
const (
	batchTransaction protowire.Number = 1
	batchParts       protowire.Number = 2
	batchTracks      protowire.Number = 3
)

// Fields of WindowPart.
const (
	partProcess   protowire.Number = 2
	partWindow    protowire.Number = 3
	partMessages  protowire.Number = 4
	partContinued protowire.Number = 5
)

// Fields of ReportRequest.
const (
	requestCalls       protowire.Number = 6
	requestTransfers   protowire.Number = 24
	requestCollectives protowire.Number = 25
	requestMarks       protowire.Number = 30
)

// An encoder writes messages one after the other.
type encoder []byte

// keptBytes is how large an encoder may be whose memory is used again.
const keptBytes = 256 << 10

// empty is the encoder without what it holds.
func (e encoder) empty() encoder {
	if cap(e) > keptBytes {
		return nil
	}
	return e[:0]
}

// begin begins a message that is a field of the one at hand, and returns what end ends it by.
func (e *encoder) begin(field protowire.Number) (at int) {
	*e = protowire.AppendTag(*e, field, protowire.BytesType)
	return len(*e)
}

// end puts the length of a message before it.
func (e *encoder) end(at int) {
	n := len(*e) - at
	var length [10]byte
	*e = slices.Insert(*e, at, protowire.AppendVarint(length[:0], uint64(n))...)
}

func (e *encoder) number(field protowire.Number, v uint64) {
	if v != 0 {
		*e = protowire.AppendVarint(protowire.AppendTag(*e, field, protowire.VarintType), v)
	}
}

func (e *encoder) fixed(field protowire.Number, v uint64) {
	if v != 0 {
		*e = protowire.AppendFixed64(protowire.AppendTag(*e, field, protowire.Fixed64Type), v)
	}
}

// column writes numbers that are not negative.
func column[T ~uint32 | ~uint64 | ~int32](e *encoder, field protowire.Number, values []T) {
	if len(values) == 0 {
		return
	}
	at := e.begin(field)
	b := *e
	for _, v := range values {
		b = appendVarint(b, uint64(v))
	}
	*e = b
	e.end(at)
}

// signed writes numbers that may be negative, first in place of the first one of them.
func signed[T ~int32 | ~int64](e *encoder, field protowire.Number, first T, values []T) {
	if len(values) == 0 {
		return
	}
	at := e.begin(field)
	b := appendVarint(*e, protowire.EncodeZigZag(int64(first)))
	for _, v := range values[1:] {
		b = appendVarint(b, protowire.EncodeZigZag(int64(v)))
	}
	*e = b
	e.end(at)
}

// shifted writes what rows have less than from.
func shifted(e *encoder, field protowire.Number, rows []uint32, from int) {
	if len(rows) == 0 {
		return
	}
	at := e.begin(field)
	for _, row := range rows {
		*e = appendVarint(*e, uint64(row)-uint64(from))
	}
	e.end(at)
}

// fixedColumn writes numbers of eight bytes each.
func (e *encoder) fixedColumn(field protowire.Number, values []uint64) {
	if len(values) == 0 {
		return
	}
	at := e.begin(field)
	for _, v := range values {
		*e = protowire.AppendFixed64(*e, v)
	}
	e.end(at)
}

func appendVarint(b []byte, v uint64) []byte {
	if v < 1<<7 { // most are
		return append(b, byte(v))
	}
	return protowire.AppendVarint(b, v)
}

// between is where the rows of a sparse column lie that are from ≤ row < to.
func between(rows []uint32, from, to int) (first, behind int) {
	first, _ = slices.BinarySearch(rows, uint32(from))
	behind, _ = slices.BinarySearch(rows, uint32(to))
	return first, behind
}

// calls writes some rows of a Calls message, of which the first burst starts at origin, as a message of a part.
func (e *encoder) calls(c *moriensv1.Calls, from, to int, origin uint64) {
	message := e.begin(partMessages)
	body := e.begin(requestCalls)
	e.fixed(1, c.Ring)
	e.number(2, c.First+uint64(from))
	e.number(3, origin)
	column(e, 4, c.BurstTicks[from:to])
	column(e, 5, c.CallTicks[from:to])
	column(e, 6, c.Function[from:to])
	column(e, 7, c.Path[from:to])
	e.rows(8, c.NoBurst, from, to)
	if c.Unfinished && to == len(c.Function) {
		e.number(9, 1)
	}
	e.rows(10, c.PollsRow, from, to)
	first, behind := between(c.PollsRow, from, to)
	column(e, 11, c.Polls[first:behind])
	first, behind = between(c.NoCounts, from, to)
	for _, counts := range c.Counts {
		at := e.begin(12)
		if values := counts.Value[from-first : to-behind]; len(values) > 0 {
			signed(e, 1, values[0], values)
		}
		e.end(at)
	}
	e.rows(13, c.NoCounts, from, to)
	e.rows(30, c.Paused, from, to)
	e.end(body)
	e.end(message)
}

// rows writes what a sparse column has of some rows.
func (e *encoder) rows(field protowire.Number, rows []uint32, from, to int) {
	first, behind := between(rows, from, to)
	shifted(e, field, rows[first:behind], from)
}

// transfers writes some entries of a Transfers message, the first of which is of that row, as a message of a part.
func (e *encoder) transfers(x *moriensv1.Transfers, from, to int, row uint64) {
	message := e.begin(partMessages)
	body := e.begin(requestTransfers)
	e.fixed(1, x.Ring)
	column(e, 2, x.Kind[from:to])
	signed(e, 3, int64(row), x.Row[from:to])
	signed(e, 4, x.Done[from], x.Done[from:to])
	signed(e, 5, x.Peer[from], x.Peer[from:to])
	signed(e, 6, x.Tag[from], x.Tag[from:to])
	column(e, 7, x.Comm[from:to])
	column(e, 8, x.Bytes[from:to])
	e.rows(9, x.Elsewhere, from, to)
	first, behind := between(x.Elsewhere, from, to)
	e.fixedColumn(10, x.DoneRing[first:behind])
	e.rows(11, x.Partitioned, from, to)
	first, behind = between(x.Partitioned, from, to)
	column(e, 12, x.Channel[first:behind])
	column(e, 20, x.Ordinal[from:to])
	e.number(21, uint64(x.Epoch))
	e.rows(30, x.Untold, from, to)
	e.end(body)
	e.end(message)
}

// collectives writes some entries of a Collectives message, likewise.
func (e *encoder) collectives(x *moriensv1.Collectives, from, to int, row uint64) {
	message := e.begin(partMessages)
	body := e.begin(requestCollectives)
	e.fixed(1, x.Ring)
	signed(e, 2, int64(row), x.Row[from:to])
	column(e, 3, x.Comm[from:to])
	column(e, 4, x.Ordinal[from:to])
	column(e, 5, x.Sent[from:to])
	column(e, 6, x.Received[from:to])
	signed(e, 7, x.Root[from], x.Root[from:to])
	e.end(body)
	e.end(message)
}

// marks writes some marks of a Marks message, the first of which was at origin, and the values of the events among
// them, as a message of a part.
func (e *encoder) marks(m *moriensv1.Marks, from, to int, origin uint64, values []int64) {
	message := e.begin(partMessages)
	body := e.begin(requestMarks)
	e.fixed(1, m.Ring)
	e.number(2, m.First+uint64(from))
	e.number(3, origin)
	at := e.begin(4)
	*e = appendVarint(*e, 0) // the first is at the origin
	for _, d := range m.Ticks[from+1 : to] {
		*e = appendVarint(*e, d)
	}
	e.end(at)
	column(e, 5, m.What[from:to])
	column(e, 6, m.Name[from:to])
	if len(values) > 0 {
		signed(e, 7, values[0], values)
	}
	e.end(body)
	e.end(message)
}

// message writes any message as a field.
func (e *encoder) message(field protowire.Number, m proto.Message) error {
	at := e.begin(field)
	b, err := proto.MarshalOptions{}.MarshalAppend(*e, m)
	if err != nil {
		return err
	}
	*e = b
	e.end(at)
	return nil
}

// parts writes parts of one window of a process, one after the other, as a field of a WindowBatch: continued where the
// first is.
func (e *encoder) parts(parts ...part) {
	at := e.begin(batchParts)
	e.fixed(partProcess, parts[0].process)
	e.number(partWindow, uint64(parts[0].window))
	if parts[0].continued {
		e.number(partContinued, 1)
	}
	for i := range parts {
		*e = append(*e, parts[i].messages...)
	}
	e.end(at)
}

// A part is a WindowPart of which the messages remain encoded.
type part struct {
	key
	continued bool
	messages  []byte // fields of the WindowPart
}

// decode is the part with its messages.
func (p *part) decode() (*moriensv1.WindowPart, error) {
	w := new(moriensv1.WindowPart)
	if err := proto.Unmarshal(p.messages, w); err != nil {
		return nil, err
	}
	w.Process, w.Window, w.Continued = p.process, uint64(p.window), p.continued
	return w, nil
}

// errWire is returned for what is no WindowBatch.
var errWire = errors.New("not a batch of windows")

// fields calls take for the fields of an encoded message: a number of its own, or the bytes of what has a length. at is
// where the field begins, behind where the next one does.
func fields(message []byte, take func(field protowire.Number, number uint64, bytes []byte, at, behind int) error) error {
	for at := 0; at < len(message); {
		field, kind, n := protowire.ConsumeTag(message[at:])
		if n < 0 {
			return fmt.Errorf("%w: %w", errWire, protowire.ParseError(n))
		}
		rest := message[at+n:]
		var number uint64
		var bytes []byte
		length := 0
		switch kind {
		case protowire.VarintType:
			number, length = protowire.ConsumeVarint(rest)
		case protowire.Fixed64Type:
			number, length = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			bytes, length = protowire.ConsumeBytes(rest)
		default:
			length = protowire.ConsumeFieldValue(field, kind, rest)
		}
		if length < 0 {
			return fmt.Errorf("%w: %w", errWire, protowire.ParseError(length))
		}
		behind := at + n + length
		if err := take(field, number, bytes, at, behind); err != nil {
			return err
		}
		at = behind
	}
	return nil
}

// readParts calls take for the parts of a record, which last as long as it does.
func readParts(record []byte, take func(p part) error) error {
	return fields(record, func(field protowire.Number, _ uint64, bytes []byte, _, _ int) error {
		if field != batchParts {
			return nil
		}
		p, err := partOf(bytes)
		if err != nil {
			return err
		}
		return take(p)
	})
}

// readParts calls take for the parts of a file's runs, like readRuns; each lasts until take returns.
func (s *Store) readParts(f *file, from, count int, take func(part) error) error {
	return s.readRuns(f, from, count, func(record []byte) error { return readParts(record, take) })
}

// partOf is a part as it was written. Its messages follow each other in all that agents have written.
func partOf(bytes []byte) (p part, err error) {
	begin, end := 0, 0 // of the latest messages that do
	err = fields(bytes, func(field protowire.Number, number uint64, _ []byte, at, behind int) error {
		switch field {
		case partProcess:
			p.process = number
		case partWindow:
			p.window = anchor.ID(number)
		case partContinued:
			p.continued = number != 0
		case partMessages:
			if at != end {
				p.messages = append(p.messages, bytes[begin:end]...)
				begin = at
			}
			end = behind
		}
		return nil
	})
	if p.messages == nil {
		p.messages = bytes[begin:end:end]
	} else {
		p.messages = append(p.messages, bytes[begin:end]...)
	}
	return p, err
}

// readTracks returns a record's transaction, and where it leaves rings.
func readTracks(record []byte) (transaction uint64, tracks []*moriensv1.WindowTrack, err error) {
	err = fields(record, func(field protowire.Number, number uint64, bytes []byte, _, _ int) error {
		switch field {
		case batchTransaction:
			transaction = number
		case batchTracks:
			t := new(moriensv1.WindowTrack)
			tracks = append(tracks, t)
			return proto.Unmarshal(bytes, t)
		}
		return nil
	})
	return transaction, tracks, err
}
