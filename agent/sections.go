package agent

import (
	"cmp"
	"slices"

	"moriens/agent/window"
	"moriens/internal/section"
	"moriens/internal/shmabi"
	moriensv1 "moriens/proto/moriens/v1"
)

// sectionBytes is from how many bytes on sections begin another message.
const sectionBytes = 1 << 20

// cuts are the rows of a ring at which another section begins, and the one behind the last of them.
type cuts func(ring, first, behind uint64) []uint64

// A sectioner makes sections of what rings have recorded.
type sectioner struct {
	block   section.Block
	encoder section.Encoder
	sites   map[section.Site]uint16 // of the block
	next    []uint16                // the site that followed each the last time; first, the one after none
	rings   map[uint64]*recorded    // of the messages at hand
	order   []*recorded
	bytes   []byte // of the latest sections
}

// recorded is what messages have of a ring.
type recorded struct {
	ring     uint64
	rows     uint64 // behind all of it
	calls    []*moriensv1.Calls
	meetings []*moriensv1.Collectives
	marks    []*moriensv1.Marks
	gaps     []*moriensv1.Gaps
}

func newSectioner() *sectioner {
	return &sectioner{sites: make(map[section.Site]uint16), rings: make(map[uint64]*recorded)}
}

// packed is the messages of a transaction with sections in the place of Calls, Collectives, Marks and Gaps, which are
// valid until the next transaction is packed: behind what defines what they name, before what names their rows.
type packed struct {
	before, behind []*moriensv1.ReportRequest
	sections       [][]byte // that follow each other
	bytes          []byte   // of all of them
}

// rows are the sections as windows keep them.
func (p *packed) rows() (list []window.Rows) {
	for _, bytes := range p.sections {
		_, ring, first := section.Of(bytes)
		list = append(list, window.Rows{Ring: ring, First: first, Section: bytes})
	}
	return list
}

// messages are those for the collector: where bursts stay on the node, without sections.
func (p *packed) messages(stay bool, compared []byte) []*moriensv1.ReportRequest {
	list := slices.Clip(p.before)
	send := func(bytes []byte) {
		if len(bytes) > 0 {
			list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: bytes}})
		}
	}
	if stay {
		return append(list, p.behind...)
	}
	for _, bytes := range [][]byte{p.bytes, compared} {
		for len(bytes) > 0 {
			to := 0
			for to < len(bytes) && to <= sectionBytes {
				n, err := section.Length(bytes[to:])
				if err != nil { // that is for the collector to say
					n = len(bytes) - to
				}
				to += n
			}
			send(bytes[:to])
			bytes = bytes[to:]
		}
	}
	return append(list, p.behind...)
}

// pack makes sections of messages. rows is how many a ring has of which none is among them; cuts, unless it is nil, at
// which rows another section begins.
func (s *sectioner) pack(messages []*moriensv1.ReportRequest, rows func(ring uint64) uint64, cuts cuts) (p packed) {
	clear(s.rings)
	s.order = s.order[:0]
	ends := make(map[uint64]uint64)
	for _, m := range messages {
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Calls:
			r := s.of(b.Calls.Ring)
			r.calls = append(r.calls, b.Calls)
			r.rows = b.Calls.First + uint64(len(b.Calls.Function))
		case *moriensv1.ReportRequest_Collectives:
			r := s.of(b.Collectives.Ring)
			r.meetings = append(r.meetings, b.Collectives)
		case *moriensv1.ReportRequest_Marks:
			r := s.of(b.Marks.Ring)
			r.marks = append(r.marks, b.Marks)
		case *moriensv1.ReportRequest_Gaps:
			r := s.of(b.Gaps.Ring)
			r.gaps = append(r.gaps, b.Gaps)
		case *moriensv1.ReportRequest_RingEnd:
			ends[b.RingEnd.Ring] = b.RingEnd.Calls
			p.behind = append(p.behind, m)
		case *moriensv1.ReportRequest_Traffic, *moriensv1.ReportRequest_TransfersEnd, *moriensv1.ReportRequest_ProcessEnd, *moriensv1.ReportRequest_Done:
			p.behind = append(p.behind, m)
		default:
			p.before = append(p.before, m)
		}
	}
	s.bytes = s.bytes[:0]
	var lengths []int
	for _, r := range s.order {
		if all, ended := ends[r.ring]; ended {
			r.rows = all
		} else if len(r.calls) == 0 {
			r.rows = rows(r.ring)
		}
		s.blocks(r, cuts, func(b *section.Block) {
			from := len(s.bytes)
			s.bytes = s.encoder.Calls(s.bytes, b)
			lengths = append(lengths, len(s.bytes)-from)
		})
	}
	p.bytes = s.bytes
	for from, rest := 0, lengths; len(rest) > 0; rest = rest[1:] {
		p.sections = append(p.sections, s.bytes[from:from+rest[0]])
		from += rest[0]
	}
	return p
}

