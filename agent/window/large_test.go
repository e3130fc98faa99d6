package window

import (
	"log/slog"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

func largeStore(t *testing.T, dir string, committed uint64, rings int) *Store {
	t.Helper()
	s, err := Open(Config{Run: "r", Dir: dir, Committed: committed, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if rings == 0 {
		return s
	}
	x := Transaction{Number: 1, Messages: []*moriensv1.ReportRequest{{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
		Process: 1, Size: 2, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW,
	}}}}}
	for i := range rings {
		x.Messages = append(x.Messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: uint64(i) + 1, Process: 1}}})
		x.Blocks = append(x.Blocks, callOf(uint64(i)+1, 0))
	}
	if _, err := s.Append(x); err != nil {
		t.Fatal(err)
	}
	return s
}

func callOf(ring, row uint64) *section.Block {
	b := &section.Block{Ring: ring, First: row, Origin: 10 * row, Sites: []section.Site{{Function: 1, Path: 1}}}
	b.Append(0, 1, 1)
	return b
}

// However much one chunk has, or one transaction, no part of an answer is much larger than partBytes, and all moves are
// in it.
func TestPartsAreBounded(t *testing.T) {
	s := largeStore(t, t.TempDir()+"/w", 0, 1)
	defer s.Close()
	const rows, each = 4, 150_000 // a Waitall of so many
	number, sent := uint64(1), 0
	for row := uint64(1); row <= rows; row++ {
		var moves []Move
		for i := range uint64(each) {
			moves = append(moves, Move{Ring: 1, Lane: section.Lane{Kind: 1, Comm: 1, Peer: int32(i % 1000), Tag: int32(i)}, Transfer: section.Transfer{
				Row: row, Done: 1, Bytes: i * 0x9e3779b97f4a7c15 >> 4, Ordinal: row,
			}})
		}
		number++
		if _, err := s.Append(Transaction{Number: number, Blocks: []*section.Block{callOf(1, row)}, Moves: moves}); err != nil {
			t.Fatal(err)
		}
		sent += len(moves)
	}
	for _, f := range []*moriensv1.Fetch{{Transfers: true}, {Everything: true}, {Window: []uint64{0}}, {Ring: []uint64{1}, FirstRow: []uint64{1}, BehindRow: []uint64{2}}} {
		parts, moves, largest := 0, 0, 0
		end := s.Fetch(f, func(p *moriensv1.WindowPart) error {
			parts++
			largest = max(largest, proto.Size(p))
			for x, bytes := new(section.Section), p.Sections; len(bytes) > 0; {
				var err error
				if bytes, err = x.Read(bytes); err != nil {
					return err
				}
				moves += x.Rows
			}
			return nil
		})
		if end.Error != "" || end.Parts != uint64(parts) || moves != sent || largest > 2*partBytes || parts < 4 {
			t.Errorf("%v: %d moves of %d in %d parts, the largest of %d bytes: %v", f, moves, sent, parts, largest, end)
		}
	}
}

// A state that is much larger than a record is written in pieces, and found again; one of which the last piece is not
// there does not count.
func TestLargeState(t *testing.T) {
	dir := t.TempDir() + "/w"
	const rings, windows = 40, 20_000
	s := largeStore(t, dir, 0, rings)
	for _, r := range s.rings {
		r.edges = r.edges[:0]
		for w := range uint64(windows) {
			r.edges = append(r.edges, edge{w * 1000, anchor.ID(w << 16)})
		}
		r.rows = windows * 1000
		r.noted = noted{windows, r.track()}
	}
	same := func(s *Store, edges int) {
		t.Helper()
		if len(s.rings) != rings || s.last != 1<<40 {
			t.Errorf("%d rings, transaction %d", len(s.rings), s.last)
		}
		for _, r := range s.rings {
			if len(r.edges) != edges || !slices.IsSortedFunc(r.edges, func(a, b edge) int { return int(a.row) - int(b.row) }) {
				t.Fatalf("ring %d has %d edges", r.id, len(r.edges))
			}
		}
	}
	s.last = 1 << 40
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	if records := recordsOf(t, s.state); len(records) < 4 || slices.ContainsFunc(records, func(r []byte) bool { return len(r) > 2*pieceBytes }) {
		t.Errorf("%d records", len(records))
	}
	s.Close()
	s = largeStore(t, dir, 1<<40, 0)
	same(s, windows)
	records := recordsOf(t, s.state)
	for _, r := range s.rings { // the rewrite that is not finished has fewer
		r.noted.edges = windows / 2
	}
	pieces, err := s.pieces(&moriensv1.WindowState{Complete: true, Transaction: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.state.Append(pieces[:len(pieces)-1]...); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = largeStore(t, dir, 1<<40, 0)
	defer s.Close()
	same(s, windows)
	if got := recordsOf(t, s.state); len(got) != len(records) {
		t.Errorf("%d records, %d before", len(got), len(records))
	}
}

func recordsOf(t *testing.T, l *segment.Log) (records [][]byte) {
	t.Helper()
	if err := l.Read(segment.Position{}, func(_ segment.Position, r []byte) error {
		records = append(records, slices.Clone(r))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return records
}
