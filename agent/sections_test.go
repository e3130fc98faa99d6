package agent

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// drawBlocks is what a commit has of a ring from a row on.
func drawBlocks(t *rapid.T, ring, first uint64) (list []*section.Block, rows uint64) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), ring))
	origin := random.Uint64N(1 << 50)
	for range rapid.IntRange(0, 3).Draw(t, "blocks") {
		b := &section.Block{Ring: ring, First: first + rows, Origin: origin}
		b.Grow(0, 2)
		for i := range uint32(rapid.IntRange(1, 300).Draw(t, "rows")) {
			site := section.Site{Function: uint16(1 + random.Uint32N(3)), Path: random.Uint32N(5)}
			number := slices.Index(b.Sites, site)
			if number < 0 {
				number = len(b.Sites)
				b.Sites = append(b.Sites, site)
			}
			row := b.Append(uint16(number), random.Uint64N(1000), random.Uint64N(1000))
			origin += b.Burst[row] + b.Call[row]
			some := func(list *[]uint32) bool {
				yes := random.IntN(10) == 0
				if yes {
					*list = append(*list, i)
				}
				return yes
			}
			if some(&b.NoBurst) {
				some(&b.Paused)
			}
			if some(&b.PollsRow) {
				b.Polls = append(b.Polls, 2+random.Uint64N(100))
			}
			without := some(&b.NoCounts)
			for k := range b.Events {
				if b.Counts[k][row] = random.Int64N(1 << 30); !without && random.IntN(20) == 0 {
					b.NotRead = append(b.NotRead, section.NotRead{Row: i, Event: uint8(k)})
				}
			}
			if random.IntN(4) == 0 {
				b.Collectives = append(b.Collectives, section.Collective{
					Row: i, Comm: random.Uint32N(3), Ordinal: random.Uint64N(1000), Root: random.Int32N(4) - 1, Sent: random.Uint64N(1000), Received: 8,
				})
			}
		}
		rows += uint64(b.Rows)
		for range rapid.SampledFrom([]int{0, 0, 3, section.MaxRows}).Draw(t, "marks") {
			switch at := origin + random.Uint64N(5000); { // some in rows, in order
			case len(b.Marks) > 0 && at < b.Marks[len(b.Marks)-1].Ticks:
				b.AddMark(section.Mark{Ticks: b.Marks[len(b.Marks)-1].Ticks, What: section.Event, Name: random.Uint32N(3), Value: random.Int64()}, nil)
			case random.IntN(2) == 0:
				b.AddMark(section.Mark{Ticks: at, What: section.BeginPhase, Name: random.Uint32N(3)}, nil)
			default:
				b.AddMark(section.Mark{Ticks: at, What: section.EndPhase, Name: random.Uint32N(3)}, []int64{random.Int64(), int64(len(b.Marks))})
			}
		}
		b.FirstMark = 4
		if rapid.Bool().Draw(t, "gaps") {
			b.GapsBefore, b.GapsInside = []uint64{first, first + rows}, []uint64{first}
		}
		list = append(list, b)
	}
	if len(list) > 0 {
		list[len(list)-1].Unfinished = rapid.Bool().Draw(t, "unfinished")
	}
	return list, rows
}

// A said is what blocks say of a row of a ring, or beside its rows.
type said struct {
	Ring              uint64
	Row               sectiontest.Row
	Number            uint64 // of the mark
	Mark              section.Mark
	Counts            []int64 // of the mark
	GapBefore, GapsIn []uint64
}

// saidBy puts down blocks row by row.
func saidBy(blocks []*section.Block) (rows, beside []said) {
	for _, b := range blocks {
		for _, row := range sectiontest.RowsOf(b) {
			rows = append(rows, said{Ring: b.Ring, Row: row})
		}
		b.EachMark(func(i int, m *section.Mark, counts []int64) {
			beside = append(beside, said{Ring: b.Ring, Number: b.FirstMark + uint64(i), Mark: *m, Counts: slices.Clone(counts)})
		})
		if len(b.GapsBefore)+len(b.GapsInside) > 0 {
			beside = append(beside, said{Ring: b.Ring, GapBefore: b.GapsBefore, GapsIn: b.GapsInside})
		}
	}
	return rows, beside
}

