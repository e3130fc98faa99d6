package store

import (
	"errors"
	"fmt"

	moriensv1 "moriens/proto/moriens/v1"
)

// names numbers the names of phases and events of all processes alike.
type names struct {
	list   []string // by number; 0 is unknown
	byText map[string]uint32
}

// unknownName stands for a name that is not known.
const unknownName = "?"

func newNames() names {
	return names{list: []string{unknownName}, byText: make(map[string]uint32)}
}

func (n *names) number(text string) uint32 {
	number, known := n.byText[text]
	if !known {
		number = uint32(len(n.list))
		n.list = append(n.list, text)
		n.byText[text] = number
	}
	return number
}

// A MarkChunk is marks of a ring that follow each other, one a row.
type MarkChunk struct {
	Origin uint64   // ticks of the first
	Ticks  []uint64 // since the one before
	What   []moriensv1.Marks_What
	Name   []uint32 // Store's number of the name
	Value  []int64  // of the events among them
}

func (s *Store) addName(n *moriensv1.MarkName) error {
	p := s.processes[n.Process]
	if p == nil {
		return fmt.Errorf("name of unknown process %016x", n.Process)
	}
	if _, known := p.names[n.Name]; known || n.Name == 0 {
		return fmt.Errorf("process %016x: name %d is taken", n.Process, n.Name)
	}
	p.names[n.Name] = s.names.number(n.Text)
	return nil
}

func (s *Store) addMarks(m *moriensv1.Marks) error {
	r := s.rings[m.Ring]
	if r == nil {
		return fmt.Errorf("marks of unknown ring %016x", m.Ring)
	}
	if err := r.checkMarks(m); err != nil {
		return fmt.Errorf("ring %016x, mark %d: %w", m.Ring, m.First, err)
	}
	for i, local := range m.Name { // in place: the message is ours
		m.Name[i] = r.Process.names[local] // 0 for 0
	}
	r.Marks = append(r.Marks, MarkChunk{Origin: m.OriginTicks, Ticks: m.Ticks, What: m.What, Name: m.Name, Value: m.Value})
	r.marks += uint64(len(m.Ticks))
	return nil
}

// checkMarks validates a Marks message.
func (r *Ring) checkMarks(m *moriensv1.Marks) error {
	n := len(m.Ticks)
	switch {
	case n == 0:
		return errors.New("no marks")
	case len(m.What) != n || len(m.Name) != n:
		return fmt.Errorf("columns of %d, %d and %d rows", n, len(m.What), len(m.Name))
	case r.End != nil:
		return errors.New("the ring has ended")
	case m.First != r.marks:
		return fmt.Errorf("it follows mark %d", int64(r.marks)-1)
	}
	events := 0
	now := m.OriginTicks
	for i, what := range m.What {
		if now > maxTicks || m.Ticks[i] > maxTicks-now {
			return errors.New("its ticks overflow")
		}
		now += m.Ticks[i]
		if _, known := r.Process.names[m.Name[i]]; !known && m.Name[i] != 0 {
			return fmt.Errorf("name %d is not defined", m.Name[i])
		}
		switch what {
		case moriensv1.Marks_WHAT_BEGIN, moriensv1.Marks_WHAT_END:
		case moriensv1.Marks_WHAT_EVENT:
			events++
		default:
			return fmt.Errorf("a mark of kind %d", what)
		}
	}
	if len(m.Value) != events {
		return fmt.Errorf("%d values of %d events", len(m.Value), events)
	}
	return nil
}
