package section

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drawValue is a number that is small, in the middle or large, or any.
func drawValue(t *rapid.T) uint64 {
	switch rapid.IntRange(0, 5).Draw(t, "size") {
	case 0:
		return 0
	case 1:
		return rapid.Uint64Range(0, 9).Draw(t, "small")
	case 2:
		return 100_000 + rapid.Uint64Range(0, 999).Draw(t, "near")
	case 3:
		return rapid.Uint64().Draw(t, "any")
	case 4:
		return math.MaxUint64 - rapid.Uint64Range(0, 9).Draw(t, "below")
	}
	return rapid.Uint64Range(0, 1<<40).Draw(t, "middle")
}

// Packs give back what was packed, whatever it is, and say where they end.
func TestPacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Custom(drawValue), 0, 300).Draw(t, "values")
		b := appendPacks([]byte{1, 2, 3}, slices.Clone(v))
		end := len(b)
		b = append(b, make([]byte, slack)...)
		if at, ok := skipPacks(b, 3, end, len(v)); !ok || at != end {
			t.Fatalf("skipped to %d of %d: %v", at, end, ok)
		}
		got := make([]uint64, len(v))
		if at, ok := readPacks(b, 3, end, got); !ok || at != end {
			t.Fatalf("read to %d of %d: %v", at, end, ok)
		}
		if !slices.Equal(v, got) {
			t.Fatalf("packed %v, read %v", v, got)
		}
	})
}

// Values that are alike take little, and few outliers do not change that.
func TestPacksAreSmall(t *testing.T) {
	v := make([]uint64, packValues)
	for i := range v {
		v[i] = 1_000_000 + uint64(i%4)
	}
	v[5], v[77] = 2_000_000, 1<<50
	// The least value, the width and 128 values of 2 bits; then 2 exceptions, how many and how large.
	if n := len(appendPacks(nil, v)); n > 3+1+32+2+2*(1+6)+1 {
		t.Errorf("%d bytes", n)
	}
	if n := len(appendPacks(nil, make([]uint64, packValues))); n != 2 {
		t.Errorf("zeros take %d bytes", n)
	}
}

// drawBlock is any block that a ring can have.
func drawBlock(t *rapid.T) *Block {
	b := new(Block)
	b.Ring, b.First, b.Origin = drawValue(t), rapid.Uint64Range(0, 1<<40).Draw(t, "first"), rapid.Uint64Range(0, 1<<60).Draw(t, "origin")
	b.Chunk = drawValue(t)
	b.Unfinished = rapid.Bool().Draw(t, "unfinished")
	b.Grow(rapid.IntRange(0, 400).Draw(t, "rows"), rapid.IntRange(0, 3).Draw(t, "events"))
	seed := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	places := rapid.IntRange(1, 20).Draw(t, "places")
	number := make(map[int]uint16)
	for row := range b.Rows {
		site := seed.IntN(places)
		if seed.IntN(3) > 0 {
			site = row % places
		}
		if _, known := number[site]; !known {
			number[site] = uint16(len(b.Sites))
			b.Sites = append(b.Sites, Site{uint16(seed.IntN(1 << 16)), seed.Uint32()})
		}
		b.Site[row] = number[site]
		b.Burst[row], b.Call[row] = 1000*uint64(site)+seed.Uint64N(100), seed.Uint64N(1<<uint(1+seed.IntN(60)))
		for k := range b.Events {
			b.Counts[k][row] = int64(seed.Uint64N(1<<20)) - 1<<19
			if seed.IntN(50) == 0 {
				b.Counts[k][row] = math.MinInt64
				b.NotRead = append(b.NotRead, NotRead{uint32(row), uint8(k)})
			}
		}
		some := func(list *[]uint32) {
			if seed.IntN(20) == 0 {
				*list = append(*list, uint32(row))
			}
		}
		some(&b.NoBurst)
		some(&b.Paused)
		some(&b.NoCounts)
		if n := len(b.PollsRow); true {
			if some(&b.PollsRow); len(b.PollsRow) > n {
				b.Polls = append(b.Polls, 2+seed.Uint64N(1000))
			}
		}
		if seed.IntN(4) == 0 {
			b.Collectives = append(b.Collectives, Collective{
				Row: uint32(row), Comm: uint32(seed.IntN(40)), Root: int32(seed.IntN(5)) - 3, Ordinal: uint64(row) + seed.Uint64N(3),
				Sent: seed.Uint64N(1 << 62), Received: 8,
			})
		}
	}
	now, marksCount := b.Origin, rapid.SampledFrom([]int{0, 1, 3, MaxEvents}).Draw(t, "counts of marks")
	for range rapid.IntRange(0, 9).Draw(t, "marks") {
		now += seed.Uint64N(1000)
		m := Mark{Ticks: now, What: MarkKind(1 + seed.IntN(3)), Name: seed.Uint32()}
		if m.What == Event {
			m.Value = int64(seed.Uint64())
		}
		var counts []int64
		for k := 0; m.What != Event && k < marksCount; k++ {
			counts = append(counts, []int64{math.MinInt64, math.MaxInt64, -5, seed.Int64N(1 << 40)}[seed.IntN(4)])
		}
		if seed.IntN(3) == 0 {
			counts = nil
		}
		b.AddMark(m, counts)
		b.FirstMark = 7
	}
	for range rapid.IntRange(0, 3).Draw(t, "gaps") {
		b.GapsBefore = append(b.GapsBefore, seed.Uint64N(1<<40))
		b.GapsInside = append(b.GapsInside, seed.Uint64N(1<<40))
	}
	drawTransfers(t, seed, b)
	return b
}

