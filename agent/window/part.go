package window

import (
	"maps"
	"slices"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// Part splits the messages of the transaction that is to be appended next into those for the collector and those that
// are only kept here: transfers of windows by which no clocks are compared (anchor.ID.Compared). A message with
// transfers of both kinds becomes two; otherwise the messages are those that arrived. Where all detail is kept, the
// messages without detail are reported. Part may be called again.
func (s *Store) Part(messages []*moriensv1.ReportRequest) (reported, local []*moriensv1.ReportRequest) {
	if s.config.Whole {
		return apart(messages)
	}
	if !slices.ContainsFunc(messages, func(m *moriensv1.ReportRequest) bool { return m.GetTransfers() != nil }) {
		return messages, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declare(messages)
	ahead := s.foresee(messages)
	for _, m := range messages {
		x := m.GetTransfers()
		if x == nil || s.rings[x.Ring] == nil {
			reported = append(reported, m)
			continue
		}
		shares := ahead.shares(s.rings[x.Ring], x.Row, s.config.Run)
		switch {
		case len(shares) > 1:
			compared, others := entriesOf(shares)
			rows := rowsOfColumn(x.Row)
			reported = append(reported, transfersOf(x, differences(rows, compared), compared))
			local = append(local, transfersOf(x, differences(rows, others), others))
		case len(shares) == 0 || shares[0].compared:
			reported = append(reported, m)
		default:
			local = append(local, m)
		}
	}
	return reported, local
}

// A foresight is how processes and rings will stand when messages are appended.
type foresight struct {
	processes map[*process]*process
	rings     map[*ring]*ring // rows before those of the messages are left to the ring itself
}

// ring is a ring as it will stand.
func (f *foresight) ring(r *ring) *ring {
	ahead := f.rings[r]
	if ahead != nil {
		return ahead
	}
	p := f.processes[r.process]
	if p == nil {
		copied := *r.process
		p = &copied
		p.anchors = maps.Clone(p.anchors)
		f.processes[r.process] = p
	}
	ahead = &ring{id: r.id, process: p, rows: r.rows, edges: slices.Clip(r.edges[max(len(r.edges)-1, 0):])}
	f.rings[r] = ahead
	return ahead
}

// foresee finds the windows of the rows of messages, as split does.
func (s *Store) foresee(messages []*moriensv1.ReportRequest) *foresight {
	f := &foresight{processes: make(map[*process]*process), rings: make(map[*ring]*ring)}
	anchors := make(map[*ring][]anchored)
	for _, m := range messages {
		if c := m.GetCollectives(); c != nil && s.rings[c.Ring] != nil {
			r := f.ring(s.rings[c.Ring])
			anchors[r] = r.findAnchors(anchors[r], c)
		}
	}
	var lanes lanes
	for _, m := range messages {
		if c := m.GetCalls(); c != nil && s.rings[c.Ring] != nil && soundCalls(c) {
			r := f.ring(s.rings[c.Ring])
			lanes.add(r, c, anchors[r])
		}
	}
	s.walk(lanes, func(r *ring, c *moriensv1.Calls, x stretch) {
		r.begin(c.First+uint64(x.from), x.before, x.window)
		r.rows, r.times = max(r.rows, c.First+uint64(x.to)), r.times[:0]
	})
	return f
}

// A share is entries of a column of rows that follow each other, all of which are of windows by which clocks are
// compared, or none.
type share struct {
	from, to int
	compared bool
}

// shares cuts a column of rows.
func (f *foresight) shares(of *ring, column []int64, run string) (list []share) {
	ahead := f.ring(of)
	row := uint64(0)
	first, behind := uint64(1), uint64(0) // rows that are of the last window
	for i, d := range column {
		row += uint64(d)
		if row < first || row >= behind {
			at := of
			if row >= of.rows {
				at = ahead
			}
			var w anchor.ID
			w, first, behind = at.stretch(row)
			if at == of {
				behind = min(behind, of.rows)
			} else {
				first = max(first, of.rows)
			}
			if is := w.Compared(run); len(list) == 0 || list[len(list)-1].compared != is {
				list = append(list, share{from: i, compared: is})
			}
		}
		list[len(list)-1].to = i + 1
	}
	return list
}

// entriesOf sorts entries into those of windows by which clocks are compared, and others.
func entriesOf(shares []share) (compared, others []int) {
	for _, x := range shares {
		for i := x.from; i < x.to; i++ {
			if x.compared {
				compared = append(compared, i)
			} else {
				others = append(others, i)
			}
		}
	}
	return compared, others
}