func (s *sectioner) of(ring uint64) *recorded {
	r := s.rings[ring]
	if r == nil {
		r = &recorded{ring: ring}
		s.rings[ring] = r
		s.order = append(s.order, r)
	}
	return r
}

// blocks calls emit for the blocks of a ring.
func (s *sectioner) blocks(r *recorded, cuts cuts, emit func(*section.Block)) {
	b := &s.block
	meetings, marks := r.collectives(), r.allMarks()
	firstMark := uint64(0)
	if len(r.marks) > 0 {
		firstMark = r.marks[0].First
	}
	finish := func() {
		n := min(len(marks), section.MaxRows)
		b.Marks, b.FirstMark = append(b.Marks, marks[:n]...), firstMark
		marks, firstMark = marks[n:], firstMark+uint64(n)
		for _, g := range r.gaps {
			b.GapsBefore, b.GapsInside = append(b.GapsBefore, g.Before...), append(b.GapsInside, g.Inside...)
		}
		r.gaps = nil
		emit(b)
	}
	for i, c := range r.calls {
		behind := []uint64{c.First + uint64(len(c.Function))}
		if cuts != nil {
			behind = cuts(r.ring, c.First, behind[0])
		}
		from, origin := 0, c.OriginTicks
		for k, row := range behind {
			to := int(row - c.First)
			b.Empty()
			b.Ring, b.First, b.Origin = r.ring, c.First+uint64(from), origin
			s.rows(c, from, to)
			for len(meetings) > 0 && meetings[0].row < row {
				x := meetings[0].Collective
				x.Row = uint32(meetings[0].row - b.First)
				b.Collectives, meetings = append(b.Collectives, x), meetings[1:]
			}
			for ; from < to; from++ {
				origin += c.BurstTicks[from] + c.CallTicks[from]
			}
			if i < len(r.calls)-1 || k < len(behind)-1 {
				emit(b)
				continue
			}
			finish()
		}
	}
	for len(marks) > 0 || len(r.gaps) > 0 {
		b.Empty()
		b.Ring, b.First = r.ring, r.rows
		if len(marks) > 0 {
			b.Origin = marks[0].Ticks
		}
		finish()
	}
}

// rows makes the block's rows some of calls: from ≤ row < to.
func (s *sectioner) rows(c *moriensv1.Calls, from, to int) {
	b := &s.block
	b.Grow(to-from, len(c.Counts))
	b.Unfinished = c.Unfinished && to == len(c.Function)
	clear(s.sites)
	s.next = append(s.next[:0], 0)
	last := 0
	for i, function := range c.Function[from:to] {
		site := section.Site{Function: uint16(function), Path: c.Path[from+i]}
		number := s.next[last]
		if int(number) >= len(b.Sites) || b.Sites[number] != site {
			number = s.number(site)
			s.next[last] = number
		}
		b.Site[i], last = number, int(number)+1
	}
	copy(b.Burst, c.BurstTicks[from:to])
	copy(b.Call, c.CallTicks[from:to])
	b.NoBurst, _ = appendRows(b.NoBurst, c.NoBurst, from, to)
	b.Paused, _ = appendRows(b.Paused, c.Paused, from, to)
	without := 0 // of the rows before from
	b.NoCounts, without = appendRows(b.NoCounts, c.NoCounts, from, to)
	polls := 0
	b.PollsRow, polls = appendRows(b.PollsRow, c.PollsRow, from, to)
	b.Polls = append(b.Polls, c.Polls[polls:polls+len(b.PollsRow)]...)
	for k, counts := range c.Counts {
		s.counts(k, counts.Value[from-without:])
	}
	slices.SortStableFunc(b.NotRead, func(x, y section.NotRead) int { return cmp.Compare(x.Row, y.Row) })
}

// number is that of a site, which is new to the block or not.
func (s *sectioner) number(site section.Site) uint16 {
	number, known := s.sites[site]
	if !known {
		number = uint16(len(s.block.Sites))
		s.sites[site] = number
		s.block.Sites, s.next = append(s.block.Sites, site), append(s.next, 0)
	}
	return number
}

// appendRows appends those of ascending rows with from ≤ row < to, less from, and returns how many are before them.
func appendRows(dst, rows []uint32, from, to int) (list []uint32, before int) {
	before, _ = slices.BinarySearch(rows, uint32(from))
	for _, row := range rows[before:] {
		if int(row) >= to {
			break
		}
		dst = append(dst, row-uint32(from))
	}
	return dst, before
}

