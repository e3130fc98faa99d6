package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// A batch is what one commit brings, split by windows. The next one has its memory.
type batch struct {
	definitions []*moriensv1.ReportRequest
	messages    encoder // encoded, one after the other
	pieces      []piece // of them, in their order
	parts       []part  // of the pieces, once they are put together
	room        []byte  // for the messages of the parts
	touched     map[*ring]bool
	anchors     map[*ring][]anchored
	unusual     []key
}

// A piece is messages of one window.
type piece struct {
	key
	from, to int // in the batch's messages
	part     int // that it belongs to
}

// A key is a window of a process.
type key struct {
	process uint64
	window  anchor.ID
}

// An anchored row is a collective call on a communicator of all ranks.
type anchored struct {
	row     uint64
	comm    uint32
	ordinal uint64
}

// split gives each row and what belongs to it to its window.
func (s *Store) split(messages []*moriensv1.ReportRequest) (*batch, error) {
	b := &s.batch
	b.empty()
	s.declare(messages)
	b.definitions, s.declared = s.declared, nil
	for _, m := range messages {
		if c := m.GetCollectives(); c != nil {
			r, err := s.ring(b, c.Ring)
			if err != nil {
				return nil, err
			}
			b.anchors[r] = r.findAnchors(b.anchors[r], c)
		}
	}
	var lanes lanes
	for _, m := range messages {
		if c := m.GetCalls(); c != nil {
			r, err := s.ring(b, c.Ring)
			if err != nil {
				return nil, err
			}
			if !soundCalls(c) {
				return nil, errColumns
			}
			lanes.add(r, c, b.anchors[r])
		}
	}
	s.walk(lanes, func(r *ring, c *moriensv1.Calls, x stretch) { b.addCalls(r, c, x) })
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
	b.join()
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

// add gives what was encoded since the last time to a window.
func (b *batch) add(r *ring, w anchor.ID) {
	k, from := key{r.process.id, w}, 0
	if last := len(b.pieces) - 1; last >= 0 {
		from = b.pieces[last].to
	}
	b.pieces = append(b.pieces, piece{key: k, from: from, to: len(b.messages)})
}

// empty leaves nothing but memory.
func (b *batch) empty() {
	if b.touched == nil {
		b.touched, b.anchors = make(map[*ring]bool), make(map[*ring][]anchored)
	}
	clear(b.touched)
	clear(b.anchors)
	b.messages, b.room = b.messages.empty(), encoder(b.room).empty()
	b.pieces, b.parts, b.unusual = b.pieces[:0], b.parts[:0], nil
}

// join puts the pieces of each window together.
func (b *batch) join() {
	at := make(map[key]int, len(b.pieces))
	var bytes []int
	for i := range b.pieces {
		p := &b.pieces[i]
		n, there := at[p.key]
		if !there {
			n = len(b.parts)
			at[p.key] = n
			b.parts, bytes = append(b.parts, part{key: p.key}), append(bytes, 0)
		}
		p.part = n
		bytes[n] += p.to - p.from
	}
	b.room = slices.Grow(b.room, len(b.messages))[:len(b.messages)]
	room := b.room
	for i, n := range bytes {
		b.parts[i].messages, room = room[:0:n], room[n:]
	}
	for _, p := range b.pieces {
		messages := &b.parts[p.part].messages
		*messages = append(*messages, b.messages[p.from:p.to]...)
	}
}

// declare takes what the messages say about the processes, and remembers it for later ones. Call it once.
func (s *Store) declare(messages []*moriensv1.ReportRequest) {
	for _, m := range messages {
		if !slices.Contains(s.declared, m) && s.define(m) {
			s.declared = append(s.declared, m)
		}
	}
}

// findAnchors adds the rows that are anchors to those that are known. One whose row is long past counts from now on.
func (r *ring) findAnchors(anchors []anchored, c *moriensv1.Collectives) []anchored {
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
		anchors = append(anchors, anchored{row, c.Comm[i], c.Ordinal[i]})
	}
	slices.SortStableFunc(anchors, func(a, b anchored) int { return cmp.Compare(a.row, b.row) })
	return anchors
}

// errColumns is returned for a message whose columns do not fit each other.
var errColumns = errors.New("windows: columns of different lengths")

// same reports whether columns have one length.
func same(n int, lengths ...int) bool {
	return !slices.ContainsFunc(lengths, func(length int) bool { return length != n })
}

func soundCalls(c *moriensv1.Calls) bool {
	n := len(c.Function)
	for _, counts := range c.Counts {
		if len(counts.Value) != n-len(c.NoCounts) {
			return false
		}
	}
	return same(n, len(c.BurstTicks), len(c.CallTicks), len(c.Path)) && same(len(c.PollsRow), len(c.Polls))
}

// addCalls gives rows of calls to their window, and judges it where it ends with them.
func (b *batch) addCalls(r *ring, c *moriensv1.Calls, x stretch) {
	b.messages.calls(c, x.from, x.to, x.before)
	b.add(r, x.window)
	row := c.First + uint64(x.from)
	r.begin(row, x.before, x.window)
	if !r.sequence.begun {
		torn := r.sequence.torn || row > 0
		r.sequence.begin(x.before)
		r.sequence.torn = torn
	}
	k, _ := slices.BinarySearch(c.PollsRow, uint32(x.from))
	polls := c.PollsRow[k:]
	for i := x.from; i < x.to; i++ {
		for len(polls) > 0 && int(polls[0]) < i {
			polls = polls[1:]
		}
		if len(polls) == 0 || int(polls[0]) != i {
			r.sequence.add(c.Function[i], c.Path[i])
		}
	}
	if x.ends {
		if !r.sequence.torn && r.process.usual.unusual(r.sequence.hash, x.end-r.sequence.since) {
			b.unusual = append(b.unusual, key{r.process.id, x.window})
		}
		r.sequence.begin(x.end)
	}
	r.rows = max(r.rows, c.First+uint64(x.to))
}

// splitMarks gives marks to the windows of their times.
func (s *Store) splitMarks(b *batch, m *moriensv1.Marks) error {
	r, err := s.ring(b, m.Ring)
	if err != nil {
		return err
	}
	n, events := len(m.Ticks), 0
	for _, what := range m.What {
		if what == moriensv1.Marks_WHAT_EVENT {
			events++
		}
	}
	if !same(n, len(m.What), len(m.Name)) || events != len(m.Value) {
		return errColumns
	}
	ticks, i, values := m.OriginTicks, 0, m.Value
	pass := func() {
		if m.What[i] == moriensv1.Marks_WHAT_EVENT {
			values = values[1:]
		}
		i++
	}
	for ; i < n && m.First+uint64(i) < r.marks; pass() {
		ticks += m.Ticks[i]
	}
	for i < n {
		from, origin, of := i, ticks+m.Ticks[i], values
		w := r.at(origin)
		for ; i < n && r.at(ticks+m.Ticks[i]) == w; pass() {
			ticks += m.Ticks[i]
		}
		b.messages.marks(m, from, i, origin, of[:len(of)-len(values)])
		b.add(r, w)
	}
	r.marks = max(r.marks, m.First+uint64(n))
	return nil
}
