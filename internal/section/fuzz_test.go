package section

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
)

// planted is a block like those of a halo exchange.
func planted(rows, neighbours int) *Block {
	random := rand.New(rand.NewPCG(3, 4))
	b := &Block{Ring: 7, First: 1 << 20, Origin: 1 << 50, Chunk: 3}
	b.Grow(rows, 2)
	for i := range 2*neighbours + 2 {
		b.Sites = append(b.Sites, Site{uint16(i % 4), uint32(i + 1)})
	}
	for i := range 2 * neighbours {
		b.Lanes = append(b.Lanes, Lane{Kind: MoveKind(1 + i/neighbours), Comm: 1, Peer: int32(i % neighbours), Tag: 7, Bytes: 8192, Ordinal: 1000})
	}
	for row := range rows {
		site := row % len(b.Sites)
		b.Site[row] = uint16(site)
		b.Burst[row] = 3000*uint64(1+site%3) + random.Uint64N(200)
		b.Call[row] = 700 + random.Uint64N(200)
		b.Counts[0][row], b.Counts[1][row] = int64(2*b.Burst[row]+random.Uint64N(50)), int64(b.Burst[row])
		switch {
		case site < 2*neighbours:
			b.Transfers = append(b.Transfers, Transfer{
				Lane: uint16(site), Row: b.First + uint64(row), Done: int64(2*neighbours - site + 1), Bytes: 8192, Ordinal: 1001 + uint64(row/len(b.Sites)),
			})
		case site == 2*neighbours+1:
			b.Collectives = append(b.Collectives, Collective{Row: uint32(row), Comm: 1, Root: -1, Ordinal: uint64(row / len(b.Sites)), Sent: 8, Received: 8})
		}
	}
	return b
}

// Whatever bytes a section has that has the right length and checksum: it is read or refused, and nothing panics. What
// is read twice is the same, and what has a frame has rows.
func FuzzSection(f *testing.F) {
	e := new(Encoder)
	f.Add(e.Calls(nil, planted(100, 3)))
	f.Add(e.Moves(nil, planted(100, 3)))
	b := planted(50, 2)
	b.NoBurst, b.Paused, b.NoCounts, b.PollsRow, b.Polls = []uint32{0, 9}, []uint32{9}, []uint32{3}, []uint32{4}, []uint64{99}
	b.Marks, b.GapsBefore, b.GapsInside = []Mark{{Ticks: 9, What: Event, Value: -4}, {Ticks: 10, What: BeginPhase, Name: 3}}, []uint64{1}, []uint64{2}
	b.AddMark(Mark{Ticks: 12, What: EndPhase, Name: 3}, []int64{-1, 1 << 50})
	b.NotRead, b.Epoch = []NotRead{{4, 1}}, 3
	b.Transfers[0].Ring, b.Transfers[1].Channel, b.Transfers[2].Untold = 5, 6, true
	f.Add(e.Calls(nil, b))
	f.Add(e.Moves(nil, b))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) >= headBytes {
			bytes[atVersion] = Version
			binary.LittleEndian.PutUint32(bytes, uint32(len(bytes)))
			binary.LittleEndian.PutUint32(bytes[atChecksum:], crc32.Checksum(bytes[atKind:], castagnoli))
		}
		var s Section
		if _, err := s.Read(bytes); err != nil {
			return
		}
		d, first, second := new(Decoder), new(Block), new(Block)
		for _, events := range []int{s.Events(), 2} {
			if d.Frame(&s, events, first) != nil {
				continue
			}
			if err := sameTicks(d, &s, first); err != nil {
				t.Fatal(err)
			}
			if err := d.Counts(&s, first); err != nil {
				t.Fatal(err)
			}
			if err := d.Calls(&s, events, second); err != nil {
				t.Fatal(err)
			}
			if diff := sameBlocks(first, second); diff != "" {
				t.Fatal(diff)
			}
		}
		read := d.Calls
		if s.Kind == Moves {
			read = func(s *Section, _ int, b *Block) error { return d.Moves(s, b) }
		}
		if read(&s, 2, first) != nil {
			return
		}
		if err := read(&s, 2, second); err != nil {
			t.Fatal(err)
		}
		if diff := sameBlocks(first, second); diff != "" {
			t.Fatal(diff)
		}
	})
}

// sameTicks gives a block that has a frame its ticks, and compares those that are sorted by sites with them.
func sameTicks(d *Decoder, s *Section, b *Block) error {
	rows, burst, call, err := d.Sorted(s, b)
	if err != nil {
		return err
	}
	rows, burst, call = slices.Clone(rows), slices.Clone(burst), slices.Clone(call)
	if err := d.Ticks(s, b); err != nil {
		return err
	}
	seen := make(map[uint16]bool)
	for i, row := range rows {
		if seen[row] || burst[i] != b.Burst[row] || call[i] != b.Call[row] {
			return fmt.Errorf("row %d has %d and %d, sorted %d and %d", row, b.Burst[row], b.Call[row], burst[i], call[i])
		}
		seen[row] = true
	}
	if len(seen) != b.Rows {
		return fmt.Errorf("%d rows of %d", len(seen), b.Rows)
	}
	return nil
}
