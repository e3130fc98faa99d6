package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// described is a stub that has said who its rank is.
func described(t *testing.T) *agentStub {
	s := newStub(t)
	for _, m := range session()[:5] {
		s.must(m)
	}
	for _, m := range session()[7:9] {
		s.must(m)
	}
	return s
}

// planted is a block of rows from one on, and what a store should hold of it: the rows without the numbers of their
// call paths.
func planted(seed, first uint64, rows int) (*section.Block, *Ring, *Calls) {
	random := rand.New(rand.NewPCG(seed, 1))
	functions := []mpicall.ID{mpicall.Send, mpicall.Recv, mpicall.Allreduce}
	b := &section.Block{Ring: 2, First: first, Origin: 7 + 1_000_000*first}
	b.Grow(rows, 1)
	c, x := &Calls{Counts: [][]int64{{}}}, Collectives{}
	for i := range min(rows, len(functions)) {
		b.Sites = append(b.Sites, section.Site{Function: uint16(functions[i]), Path: uint32(i % 2)})
	}
	for row := range rows {
		site := row % len(functions)
		b.Site[row], b.Burst[row], b.Call[row] = uint16(site), random.Uint64N(1000), random.Uint64N(1000)
		c.Burst, c.Call = append(c.Burst, b.Burst[row]), append(c.Call, b.Call[row])
		switch random.IntN(8) {
		case 0:
			b.NoBurst, c.NoBurst = append(b.NoBurst, uint32(row)), append(c.NoBurst, uint32(row))
			b.Paused, c.Paused = append(b.Paused, uint32(row)), append(c.Paused, uint32(row))
		case 1:
			b.NoCounts, c.Counts[0] = append(b.NoCounts, uint32(row)), append(c.Counts[0], trace.NoCount)
			continue
		case 2:
			b.PollsRow, c.PollsRow = append(b.PollsRow, uint32(row)), append(c.PollsRow, uint32(row))
			b.Polls, c.Polls = append(b.Polls, 5), append(c.Polls, 5)
		}
		count := random.Int64N(1000)
		if random.IntN(9) == 0 {
			b.NotRead, count = append(b.NotRead, section.NotRead{Row: uint32(row)}), trace.NoCount
		}
		b.Counts[0][row] = count
		c.Counts[0] = append(c.Counts[0], count)
		if site == 2 {
			at := first + uint64(row)
			b.Collectives = append(b.Collectives, section.Collective{Row: uint32(row), Comm: 1, Root: -1, Ordinal: at, Sent: 8, Received: 16})
			x.Row, x.Comm, x.Root = append(x.Row, uint32(at)), append(x.Comm, 1), append(x.Root, -1)
			x.Ordinal, x.Sent, x.Received = append(x.Ordinal, at), append(x.Sent, 8), append(x.Received, 16)
		}
	}
	b.Marks = []section.Mark{{Ticks: b.Origin, What: section.BeginPhase, Name: 1}, {Ticks: b.Origin + 5, What: section.Event, Value: -3}}
	b.FirstMark = 2 * seed
	b.GapsBefore, b.GapsInside = []uint64{first + uint64(rows)}, []uint64{first}
	held := &Ring{
		Calls: uint64(rows), Gaps: Gaps{Before: b.GapsBefore, Inside: b.GapsInside},
		Marks: []MarkChunk{{Origin: b.Origin, Ticks: []uint64{0, 5}, What: []MarkKind{BeginPhase, Event}, Name: []uint32{1, 0}, Value: []int64{-3}}},
	}
	if len(x.Row) > 0 {
		held.Collectives = []Collectives{x}
	}
	return b, held, c
}

