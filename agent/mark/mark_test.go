package mark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

func TestForm(t *testing.T) {
	f := NewFormer(7)
	if m := f.Form(nil, []ring.Record{{Enter: 1, Exit: 2, Call: 1}}); m != nil {
		t.Fatalf("marks of a call: %v", m)
	}
	got := []*moriensv1.Marks{
		f.Form(nil, []ring.Record{
			{Enter: 100, Exit: 100, Mark: ring.Begin, Name: 3},
			{Enter: 110, Exit: 120, Call: 1},
			{Enter: 130, Exit: 130, Mark: ring.Event, Name: 4, Value: -9},
			{Enter: 125, Exit: 125, Mark: ring.Event, Name: 4, Value: 1 << 62}, // another CPU's counter is behind
		}),
		f.Form(nil, []ring.Record{{Enter: 128, Exit: 128, Mark: ring.End, Name: 3}, {Enter: 140, Exit: 140, Mark: ring.End}}),
	}
	want := []*moriensv1.Marks{
		{
			Ring: 7, OriginTicks: 100, Ticks: []uint64{0, 30, 0}, Name: []uint32{3, 4, 4}, Value: []int64{-9, 1 << 62},
			What: []moriensv1.Marks_What{moriensv1.Marks_WHAT_BEGIN, moriensv1.Marks_WHAT_EVENT, moriensv1.Marks_WHAT_EVENT},
		},
		{
			Ring: 7, First: 3, OriginTicks: 130, Ticks: []uint64{0, 10}, Name: []uint32{3, 0},
			What: []moriensv1.Marks_What{moriensv1.Marks_WHAT_END, moriensv1.Marks_WHAT_END},
		},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("marks differ (-want +got):\n%s", d)
	}
	if f.Marks() != 5 {
		t.Errorf("Marks() = %d, want 5", f.Marks())
	}
}
