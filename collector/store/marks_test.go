package store

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

func markName(process uint64, name uint32, text string) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: process, Name: name, Text: text}}}
}

// phase is a phase of name 3 with an event in it.
func phase(ring, first uint64) *section.Block {
	return &section.Block{Ring: ring, FirstMark: first, Marks: []section.Mark{
		{Ticks: 1000, What: section.BeginPhase, Name: 3}, {Ticks: 1005, What: section.Event, Value: -7}, {Ticks: 1011, What: section.EndPhase, Name: 3},
	}}
}

// Two processes that number the same name differently.
func TestMarks(t *testing.T) {
	s := newStub(t)
	for id := range uint64(2) {
		s.must(process(1+id, int32(id), 2))
		s.must(ring(11+id, 1+id))
	}
	s.must(markName(1, 3, "solve"))
	s.must(markName(2, 1, "other"))
	s.must(markName(2, 3, "solve"))
	s.must(sections(phase(11, 0)))
	s.must(sections(phase(12, 0), &section.Block{Ring: 12, FirstMark: 3, Marks: []section.Mark{{Ticks: 2000, What: section.EndPhase, Name: 1}}}))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 12, Marks: 4, Paused: 9, MarksInside: 2}}})
	f := s.store.Freeze()
	if d := cmp.Diff([]string{"?", "other", "solve"}, f.MarkNames); d != "" || f.Name(0) != 0 || f.Name(1) != 2 || f.Name(2) != 1 {
		t.Error(d, f.tables.names)
	}
	want := []MarkChunk{
		{Origin: 1000, Ticks: []uint64{0, 5, 6}, What: []MarkKind{BeginPhase, Event, EndPhase}, Name: []uint32{1, 0, 1}, Value: []int64{-7}},
		{Origin: 2000, Ticks: []uint64{0}, What: []MarkKind{EndPhase}, Name: []uint32{2}},
	}
	if d := cmp.Diff(want[:1], f.Processes[0].Rings[0].Marks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, f.Processes[1].Rings[0].Marks); d != "" {
		t.Error(d)
	}
	if f.Totals.Paused != 9 || f.Totals.MarksInside != 2 {
		t.Errorf("totals %+v", f.Totals)
	}
}

// Counts at marks are kept with these, by event; those of another number of events are refused, and the marks taken.
func TestMarkCounts(t *testing.T) {
	s := newStub(t)
	p := process(1, 0, 1)
	p.GetProcess().Events = []string{"a", "b"}
	s.must(p)
	s.must(ring(11, 1))
	s.must(markName(1, 3, "solve"))
	b := &section.Block{Ring: 11}
	b.AddMark(section.Mark{Ticks: 1000, What: section.BeginPhase, Name: 3}, []int64{7, math.MinInt64})
	b.AddMark(section.Mark{Ticks: 1001, What: section.Event}, nil)
	b.AddMark(section.Mark{Ticks: 1005, What: section.EndPhase, Name: 3}, []int64{-9, 1 << 60})
	s.must(sections(b))
	wrong := &section.Block{Ring: 11, FirstMark: 3}
	wrong.AddMark(section.Mark{Ticks: 1006, What: section.BeginPhase, Name: 3}, []int64{7})
	if err := s.apply(sections(wrong)); err == nil || !strings.Contains(err.Error(), "mark 3: counts of 1 events, the process has 2") {
		t.Errorf("%v", err)
	}
	b.MarkCounts[0][0] = 99 // it is the store's no more
	want := []MarkChunk{
		{
			Origin: 1000, Ticks: []uint64{0, 1, 4}, What: []MarkKind{BeginPhase, Event, EndPhase}, Name: []uint32{1, 0, 1}, Value: []int64{0},
			Counted: []int32{0, 2}, Counts: [][]int64{{7, -9}, {math.MinInt64, 1 << 60}},
		},
		{Origin: 1006, Ticks: []uint64{0}, What: []MarkKind{BeginPhase}, Name: []uint32{1}},
	}
	if d := cmp.Diff(want, s.store.Freeze().Processes[0].Rings[0].Marks); d != "" {
		t.Error(d)
	}
}

func TestMarksRefused(t *testing.T) {
	with := func(change func(m []section.Mark)) *moriensv1.ReportRequest {
		b := phase(11, 3)
		change(b.Marks)
		return sections(b)
	}
	without := func(column byte) *moriensv1.ReportRequest {
		return sectiontest.Message(sectiontest.Without(sectiontest.Calls(phase(11, 3)), column))
	}
	const what, name, value = 32, 33, 34 // columns
	paused := two(11, 0)
	paused.NoBurst, paused.Paused = []uint32{0}, []uint32{1}
	for _, tt := range []struct {
		name    string
		message *moriensv1.ReportRequest
		want    string
		counted uint64 // marks that are refused as such, and counted
	}{
		{"name of nobody", markName(77, 1, "x"), "unknown process", 0},
		{"name 0", markName(1, 0, "x"), "taken", 0},
		{"name twice", markName(1, 3, "x"), "taken", 0},
		{"marks of nobody", sections(phase(77, 0)), "unknown ring", 0},
		{"no kinds", without(what), "columns of 3, 0 and 3", 0},
		{"no names", without(name), "columns of 3, 3 and 0", 0},
		{"gap", sections(phase(11, 4)), "follows mark 2", 0},
		{"origin too large", with(func(m []section.Mark) { m[0].Ticks = math.MaxUint64 }), "overflow", 3},
		{"ticks too large", with(func(m []section.Mark) { m[2].Ticks += math.MaxInt64 }), "overflow", 3},
		{"ticks descend", with(func(m []section.Mark) { m[2].Ticks = 1004 }), "overflow", 3},
		{"unknown kind", with(func(m []section.Mark) { m[0].What = 9 }), "kind 9", 0},
		{"no kind", with(func(m []section.Mark) { m[0].What = 0 }), "kind 0", 0},
		{"undefined name", with(func(m []section.Mark) { m[0].Name = 4 }), "name 4 is not defined", 3},
		{"no values", without(value), "an event has no value", 0},
		{"paused with a burst", sections(paused), "row 1 is paused and has a burst", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t)
			s.must(process(1, 0, 1))
			s.must(ring(11, 1))
			s.must(callPath(1, 3))
			s.must(markName(1, 3, "solve"))
			s.must(sections(phase(11, 0)))
			err := s.apply(tt.message)
			var content *ContentError
			if !errors.As(err, &content) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			s.must(sections(phase(11, 3+tt.counted)))
			if n := len(s.store.rings[11].Marks); n != 2 {
				t.Errorf("marks of %d messages are held, want 2", n)
			}
		})
	}
}
