package store

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

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

// planted is a block of rows from one on, and what says the same in messages.
func planted(seed, first uint64, rows int) (*section.Block, []*moriensv1.ReportRequest) {
	random := rand.New(rand.NewPCG(seed, 1))
	functions := []mpicall.ID{mpicall.Send, mpicall.Recv, mpicall.Allreduce}
	b := &section.Block{Ring: 2, First: first, Origin: 7 + 1_000_000*first, Rows: rows, Events: 1}
	c := &moriensv1.Calls{Ring: 2, First: first, OriginTicks: b.Origin, Counts: []*moriensv1.Counts{{}}}
	x, last := &moriensv1.Collectives{Ring: 2}, uint64(0)
	for i := range min(rows, len(functions)) {
		b.Sites = append(b.Sites, section.Site{Function: uint16(functions[i]), Path: uint32(i % 2)})
	}
	for row := range rows {
		site := row % len(functions)
		b.Site[row], b.Burst[row], b.Call[row] = uint16(site), random.Uint64N(1000), random.Uint64N(1000)
		c.BurstTicks, c.CallTicks = append(c.BurstTicks, b.Burst[row]), append(c.CallTicks, b.Call[row])
		c.Function, c.Path = append(c.Function, uint32(functions[site])), append(c.Path, uint32(site%2))
		switch random.IntN(8) {
		case 0:
			b.NoBurst, c.NoBurst = append(b.NoBurst, uint32(row)), append(c.NoBurst, uint32(row))
			b.Paused, c.Paused = append(b.Paused, uint32(row)), append(c.Paused, uint32(row))
		case 1:
			b.NoCounts, c.NoCounts = append(b.NoCounts, uint32(row)), append(c.NoCounts, uint32(row))
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
		c.Counts[0].Value = append(c.Counts[0].Value, count)
		if site == 2 {
			b.Collectives = append(b.Collectives, section.Collective{Row: uint32(row), Comm: 1, Root: -1, Ordinal: first + uint64(row), Sent: 8, Received: 16})
			at := first + uint64(row)
			x.Row, x.Comm, x.Root, last = append(x.Row, int64(at-last)), append(x.Comm, 1), append(x.Root, -1), at
			x.Ordinal, x.Sent, x.Received = append(x.Ordinal, at), append(x.Sent, 8), append(x.Received, 16)
		}
	}
	messages := []*moriensv1.ReportRequest{{Body: &moriensv1.ReportRequest_Calls{Calls: c}}}
	if len(x.Row) > 0 {
		messages = append(messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: x}})
	}
	b.Marks = []section.Mark{{Ticks: b.Origin, What: section.BeginPhase, Name: 1}, {Ticks: b.Origin + 5, What: section.Event, Value: -3}}
	b.FirstMark = 2 * seed
	messages = append(messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: &moriensv1.Marks{
		Ring: 2, First: 2 * seed, OriginTicks: b.Origin, Ticks: []uint64{0, 5}, What: []moriensv1.Marks_What{1, 3}, Name: []uint32{1, 0}, Value: []int64{-3},
	}}})
	b.GapsBefore, b.GapsInside = []uint64{first + uint64(rows)}, []uint64{first}
	messages = append(messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: &moriensv1.Gaps{Ring: 2, Before: b.GapsBefore, Inside: b.GapsInside}}})
	return b, messages
}

func sections(blocks ...*section.Block) *moriensv1.ReportRequest {
	var bytes []byte
	e := new(section.Encoder)
	for _, b := range blocks {
		bytes = e.Calls(bytes, b)
	}
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: bytes}}
}

// A store that has taken sections holds what one holds that has taken the same in messages.
func TestSectionsAreTheirMessages(t *testing.T) {
	byMessages, bySections := described(t), described(t)
	first := uint64(0)
	for seed, rows := range []int{1, 100, 2000, section.MaxRows} {
		b, messages := planted(uint64(seed), first, rows)
		first += uint64(rows)
		for _, m := range messages {
			byMessages.must(m)
		}
		bySections.must(sections(b))
	}
	for _, s := range []*agentStub{byMessages, bySections} {
		s.agent.last, s.store.reader = 0, nil
	}
	if d := cmp.Diff(byMessages.store, bySections.store, protocmp.Transform(), cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(func(p cmp.Path) bool {
			f, isField := p.Last().(cmp.StructField)
			return isField && slices.Contains([]string{"mu", "left", "streams", "safe", "first"}, f.Name())
		}, cmp.Ignore())); d != "" {
		t.Error(d)
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
		{"counts of 2 events", func(b *section.Block) { b.Events = 2 }, false},
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
		before, _ := planted(0, 0, 10)
		bad, _ := planted(1, 10, 10)
		behind, _ := planted(1, 10, 10)
		if tt.rows {
			behind, _ = planted(2, 20, 10)
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
	one, _ := planted(0, 0, 10)
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
	one, _ := planted(0, 0, 10)
	two, _ := planted(1, 10, 10)
	m := sections(one, two)
	m.GetSections()[len(sections(one).GetSections())+20]++
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
