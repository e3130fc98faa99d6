package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// An anchored row is a collective call on a communicator of all ranks.
type anchored struct {
	row     uint64
	comm    uint32
	ordinal uint64
}

// take learns from messages in which windows their calls are. What is known already changes nothing.
func (s *Store) take(messages []*moriensv1.ReportRequest) error {
	for _, m := range messages {
		if !slices.Contains(s.pending.definitions, m) && s.define(m) {
			s.pending.definitions = append(s.pending.definitions, m)
		}
	}
	anchors := make(map[*ring][]anchored)
	for _, m := range messages {
		if c := m.GetCollectives(); c != nil {
			r, err := s.ring(c.Ring)
			if err != nil {
				return err
			}
			anchors[r] = r.findAnchors(anchors[r], c)
		}
	}
	var lanes lanes
	for _, m := range messages {
		if c := m.GetCalls(); c != nil {
			r, err := s.ring(c.Ring)
			if err != nil {
				return err
			}
			if n := len(c.Function); len(c.BurstTicks) != n || len(c.CallTicks) != n || len(c.Path) != n {
				return errColumns
			}
			lanes.add(r, c, anchors[r])
		}
	}
	s.walk(lanes, s.begin)
	return nil
}

// errColumns is returned for a message whose columns do not fit each other.
var errColumns = errors.New("windows: columns of different lengths")

// ring returns a ring that was introduced, of which something is new.
func (s *Store) ring(id uint64) (*ring, error) {
	r := s.rings[id]
	if r == nil {
		return nil, fmt.Errorf("windows: ring %016x is not known", id)
	}
	s.pending.touched[r] = true
	return r, nil
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

// begin gives rows of calls to their window, and judges it where it ends with them.
func (s *Store) begin(r *ring, c *moriensv1.Calls, x stretch) {
	p, row := r.process, c.First+uint64(x.from)
	if !s.retained(key{p.id, x.window}) && !p.had(x.window) {
		s.stats.EvictedWindows++
		s.pending.evicted++
	}
	r.begin(row, x.window)
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
		if !r.sequence.torn && p.usual.unusual(r.sequence.hash, x.end-r.sequence.since) {
			s.markUnusual(key{p.id, x.window})
		}
		r.sequence.begin(x.end)
	}
	r.rows = max(r.rows, c.First+uint64(x.to))
}