// A store holds what the blocks were that the sections were made of.
func TestSectionsHold(t *testing.T) {
	s := described(t)
	var want Ring
	var totals Totals
	var rowsOf []*Calls
	origins, ticks := []uint64{}, uint64(0)
	for seed, rows := range []int{1, 100, 2000, section.MaxRows} {
		b, held, c := planted(uint64(seed), want.Calls, rows)
		s.must(sections(b))
		for row := range rows {
			site := b.Sites[b.Site[row]]
			c.Path = append(c.Path, s.store.Path(1, uint32(site.Function), site.Path))
			ticks += c.Burst[row] + c.Call[row]
		}
		totals.Calls += uint64(rows + 4*len(c.Polls))
		totals.Bursts += uint64(rows - len(c.NoBurst))
		want.Calls += held.Calls
		rowsOf, origins = append(rowsOf, c), append(origins, b.Origin)
		want.Collectives, want.Marks = append(want.Collectives, held.Collectives...), append(want.Marks, held.Marks...)
		want.Gaps.Before, want.Gaps.Inside = append(want.Gaps.Before, held.Gaps.Before...), append(want.Gaps.Inside, held.Gaps.Inside...)
	}
	r := s.store.rings[2]
	got := Ring{Calls: r.Calls, Collectives: r.Collectives, Marks: r.Marks, Gaps: r.Gaps}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Ring{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	reader := new(Reader)
	if len(r.Chunks) != len(rowsOf) {
		t.Fatalf("%d chunks", len(r.Chunks))
	}
	for i := range r.Chunks {
		c, want := &r.Chunks[i], rowsOf[i]
		last := len(want.Path) - 1
		if c.Origin != origins[i] || c.Rows != last+1 || c.Bursts() != c.Rows-len(want.NoBurst) || c.LastPath != want.Path[last] || c.LastCall != want.Call[last] {
			t.Errorf("chunk %d: %+v", i, c)
		}
		if got := reader.Paths(c); !slices.Equal(got.Path, want.Path) || !slices.Equal(got.NoBurst, want.NoBurst) {
			t.Errorf("chunk %d: paths %v, no bursts %v", i, got.Path, got.NoBurst)
		}
		if got := reader.Ticks(c); !slices.Equal(got.Burst, want.Burst) || !slices.Equal(got.Call, want.Call) {
			t.Errorf("chunk %d: bursts %v, calls %v", i, got.Burst, got.Call)
		}
		if d := cmp.Diff(want, reader.Calls(c), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("chunk %d: %s", i, d)
		}
	}
	if x := s.store.Totals(); x.Calls != totals.Calls || x.Bursts != totals.Bursts || x.Refused != 0 || r.ticks != ticks || r.origin != 7 || r.marks != 8 {
		t.Errorf("%+v, want %+v; %d ticks from %d on, want %d from 7 on; %d marks", x, totals, r.ticks, r.origin, ticks, r.marks)
	}
	paths := make(map[uint32]bool)
	for _, path := range rowsOf[1].Path {
		paths[path] = true
	}
	if len(paths) != 3 || paths[0] {
		t.Errorf("three sites have the numbers %v", paths)
	}
}

// Of a section whose rows cannot be true nothing is taken, and those beside it in its message are; other damage costs
// what is damaged, and no rows.
func TestSectionsRefused(t *testing.T) {
	for _, tt := range []struct {
		want  string
		spoil func(b *section.Block)
		rows  bool // remain
	}{
		{"unknown ring", func(b *section.Block) { b.Ring = 3 }, false},
		{"follows call", func(b *section.Block) { b.First += 2 }, false},
		{"unknown MPI function", func(b *section.Block) { b.Sites[0].Function = 60000 }, false},
		{"call path 9 is not defined", func(b *section.Block) { b.Sites[0].Path = 9 }, false},
		{"ticks overflow", func(b *section.Block) { b.Burst[3] = 1 << 63 }, false},
		{"ticks overflow", func(b *section.Block) { b.Burst[3], b.Call[3] = maxTicks, 1 }, false},
		{"ticks overflow", func(b *section.Block) { b.Origin = maxTicks }, false},
		{"paused and has a burst", func(b *section.Block) { b.NoBurst, b.Paused = nil, []uint32{1} }, false},
		{"a run of 1 polls", func(b *section.Block) { b.PollsRow, b.Polls = []uint32{1}, []uint64{1} }, false},
		{"counts of 0 events", func(b *section.Block) { b.Events, b.NotRead = 0, nil }, false},
		{"counts of 2 events", func(b *section.Block) { b.Grow(b.Rows, 2) }, false},
		{"ends inside a call", func(b *section.Block) { *b = section.Block{Ring: 2, First: 10, Unfinished: true} }, false},
		{"communicator 7 is not defined", func(b *section.Block) { b.Collectives = []section.Collective{{Row: 1, Comm: 7}} }, true},
		{"no peer 5", func(b *section.Block) { b.Collectives = []section.Collective{{Row: 1, Comm: 1, Root: 5}} }, true},
		{"and 9223372036854775808 bytes", func(b *section.Block) { b.Collectives = []section.Collective{{Row: 1, Comm: 1, Received: 1 << 63}} }, true},
		{"number 18446744073709551600", func(b *section.Block) {
			b.Collectives = []section.Collective{{Row: 1, Comm: 1, Ordinal: math.MaxUint64 - 15}}
		}, true},
		{"name 4 is not defined", func(b *section.Block) { b.Marks[0].Name = 4 }, true},
		{"ticks overflow", func(b *section.Block) { b.Marks[1].Ticks = 1 }, true},
		{"a gap before row 99 of", func(b *section.Block) { b.GapsBefore = []uint64{99} }, true},
		{"a gap in row 20 of", func(b *section.Block) { b.GapsInside = []uint64{20} }, true},
	} {
		s := described(t)
		before, _, _ := planted(0, 0, 10)
		bad, _, _ := planted(1, 10, 10)
		behind, _, _ := planted(1, 10, 10)
		if tt.rows {
			behind, _, _ = planted(2, 20, 10)
		}
		tt.spoil(bad)
		err := s.apply(sections(before, bad, behind))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "ring ") != 1 {
			t.Errorf("%v, want %q", err, tt.want)
		}
		rows := behind.First + 10
		if total := s.store.Totals(); total.Refused != 1 || s.store.rings[2].Calls != rows {
			t.Errorf("%s: %+v, %d rows, want %d", tt.want, total, s.store.rings[2].Calls, rows)
		}
	}
}

