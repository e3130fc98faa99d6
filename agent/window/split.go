package window

import (
	"fmt"
	"slices"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// A batch is what one commit brings, split by windows.
type batch struct {
	definitions []*moriensv1.ReportRequest
	parts       []*moriensv1.WindowPart
	at          map[key]*moriensv1.WindowPart
	touched     map[*ring]bool
	anchors     map[*ring]map[uint64]anchored // by row
	unusual     []key
}

// A key is a window of a process.
type key struct {
	process uint64
	window  anchor.Window
}

// An anchored row is a collective call on a communicator of all ranks.
type anchored struct {
	comm    uint32
	ordinal uint64
}

// split gives each row and what belongs to it to its window.
func (s *Store) split(messages []*moriensv1.ReportRequest) (*batch, error) {
	b := &batch{at: make(map[key]*moriensv1.WindowPart), touched: make(map[*ring]bool), anchors: make(map[*ring]map[uint64]anchored)}
	for _, m := range messages {
		if s.define(m) {
			b.definitions = append(b.definitions, m)
		}
	}
	for _, m := range messages {
		if c := m.GetCollectives(); c != nil {
			if err := s.findAnchors(b, c); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range messages {
		if c := m.GetCalls(); c != nil {
			if err := s.splitCalls(b, c); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range messages {
		var err error
		switch x := m.Body.(type) {
		case *moriensv1.ReportRequest_Marks:
			err = s.splitMarks(b, x.Marks)
		case *moriensv1.ReportRequest_Transfers:
			err = s.splitTransfers(b, x.Transfers)
		case *moriensv1.ReportRequest_Collectives:
			err = s.splitCollectives(b, x.Collectives)
		case *moriensv1.ReportRequest_Gaps:
			err = s.splitGaps(b, x.Gaps)
		}
		if err != nil {
			return nil, err
		}
	}
	for r := range b.touched {
		if n := len(r.times); n > 1 {
			r.times = append(r.times[:0], r.times[n-1])
		}
	}
	return b, nil
}

// ring returns a ring that was introduced.
func (s *Store) ring(b *batch, id uint64) (*ring, error) {
	r := s.rings[id]
	if r == nil {
		return nil, fmt.Errorf("windows: ring %016x is not known", id)
	}
	b.touched[r] = true
	return r, nil
}

func (b *batch) add(r *ring, w anchor.Window, m *moriensv1.ReportRequest) {
	k := key{r.process.id, w}
	p := b.at[k]
	if p == nil {
		p = &moriensv1.WindowPart{Process: k.process, Window: uint64(w)}
		b.at[k] = p
		b.parts = append(b.parts, p)
	}
	p.Messages = append(p.Messages, m)
}

// findAnchors notes the rows that are anchors. One whose row came long ago counts from now on.
func (s *Store) findAnchors(b *batch, c *moriensv1.Collectives) error {
	r, err := s.ring(b, c.Ring)
	if err != nil {
		return err
	}
	row := uint64(0)
	for i, d := range c.Row {
		row += uint64(d)
		if _, ofAll := r.process.anchors[c.Comm[i]]; !ofAll {
			continue
		}
		if row < r.rows {
			r.process.pass(c.Comm[i], c.Ordinal[i], r.process.since)
			continue
		}
		if b.anchors[r] == nil {
			b.anchors[r] = make(map[uint64]anchored)
		}
		b.anchors[r][row] = anchored{c.Comm[i], c.Ordinal[i]}
	}
	return nil
}

// splitCalls cuts calls behind the anchors that end windows. Rows that came before, of a commit that is done again, are left out.
func (s *Store) splitCalls(b *batch, c *moriensv1.Calls) error {
	r, err := s.ring(b, c.Ring)
	if err != nil {
		return err
	}
	n := len(c.Function)
	anchors := b.anchors[r]
	ticks := c.OriginTicks
	from, origin := 0, ticks
	polls := c.PollsRow
	var at anchor.Window
	for i := range n {
		row := c.First + uint64(i)
		before := ticks
		enter := ticks + c.BurstTicks[i]
		ticks = enter + c.CallTicks[i]
		if row < r.rows {
			from, origin = i+1, ticks
			continue
		}
		w := s.enter(r.process, enter)
		if i == from {
			at = w
		} else if w != at {
			b.add(r, at, callsOf(c, from, i, origin))
			from, origin, at = i, before, w
		}
		r.begin(row, before, w)
		if !r.sequence.begun {
			torn := r.sequence.torn || row > 0
			r.sequence.begin(before)
			r.sequence.torn = torn
		}
		for len(polls) > 0 && int(polls[0]) < i {
			polls = polls[1:]
		}
		if len(polls) == 0 || int(polls[0]) != i {
			r.sequence.add(c.Function[i], c.Path[i])
		}
		if a, is := anchors[row]; is && r.process.pass(a.comm, a.ordinal, ticks) {
			if !r.sequence.torn && r.process.usual.unusual(r.sequence.hash, ticks-r.sequence.since) {
				b.unusual = append(b.unusual, key{r.process.id, w})
			}
			r.sequence.begin(ticks)
		}
	}
	if from < n {
		b.add(r, at, callsOf(c, from, n, origin))
	}
	r.rows = max(r.rows, c.First+uint64(n))
	return nil
}

// callsOf is some rows of a Calls message, of which the first burst starts at origin.
func callsOf(c *moriensv1.Calls, from, to int, origin uint64) *moriensv1.ReportRequest {
	if from == 0 && to == len(c.Function) {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: c}}
	}
	p := &moriensv1.Calls{
		Ring: c.Ring, First: c.First + uint64(from), OriginTicks: origin,
		BurstTicks: c.BurstTicks[from:to], CallTicks: c.CallTicks[from:to], Function: c.Function[from:to], Path: c.Path[from:to],
		NoBurst: rowsOf(c.NoBurst, from, to), Paused: rowsOf(c.Paused, from, to), NoCounts: rowsOf(c.NoCounts, from, to),
		PollsRow:   rowsOf(c.PollsRow, from, to),
		Unfinished: c.Unfinished && to == len(c.Function),
	}
	first, _ := slices.BinarySearch(c.PollsRow, uint32(from))
	p.Polls = c.Polls[first : first+len(p.PollsRow)]
	without, _ := slices.BinarySearch(c.NoCounts, uint32(from))
	value := from - without
	for _, counts := range c.Counts {
		p.Counts = append(p.Counts, &moriensv1.Counts{Value: counts.Value[value : value+to-from-len(p.NoCounts)]})
	}
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: p}}
}

// rowsOf is a sparse column of some rows.
func rowsOf(rows []uint32, from, to int) []uint32 {
	first, _ := slices.BinarySearch(rows, uint32(from))
	end, _ := slices.BinarySearch(rows, uint32(to))
	var part []uint32
	for _, row := range rows[first:end] {
		part = append(part, row-uint32(from))
	}
	return part
}

func (s *Store) splitMarks(b *batch, m *moriensv1.Marks) error {
	r, err := s.ring(b, m.Ring)
	if err != nil {
		return err
	}
	var part *moriensv1.Marks
	var at anchor.Window
	ticks, values := m.OriginTicks, m.Value
	for i, d := range m.Ticks {
		ticks += d
		event := m.What[i] == moriensv1.Marks_WHAT_EVENT
		number := m.First + uint64(i)
		if number < r.marks {
			if event {
				values = values[1:]
			}
			continue
		}
		w := r.at(ticks)
		if part == nil || w != at {
			part, at = &moriensv1.Marks{Ring: r.id, First: number, OriginTicks: ticks}, w
			b.add(r, w, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: part}})
			d = 0
		}
		part.Ticks = append(part.Ticks, d)
		part.What = append(part.What, m.What[i])
		part.Name = append(part.Name, m.Name[i])
		if event {
			part.Value = append(part.Value, values[0])
			values = values[1:]
		}
	}
	r.marks = max(r.marks, m.First+uint64(len(m.Ticks)))
	return nil
}
