package store

import (
	"fmt"

	"moriens/internal/section"
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

// MarkKind is what a mark says.
type MarkKind = section.MarkKind

// The kinds of marks.
const (
	BeginPhase = section.BeginPhase
	EndPhase   = section.EndPhase
	Event      = section.Event
)

// A MarkChunk is marks of a ring that follow each other, one a row.
type MarkChunk struct {
	Origin uint64   // ticks of the first
	Ticks  []uint64 // since the one before
	What   []MarkKind
	Name   []uint32 // Store's number of the name
	Value  []int64  // of the events among them
	// Counted are those at which it was read what the burst had counted, ascending, and Counts what that was: by the
	// process's events, the least int64 for what was not read.
	Counted []int32
	Counts  [][]int64
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