// A gap may be known later than the end of its ring.
func TestGapBehindTheEnd(t *testing.T) {
	s := described(t)
	one, _, _ := planted(0, 0, 10)
	s.must(sections(one))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 2, Calls: 10, Marks: 2}}})
	s.must(sections(&section.Block{Ring: 2, GapsInside: []uint64{4}}))
	if got := s.store.rings[2].Gaps.Inside; !slices.Equal(got, []uint64{0, 4}) {
		t.Errorf("gaps inside %v", got)
	}
}

// Behind bytes that are no section nothing of the message is taken; a ring that has ended takes none.
func TestSectionsDamaged(t *testing.T) {
	s := described(t)
	one, _, _ := planted(0, 0, 10)
	two, _, _ := planted(1, 10, 10)
	m := sections(one, two)
	m.GetSections()[len(sectiontest.Calls(one))+20]++
	if err := s.apply(m); err == nil || !strings.Contains(err.Error(), "checksum") || s.store.rings[2].Calls != 10 {
		t.Errorf("%v, %d rows", err, s.store.rings[2].Calls)
	}
	unknown := sections(two)
	unknown.GetSections()[8] = 3
	sectiontest.Seal(unknown.GetSections())
	if err := s.apply(unknown); err == nil || !strings.Contains(err.Error(), "kind 3") {
		t.Error(err)
	}
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 2, Calls: 10, Marks: 2}}})
	if err := s.apply(sections(two)); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Error(err)
	}
}

// Of whatever section rows are taken, they can be read, and their sums are right: nothing is found to be wrong later.
func TestWhatIsTakenCanBeRead(t *testing.T) {
	reader := new(Reader)
	whole := make([][]byte, 4)
	for i := range whole {
		b, _, _ := planted(uint64(i), 0, 10+70*i)
		b.FirstMark = 0
		whole[i] = sectiontest.Calls(b)
	}
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		bytes := slices.Clone(rapid.SampledFrom(whole).Draw(rt, "section"))
		if rapid.Bool().Draw(rt, "without") {
			bytes = sectiontest.Without(bytes, rapid.SampledFrom([]byte{1, 2, 3, 4, 31, 64}).Draw(rt, "column"))
		}
		for range rapid.IntRange(0, 3).Draw(rt, "wrong bytes") {
			bytes[rapid.IntRange(32, len(bytes)-9).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		sectiontest.Seal(bytes)
		s := described(t)
		_ = s.apply(sectiontest.Message(bytes)) // it may be refused
		r := s.store.rings[2]
		if len(r.Chunks) == 0 {
			return
		}
		taken++
		c := &r.Chunks[0]
		x := reader.Calls(c)
		checkSums(rt, c, x, s.store.Places(), 0)
		if last := c.Rows - 1; c.LastPath != x.Path[last] || c.LastCall != x.Call[last] || uint64(c.Rows) != r.Calls || r.ticks != c.Span || c.Bursts() != c.Rows-len(x.NoBurst) {
			rt.Fatalf("%+v, of a ring of %d rows and %d ticks", c, r.Calls, r.ticks)
		}
	})
	if taken == 0 {
		t.Error("nothing was ever taken")
	}
}
