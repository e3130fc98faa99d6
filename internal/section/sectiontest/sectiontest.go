// Package sectiontest makes sections, for tests of what takes them.
package sectiontest

import (
	"encoding/binary"
	"hash/crc32"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Move is a transfer and its lane. The lane's number is found.
type Move struct {
	section.Transfer
	Kind      moriensv1.Transfers_Kind
	Comm      uint32
	Peer, Tag int32
}

// Moves are sections of moves of a ring, as many as it takes.
func Moves(ring uint64, epoch uint32, list ...Move) (bytes []byte) {
	e, g, b := new(section.Encoder), new(section.Gatherer), new(section.Block)
	for {
		b.Empty()
		b.Ring, b.Epoch = ring, epoch
		n := min(len(list), section.MaxMoves)
		for _, m := range list[:n] {
			g.Add(b, section.Lane{Kind: section.MoveKind(m.Kind), Comm: m.Comm, Peer: m.Peer, Tag: m.Tag}, m.Transfer)
		}
		bytes = e.Moves(bytes, b)
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

// Seal gives sections that follow each other their checksums, and a length to one without, whatever else they are. It
// says how many rows they have.
func Seal(b []byte) (rows int) {
	const atChecksum, atKind, atVersion, least = 4, 8, 9, 80
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