func drawTransfers(t *rapid.T, seed *rand.Rand, b *Block) {
	b.Epoch = uint32(rapid.IntRange(0, 2).Draw(t, "epoch"))
	for range rapid.IntRange(0, 12).Draw(t, "lanes") {
		b.Lanes = append(b.Lanes, Lane{
			Kind: MoveKind(1 + seed.IntN(7)), Comm: uint32(seed.IntN(9)), Peer: int32(seed.IntN(100)) - 1, Tag: int32(seed.Uint32()),
			Bytes: seed.Uint64N(1 << 20), Ordinal: seed.Uint64N(1000),
		})
	}
	if len(b.Lanes) == 0 {
		return
	}
	for range rapid.IntRange(0, 500).Draw(t, "transfers") {
		x := Transfer{
			Lane: uint16(seed.IntN(len(b.Lanes))), Row: seed.Uint64N(b.First + uint64(b.Rows) + 1), Done: int64(seed.IntN(5000)) - 20,
			Bytes: 1 << uint(seed.IntN(20)), Ordinal: seed.Uint64N(2000),
		}
		if seed.IntN(20) == 0 {
			x.Ring = seed.Uint64() | 1
		}
		if seed.IntN(20) == 0 {
			x.Channel = seed.Uint32() | 1
		}
		x.Untold = seed.IntN(20) == 0
		b.Transfers = append(b.Transfers, x)
	}
}

// reduced is a block without what its sections do not hold.
func reduced(b *Block, moves bool) *Block {
	r := new(Block)
	*r = *b
	if moves {
		r.Empty()
		r.Ring, r.First, r.Chunk, r.Epoch, r.Lanes, r.Transfers = b.Ring, b.First, b.Chunk, b.Epoch, b.Lanes, b.Transfers
	} else {
		r.Epoch, r.Lanes, r.Transfers = 0, nil, nil
	}
	return r
}

func sameBlocks(a, b *Block) string {
	view := func(b *Block) any {
		x := struct {
			Ring, First, Origin, Chunk, FirstMark uint64
			Unfinished                            bool
			Rows, Events                          int
			Epoch                                 uint32
			Sites                                 []Site
			Site                                  []uint16
			Burst, Call                           []uint64
			Counts                                [][]int64
			NoBurst, Paused, NoCounts, PollsRow   []uint32
			NotRead                               []NotRead
			Polls, GapsBefore, GapsInside         []uint64
			Collectives                           []Collective
			Marks                                 []Mark
			MarkCounts                            [][]int64
			Lanes                                 []Lane
			Transfers                             []Transfer
		}{
			b.Ring, b.First, b.Origin, b.Chunk, b.FirstMark, b.Unfinished, b.Rows, b.Events, b.Epoch,
			b.Sites, b.Site[:b.Rows], b.Burst[:b.Rows], b.Call[:b.Rows], nil, b.NoBurst, b.Paused, b.NoCounts, b.PollsRow, b.NotRead, b.Polls,
			b.GapsBefore, b.GapsInside, b.Collectives, b.Marks, b.MarkCounts, b.Lanes, b.Transfers,
		}
		for k := range b.Events {
			x.Counts = append(x.Counts, b.Counts[k][:b.Rows])
		}
		return x
	}
	return cmp.Diff(view(a), view(b), cmpopts.EquateEmpty())
}

// What is encoded is decoded, calls and moves, by an encoder and a decoder that have had others before.
func TestBlocks(t *testing.T) {
	e, d, s, got := new(Encoder), new(Decoder), new(Section), new(Block)
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t)
		bytes := e.Calls(nil, b)
		calls := len(bytes)
		bytes = e.Moves(bytes, b)
		rest, err := s.Read(bytes)
		if err != nil || len(rest) != len(bytes)-calls {
			t.Fatalf("%v, %d bytes left of %d", err, len(rest), len(bytes))
		}
		if err := d.Calls(s, b.Events, got); err != nil {
			t.Fatal(err)
		}
		if diff := sameBlocks(reduced(b, false), got); diff != "" {
			t.Fatal(diff)
		}
		if err := d.Frame(s, b.Events, got); err != nil {
			t.Fatal(err)
		}
		if err := sameTicks(d, s, got); err != nil {
			t.Fatal(err)
		}
		if rest, err = s.Read(rest); err != nil || len(rest) > 0 {
			t.Fatalf("%v, %d bytes left", err, len(rest))
		}
		if err := d.Moves(s, got); err != nil {
			t.Fatal(err)
		}
		if diff := sameBlocks(reduced(b, true), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A clone is the block, and is that still when the block's memory is used again.
func TestClone(t *testing.T) {
	e := new(Encoder)
	encoded := func(b *Block) []byte { return e.Moves(e.Calls(nil, b), b) }
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t)
		want := encoded(b)
		clone := b.Clone()
		if diff := sameBlocks(b, clone); diff != "" {
			t.Fatal(diff)
		}
		for _, counts := range b.Counts {
			clear(counts)
		}
		for fields, i := reflect.ValueOf(b).Elem(), 0; i < fields.NumField(); i++ {
			if f := fields.Field(i); f.Kind() == reflect.Slice {
				f.Clear()
			}
		}
		if !bytes.Equal(encoded(clone), want) {
			t.Fatal("the clone has changed with the block")
		}
	})
}

// Whatever bit is wrong, it is seen.
func TestChecksum(t *testing.T) {
	b := new(Block)
	b.Sites = []Site{{1, 2}}
	b.Grow(3, 0)
	bytes := new(Encoder).Calls(nil, b)
	for i := range bytes {
		for bit := range 8 {
			bytes[i] ^= 1 << bit
			if _, err := new(Section).Read(bytes); !errors.Is(err, ErrCorrupt) {
				t.Errorf("byte %d, bit %d: %v", i, bit, err)
			}
			bytes[i] ^= 1 << bit
		}
	}
}