// Sections of blocks say what the blocks do. What they name is defined before them, what names their rows comes behind.
// Where blocks are cut at rows, no section has rows on both sides.
func TestSectionsOfBlocks(t *testing.T) {
	packer, decoder := new(packer), new(section.Decoder)
	rapid.Check(t, func(t *rapid.T) {
		var blocks []*section.Block
		for ring := range uint64(rapid.IntRange(1, 3).Draw(t, "rings")) {
			list, _ := drawBlocks(t, ring+1, 1000*ring)
			blocks = append(blocks, list...)
		}
		end := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 1}}}
		path := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Path: 3}}}
		messages := []*moriensv1.ReportRequest{end, path}
		every := uint64(rapid.SampledFrom([]int{0, 0, 1, 7, 100}).Draw(t, "cut every"))
		var at cuts
		if every > 0 {
			at = func(_, first, behind uint64) (rows []uint64) {
				for row := first/every*every + every; row < behind; row += every {
					rows = append(rows, row)
				}
				return append(rows, behind)
			}
		}
		wantRows, wantBeside := saidBy(blocks)
		p := packer.pack(messages, blocks, at)
		compared := []byte{1}
		var kept []byte
		for _, rows := range p.rows {
			kept = append(kept, rows.Section...)
		}
		for _, stay := range []bool{false, true} {
			sent := p.messages(stay, compared)
			if stay && len(sent) != 2 || sent[0] != path || sent[len(sent)-1] != end || !stay && !slices.Equal(sent[len(sent)-2].GetSections(), compared) {
				t.Fatalf("stay %t: %d messages, first %T, last %T", stay, len(sent), sent[0].Body, sent[len(sent)-1].Body)
			}
			var bytes []byte
			for _, m := range sent[1 : len(sent)-1] {
				bytes = append(bytes, m.GetSections()...)
			}
			if !stay && !slices.Equal(bytes[:len(bytes)-1], kept) {
				t.Fatal("the messages have other sections")
			}
		}
		var got []*section.Block
		for _, rows := range p.rows {
			x, b := new(section.Section), new(section.Block)
			if _, err := x.Read(rows.Section); err != nil {
				t.Fatal(err)
			}
			if err := decoder.Calls(x, x.Events(), b); err != nil {
				t.Fatal(err)
			}
			if b.Ring != rows.Ring || b.First != rows.First {
				t.Fatalf("a section of ring %d, row %d has ring %d, row %d", rows.Ring, rows.First, b.Ring, b.First)
			}
			if every > 0 && b.First/every != (b.First+uint64(b.Rows)-1)/every {
				t.Fatalf("%d rows from %d, cut every %d", b.Rows, b.First, every)
			}
			got = append(got, b)
		}
		rows, beside := saidBy(got)
		if d := cmp.Diff(wantRows, rows, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(wantBeside, beside, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// Gaps are in the latest block of their ring; of a ring without one in a block behind its rows, or where they are if
// the ring is gone.
func TestGapsHaveBlocks(t *testing.T) {
	o := &outgoing{blocks: []*section.Block{{Ring: 1, First: 5}, {Ring: 2, First: 6}, {Ring: 1, First: 7}}}
	o.gaps = []gap{{1, 6, false}, {2, 3, true}, {3, 9, false}, {3, 8, true}, {1, 7, true}, {4, 11, true}}
	o.place(func(ring uint64) (uint64, bool) { return 99, ring == 3 })
	want := []*section.Block{
		{Ring: 1, First: 5}, {Ring: 2, First: 6, GapsInside: []uint64{3}}, {Ring: 1, First: 7, GapsBefore: []uint64{6}, GapsInside: []uint64{7}},
		{Ring: 3, First: 99, GapsBefore: []uint64{9}, GapsInside: []uint64{8}}, {Ring: 4, First: 11, GapsInside: []uint64{11}},
	}
	if d := cmp.Diff(want, o.blocks, cmpopts.IgnoreUnexported(section.Block{})); d != "" || len(o.gaps) > 0 {
		t.Errorf("%d gaps wait; -want +got:\n%s", len(o.gaps), d)
	}
}

// However much a transaction has, no message is much larger than sectionBytes.
func TestMessagesOfSectionsAreBounded(t *testing.T) {
	e, b := new(section.Encoder), new(section.Block)
	b.Ring, b.Sites = 1, []section.Site{{Function: 1}}
	b.Grow(section.MaxRows, 0)
	for i := range b.Rows {
		b.Burst[i], b.Call[i] = uint64(i)*0x9e3779b97f4a7c15, uint64(i)*0x2545f4914f6cdd1d
	}
	var p packed
	for range 100 {
		p.bytes = e.Calls(p.bytes, b)
	}
	compared := slices.Clone(p.bytes)
	var got []byte
	messages := p.messages(false, compared)
	for _, m := range messages {
		if n := len(m.GetSections()); n > 2*sectionBytes || n == 0 {
			t.Errorf("a message of %d bytes", n)
		}
		got = append(got, m.GetSections()...)
	}
	if len(messages) < 10 || !slices.Equal(got, slices.Concat(p.bytes, compared)) {
		t.Errorf("%d messages have %d bytes of %d", len(messages), len(got), 2*len(compared))
	}
}
