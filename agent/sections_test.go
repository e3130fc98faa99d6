package agent

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"moriens/internal/section"
	"moriens/internal/shmabi"
	moriensv1 "moriens/proto/moriens/v1"
)

// drawMessages is what a commit has of a ring from a row on.
func drawMessages(t *rapid.T, ring, first uint64) (list []*moriensv1.ReportRequest, rows uint64) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), ring))
	add := func(m *moriensv1.ReportRequest) { list = append(list, m) }
	events := 2
	for range rapid.IntRange(0, 3).Draw(t, "messages") {
		c := &moriensv1.Calls{Ring: ring, First: first + rows, OriginTicks: random.Uint64N(1 << 50)}
		for range events {
			c.Counts = append(c.Counts, new(moriensv1.Counts))
		}
		x, last := &moriensv1.Collectives{Ring: ring}, uint64(0)
		for i := range uint32(rapid.IntRange(1, 300).Draw(t, "rows")) {
			c.BurstTicks, c.CallTicks = append(c.BurstTicks, random.Uint64N(1000)), append(c.CallTicks, random.Uint64N(1000))
			c.Function, c.Path = append(c.Function, 1+random.Uint32N(3)), append(c.Path, random.Uint32N(5))
			some := func(list *[]uint32) bool {
				yes := random.IntN(10) == 0
				if yes {
					*list = append(*list, i)
				}
				return yes
			}
			if some(&c.NoBurst) {
				some(&c.Paused)
			}
			if some(&c.PollsRow) {
				c.Polls = append(c.Polls, 2+random.Uint64N(100))
			}
			if !some(&c.NoCounts) {
				for k := range c.Counts {
					value := random.Int64N(1 << 30)
					if random.IntN(20) == 0 {
						value = shmabi.NoCount
					}
					c.Counts[k].Value = append(c.Counts[k].Value, value)
				}
			}
			if random.IntN(4) == 0 {
				row := c.First + uint64(i)
				x.Row, last = append(x.Row, int64(row-last)), row
				x.Comm, x.Ordinal, x.Root = append(x.Comm, random.Uint32N(3)), append(x.Ordinal, random.Uint64N(1000)), append(x.Root, random.Int32N(4)-1)
				x.Sent, x.Received = append(x.Sent, random.Uint64N(1000)), append(x.Received, 8)
			}
		}
		rows += uint64(len(c.Function))
		add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: c}})
		if len(x.Row) > 0 {
			add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: x}})
		}
	}
	if n := rapid.SampledFrom([]int{0, 0, 3, 3, 3, 3, 3, section.MaxRows + 5}).Draw(t, "marks"); n > 0 {
		m := &moriensv1.Marks{Ring: ring, First: 4, OriginTicks: 77}
		for i := range n {
			m.Ticks, m.Name = append(m.Ticks, uint64(min(i, 1))*random.Uint64N(9)), append(m.Name, random.Uint32N(3))
			m.What = append(m.What, moriensv1.Marks_What(1+random.IntN(3)))
			if m.What[i] == moriensv1.Marks_WHAT_EVENT {
				m.Value = append(m.Value, random.Int64())
			}
		}
		add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: m}})
	}
	if rapid.Bool().Draw(t, "gaps") {
		add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: &moriensv1.Gaps{Ring: ring, Before: []uint64{first, first + rows}}}})
	}
	return list, rows
}

// joined puts the messages of one kind and ring together, as far as they follow each other.
func joined(list []*moriensv1.ReportRequest) (calls []*moriensv1.Calls, collectives [][]int64, marks [][]any, gaps []*moriensv1.Gaps) {
	ticks := make(map[uint64]uint64)
	for _, m := range list {
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Calls:
			calls = append(calls, b.Calls)
		case *moriensv1.ReportRequest_Collectives:
			row := int64(0)
			for i, d := range b.Collectives.Row {
				row += d
				x := b.Collectives
				collectives = append(collectives, []int64{int64(x.Ring), row, int64(x.Comm[i]), int64(x.Ordinal[i]), int64(x.Sent[i]), int64(x.Received[i]), int64(x.Root[i])})
			}
		case *moriensv1.ReportRequest_Marks:
			x, values := b.Marks, b.Marks.Value
			ticks[x.Ring] = x.OriginTicks
			for i := range x.Ticks {
				ticks[x.Ring] += x.Ticks[i]
				mark := []any{x.Ring, x.First + uint64(i), ticks[x.Ring], x.What[i], x.Name[i]}
				if x.What[i] == moriensv1.Marks_WHAT_EVENT {
					mark, values = append(mark, values[0]), values[1:]
				}
				marks = append(marks, mark)
			}
		case *moriensv1.ReportRequest_Gaps:
			gaps = append(gaps, b.Gaps)
		}
	}
	return calls, collectives, marks, gaps
}

