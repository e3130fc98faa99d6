package store

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	begin = moriensv1.Marks_WHAT_BEGIN
	end   = moriensv1.Marks_WHAT_END
	event = moriensv1.Marks_WHAT_EVENT
)

func markName(process uint64, name uint32, text string) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: process, Name: name, Text: text}}}
}

func marks(m *moriensv1.Marks) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: m}}
}

// phase is a phase of name 3 with an event in it.
func phase(ring, first uint64) *moriensv1.Marks {
	return &moriensv1.Marks{
		Ring: ring, First: first, OriginTicks: 1000, Ticks: []uint64{0, 5, 6}, What: []moriensv1.Marks_What{begin, event, end},
		Name: []uint32{3, 0, 3}, Value: []int64{-7},
	}
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
	s.must(marks(phase(11, 0)))
	s.must(marks(phase(12, 0)))
	s.must(marks(&moriensv1.Marks{Ring: 12, First: 3, OriginTicks: 2000, Ticks: []uint64{0}, What: []moriensv1.Marks_What{end}, Name: []uint32{1}}))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 12, Marks: 4, Paused: 9, MarksInside: 2}}})
	f := s.store.Freeze()
	if d := cmp.Diff([]string{"?", "other", "solve"}, f.MarkNames); d != "" || f.Name(0) != 0 || f.Name(1) != 2 || f.Name(2) != 1 {
		t.Error(d, f.tables.names)
	}
	want := []MarkChunk{
		{Origin: 1000, Ticks: []uint64{0, 5, 6}, What: []moriensv1.Marks_What{begin, event, end}, Name: []uint32{1, 0, 1}, Value: []int64{-7}},
		{Origin: 2000, Ticks: []uint64{0}, What: []moriensv1.Marks_What{end}, Name: []uint32{2}},
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

func TestMarksRefused(t *testing.T) {
	with := func(change func(*moriensv1.Marks)) *moriensv1.ReportRequest {
		m := phase(11, 3)
		change(m)
		return marks(m)
	}
	paused := two(11, 0)
	paused.NoBurst, paused.Paused = []uint32{0}, []uint32{1}
	for _, tt := range []struct {
		name    string
		message *moriensv1.ReportRequest
		want    string
	}{
		{"name of nobody", markName(77, 1, "x"), "unknown process"},
		{"name 0", markName(1, 0, "x"), "taken"},
		{"name twice", markName(1, 3, "x"), "taken"},
		{"marks of nobody", marks(phase(77, 0)), "unknown ring"},
		{"no marks", with(func(m *moriensv1.Marks) { m.Ticks = nil }), "no marks"},
		{"short column", with(func(m *moriensv1.Marks) { m.What = m.What[:2] }), "columns of 3, 2 and 3"},
		{"gap", with(func(m *moriensv1.Marks) { m.First = 4 }), "follows mark 2"},
		{"origin too large", with(func(m *moriensv1.Marks) { m.OriginTicks = math.MaxUint64 }), "overflow"},
		{"ticks too large", with(func(m *moriensv1.Marks) { m.Ticks[2] = math.MaxInt64 }), "overflow"},
		{"unknown kind", with(func(m *moriensv1.Marks) { m.What[0] = 9 }), "kind 9"},
		{"no kind", with(func(m *moriensv1.Marks) { m.What[0] = 0 }), "kind 0"},
		{"undefined name", with(func(m *moriensv1.Marks) { m.Name[0] = 4 }), "name 4 is not defined"},
		{"values", with(func(m *moriensv1.Marks) { m.Value = nil }), "0 values of 1 events"},
		{"paused with a burst", calls(paused), "row 1 is paused and has a burst"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t)
			s.must(process(1, 0, 1))
			s.must(ring(11, 1))
			s.must(callPath(1, 3))
			s.must(markName(1, 3, "solve"))
			s.must(marks(phase(11, 0)))
			err := s.apply(tt.message)
			var content *ContentError
			if !errors.As(err, &content) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			s.must(marks(phase(11, 3))) // the ring continues as if nothing had arrived
		})
	}
}