// counts spreads the values of an event over the rows that have some. Others have the one before them, which takes no
// room.
func (s *sectioner) counts(event int, values []int64) {
	b := &s.block
	column, without, last := b.Counts[event][:b.Rows], b.NoCounts, int64(0)
	for row := range column {
		if len(without) > 0 && int(without[0]) == row {
			column[row], without = last, without[1:]
			continue
		}
		if values[0] == shmabi.NoCount {
			b.NotRead = append(b.NotRead, section.NotRead{Row: uint32(row), Event: uint8(event)})
		} else {
			last = values[0]
		}
		column[row], values = last, values[1:]
	}
}

// A meeting is a collective with its row of the ring.
type meeting struct {
	section.Collective
	row uint64
}

func (r *recorded) collectives() (list []meeting) {
	for _, x := range r.meetings {
		row := uint64(0)
		for i, d := range x.Row {
			row += uint64(d)
			list = append(list, meeting{section.Collective{
				Comm: x.Comm[i], Root: x.Root[i], Ordinal: x.Ordinal[i], Sent: x.Sent[i], Received: x.Received[i],
			}, row})
		}
	}
	return list
}

func (r *recorded) allMarks() (list []section.Mark) {
	for _, x := range r.marks {
		ticks, values := x.OriginTicks, x.Value
		for i := range x.Ticks {
			ticks += x.Ticks[i]
			m := section.Mark{Ticks: ticks, What: section.MarkKind(x.What[i]), Name: x.Name[i]}
			if x.What[i] == moriensv1.Marks_WHAT_EVENT {
				m.Value, values = values[0], values[1:]
			}
			list = append(list, m)
		}
	}
	return list
}

// unpack makes of a section of calls the messages of which it was made.
func (s *sectioner) unpack(bytes []byte) ([]*moriensv1.ReportRequest, error) {
	var x section.Section
	if _, err := x.Read(bytes); err != nil {
		return nil, err
	}
	if err := new(section.Decoder).Calls(&x, x.Events(), &s.block); err != nil {
		return nil, err
	}
	return messagesOf(&s.block), nil
}

// messagesOf is what a block was made of.
func messagesOf(b *section.Block) (list []*moriensv1.ReportRequest) {
	if b.Rows > 0 {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: callsOf(b)}})
	}
	if len(b.Collectives) > 0 {
		x, last := &moriensv1.Collectives{Ring: b.Ring}, uint64(0)
		for _, c := range b.Collectives {
			row := b.First + uint64(c.Row)
			x.Row, last = append(x.Row, int64(row-last)), row
			x.Comm, x.Ordinal, x.Root = append(x.Comm, c.Comm), append(x.Ordinal, c.Ordinal), append(x.Root, c.Root)
			x.Sent, x.Received = append(x.Sent, c.Sent), append(x.Received, c.Received)
		}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: x}})
	}
	if len(b.Marks) > 0 {
		x, last := &moriensv1.Marks{Ring: b.Ring, First: b.FirstMark, OriginTicks: b.Marks[0].Ticks}, b.Marks[0].Ticks
		for _, m := range b.Marks {
			x.Ticks, last = append(x.Ticks, m.Ticks-last), m.Ticks
			x.What, x.Name = append(x.What, moriensv1.Marks_What(m.What)), append(x.Name, m.Name)
			if m.What == section.Event {
				x.Value = append(x.Value, m.Value)
			}
		}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: x}})
	}
	if len(b.GapsBefore)+len(b.GapsInside) > 0 {
		x := &moriensv1.Gaps{Ring: b.Ring, Before: slices.Clone(b.GapsBefore), Inside: slices.Clone(b.GapsInside)}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: x}})
	}
	return list
}

func callsOf(b *section.Block) *moriensv1.Calls {
	c := &moriensv1.Calls{
		Ring: b.Ring, First: b.First, OriginTicks: b.Origin, BurstTicks: slices.Clone(b.Burst[:b.Rows]), CallTicks: slices.Clone(b.Call[:b.Rows]),
		NoBurst: slices.Clone(b.NoBurst), Unfinished: b.Unfinished, PollsRow: slices.Clone(b.PollsRow), Polls: slices.Clone(b.Polls),
		NoCounts: slices.Clone(b.NoCounts), Paused: slices.Clone(b.Paused),
	}
	for _, site := range b.Site[:b.Rows] {
		c.Function, c.Path = append(c.Function, uint32(b.Sites[site].Function)), append(c.Path, b.Sites[site].Path)
	}
	for k := range b.Events {
		c.Counts = append(c.Counts, &moriensv1.Counts{Value: section.Without(b.Counts[k][:b.Rows], b.NoCounts)})
	}
	return c
}