// Of the sections of messages the same messages can be made, and what they name is defined before, what names them
// comes behind. Where sections are cut at rows, none has rows on both sides.
func TestSectionsOfMessages(t *testing.T) {
	s := newSectioner()
	rapid.Check(t, func(t *rapid.T) {
		var messages []*moriensv1.ReportRequest
		ends := make(map[uint64]uint64)
		for ring := range uint64(rapid.IntRange(1, 3).Draw(t, "rings")) {
			list, rows := drawMessages(t, ring+1, 1000*ring)
			messages = append(messages, list...)
			ends[ring+1] = 1000*ring + rows
		}
		end := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 1, Calls: ends[1]}}}
		path := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Path: 3}}}
		messages = slices.Insert(messages, rapid.IntRange(0, len(messages)).Draw(t, "at"), end, path)
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
		p := s.pack(messages, func(ring uint64) uint64 { return ends[ring] }, at)
		compared := []byte{1}
		for _, stay := range []bool{false, true} {
			sent := p.messages(stay, compared)
			if stay && len(sent) != 2 || sent[0] != path || sent[len(sent)-1] != end || !stay && !slices.Equal(sent[len(sent)-2].GetSections(), compared) {
				t.Fatalf("stay %t: %d messages, first %T, last %T", stay, len(sent), sent[0].Body, sent[len(sent)-1].Body)
			}
			var bytes []byte
			for _, m := range sent[1 : len(sent)-1] {
				bytes = append(bytes, m.GetSections()...)
			}
			if !stay && !slices.Equal(bytes[:len(bytes)-1], slices.Concat(p.sections...)) {
				t.Fatal("the messages have other sections")
			}
		}
		var got []*moriensv1.ReportRequest
		for _, rows := range p.rows() {
			list, err := newSectioner().unpack(rows.Section)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				if c := m.GetCalls(); c != nil && (c.Ring != rows.Ring || c.First != rows.First) {
					t.Fatalf("a section of ring %d, row %d has ring %d, row %d", rows.Ring, rows.First, c.Ring, c.First)
				}
				if c := m.GetCalls(); c != nil && every > 0 && c.First/every != (c.First+uint64(len(c.Function))-1)/every {
					t.Fatalf("%d rows from %d, cut every %d", len(c.Function), c.First, every)
				}
			}
			got = append(got, list...)
		}
		same := func(want, got any) {
			t.Helper()
			if d := diff.Diff(want, got, protocmp.Transform(), cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
		wantCalls, wantCollectives, wantMarks, wantGaps := joined(messages)
		gotCalls, gotCollectives, gotMarks, gotGaps := joined(got)
		byRing := func(a, b []int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
		slices.SortFunc(wantCollectives, byRing)
		slices.SortFunc(gotCollectives, byRing)
		same(spread(wantCalls), spread(gotCalls))
		same(wantCollectives, gotCollectives)
		same(wantMarks, gotMarks)
		same(wantGaps, gotGaps)
		if every == 0 {
			same(wantCalls, gotCalls)
		}
	})
}

// spread is the rows of calls, one by one.
func spread(list []*moriensv1.Calls) (rows [][]any) {
	for _, c := range list {
		origin, values := c.OriginTicks, 0
		for i := range c.Function {
			row := []any{c.Ring, c.First + uint64(i), origin, c.BurstTicks[i], c.CallTicks[i], c.Function[i], c.Path[i]}
			origin += c.BurstTicks[i] + c.CallTicks[i]
			_, noBurst := slices.BinarySearch(c.NoBurst, uint32(i))
			_, paused := slices.BinarySearch(c.Paused, uint32(i))
			row = append(row, noBurst, paused)
			if k, polls := slices.BinarySearch(c.PollsRow, uint32(i)); polls {
				row = append(row, c.Polls[k])
			}
			if _, without := slices.BinarySearch(c.NoCounts, uint32(i)); !without {
				for _, counts := range c.Counts {
					row = append(row, counts.Value[values])
				}
				values++
			}
			rows = append(rows, row)
		}
	}
	return rows
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
