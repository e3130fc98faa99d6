package window

import (
	"fmt"
	"slices"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// An anchored row is a collective call on a communicator of all ranks.
type anchored struct {
	row     uint64
	comm    uint32
	ordinal uint64
}

// take learns from what describes the processes, and from blocks of their calls, in which windows these are. What is
// known already changes nothing.
func (s *Store) take(messages []*moriensv1.ReportRequest, blocks []*section.Block) error {
	for _, m := range messages {
		if !slices.Contains(s.pending.definitions, m) && s.define(m) {
			s.pending.definitions = append(s.pending.definitions, m)
		}
	}
	var lanes lanes
	for _, b := range blocks {
		if b.Rows == 0 {
			continue
		}
		r, err := s.ring(b.Ring)
		if err != nil {
			return err
		}
		l := lanes.of(r)
		l.blocks, l.anchors = append(l.blocks, b), r.findAnchors(l.anchors, b)
	}
	s.walk(lanes, s.begin)
	return nil
}

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
func (r *ring) findAnchors(anchors []anchored, b *section.Block) []anchored {
	for i := range b.Collectives {
		c := &b.Collectives[i]
		if !r.process.anchors.has(c.Comm) {
			continue
		}
		row := b.First + uint64(c.Row)
		if row < r.rows {
			r.process.pass(c.Comm, c.Ordinal, r.process.since)
			continue
		}
		anchors = append(anchors, anchored{row, c.Comm, c.Ordinal})
	}
	return anchors
}

// begin gives rows of calls to their window, and judges it where it ends with them.
func (s *Store) begin(r *ring, b *section.Block, x stretch) {
	p, row := r.process, b.First+uint64(x.from)
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
	k, _ := slices.BinarySearch(b.PollsRow, uint32(x.from))
	polls := b.PollsRow[k:]
	for i := x.from; i < x.to; i++ {
		for len(polls) > 0 && int(polls[0]) < i {
			polls = polls[1:]
		}
		if len(polls) == 0 || int(polls[0]) != i {
			r.sequence.add(b.Sites[b.Site[i]])
		}
	}
	if x.ends {
		if !r.sequence.torn && p.usual.unusual(r.sequence.hash, x.end-r.sequence.since) {
			s.markUnusual(key{p.id, x.window})
		}
		r.sequence.begin(x.end)
	}
	r.rows = max(r.rows, b.First+uint64(x.to))
}
