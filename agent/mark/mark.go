// Package mark forms messages from the marks that a program sets through moriens.h.
//
// In come the records of one ring in time order. Out come the marks among them as columns of a Marks message, in ticks
// of the node's clock. The collector interprets them, for example as nested phases.
package mark

import (
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Former forms the messages of one ring. It does not keep what it has returned.
type Former struct {
	ring  uint64
	marks uint64 // formed so far
	last  uint64 // ticks
}

// NewFormer returns a Former for the ring with the given id.
func NewFormer(ring uint64) *Former { return &Former{ring: ring} }

// Marks returns the number of marks formed so far.
func (f *Former) Marks() uint64 { return f.marks }

// Form adds the marks among the records to a message that it has returned before, or to a new one for nil, and returns
// that; nil if there are none. Where the clock steps back the mark has the time of the one before it. The same message
// is passed until a new one is begun.
func (f *Former) Form(m *moriensv1.Marks, records []ring.Record) *moriensv1.Marks {
	for i := range records {
		r := &records[i]
		if r.Mark == 0 {
			continue
		}
		now := max(r.Enter, f.last)
		if m == nil {
			m = &moriensv1.Marks{Ring: f.ring, First: f.marks, OriginTicks: now}
			f.last = now
		}
		m.Ticks = append(m.Ticks, now-f.last)
		m.What = append(m.What, kinds[r.Mark])
		m.Name = append(m.Name, r.Name)
		if r.Mark == ring.Event {
			m.Value = append(m.Value, r.Value)
		}
		f.last = now
		f.marks++
	}
	return m
}

var kinds = map[ring.MarkKind]moriensv1.Marks_What{
	ring.Begin: moriensv1.Marks_WHAT_BEGIN, ring.End: moriensv1.Marks_WHAT_END, ring.Event: moriensv1.Marks_WHAT_EVENT,
}
