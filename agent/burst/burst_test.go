package burst

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

func TestForm(t *testing.T) {
	f := NewFormer(7, 0)
	if c := f.Form(nil, nil); c != nil {
		t.Fatalf("Form(nil) = %v", c)
	}
	got := []*moriensv1.Calls{
		f.Form(nil, []ring.Record{{Enter: 100, Exit: 140, Call: 1, Path: 3}, {Enter: 200, Exit: 201, Call: 2}}),
		f.Form(nil, []ring.Record{{Enter: 201, Exit: 250, Call: 1, Path: 3}}),
		f.Form(nil, []ring.Record{{Enter: 900, Exit: 910, Call: 1, Path: 3, Lost: true}, {Enter: 920, Exit: 920, Call: 2}}),
		f.FormUnfinished(nil, ring.Record{Enter: 1000, Exit: 77, Call: 2}),
	}
	want := []*moriensv1.Calls{
		{Ring: 7, First: 0, OriginTicks: 100, BurstTicks: []uint64{0, 60}, CallTicks: []uint64{40, 1},
			Function: []uint32{1, 2}, Path: []uint32{3, 0}, NoBurst: []uint32{0}},
		{Ring: 7, First: 2, OriginTicks: 201, BurstTicks: []uint64{0}, CallTicks: []uint64{49},
			Function: []uint32{1}, Path: []uint32{3}},
		{Ring: 7, First: 3, OriginTicks: 250, BurstTicks: []uint64{650, 10}, CallTicks: []uint64{10, 0},
			Function: []uint32{1, 2}, Path: []uint32{3, 0}, NoBurst: []uint32{0}},
		{Ring: 7, First: 5, OriginTicks: 920, BurstTicks: []uint64{80}, CallTicks: []uint64{0},
			Function: []uint32{2}, Path: []uint32{0}, Unfinished: true},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
	if f.Calls() != 6 {
		t.Errorf("Calls() = %d, want 6", f.Calls())
	}
}

// Marks are no rows and end no burst; what was lost or paused before them concerns the call that follows.
func TestFormMarks(t *testing.T) {
	mark := func(at uint64) ring.Record { return ring.Record{Enter: at, Exit: at, Mark: ring.Begin} }
	lost, paused := mark(130), mark(230)
	lost.Lost, paused.Paused = true, true
	f := NewFormer(7, 0)
	if c := f.Form(nil, []ring.Record{mark(5)}); c != nil {
		t.Fatalf("Form of a mark = %v", c)
	}
	got := []*moriensv1.Calls{
		f.Form(nil, []ring.Record{mark(90), {Enter: 100, Exit: 110, Call: 1}, mark(115), {Enter: 120, Exit: 125, Call: 1}, lost, {Enter: 150, Exit: 200, Call: 1}}),
		f.Form(nil, []ring.Record{paused}),
		f.Form(nil, []ring.Record{{Enter: 300, Exit: 310, Call: 1}, {Enter: 400, Exit: 410, Call: 1, Paused: true}, {Enter: 420, Exit: 430, Call: 1}}),
	}
	want := []*moriensv1.Calls{
		{Ring: 7, OriginTicks: 100, BurstTicks: []uint64{0, 10, 25}, CallTicks: []uint64{10, 5, 50},
			Function: []uint32{1, 1, 1}, Path: []uint32{0, 0, 0}, NoBurst: []uint32{0, 2}},
		nil,
		{Ring: 7, First: 3, OriginTicks: 200, BurstTicks: []uint64{100, 90, 10}, CallTicks: []uint64{10, 10, 10},
			Function: []uint32{1, 1, 1}, Path: []uint32{0, 0, 0}, NoBurst: []uint32{0, 1}, Paused: []uint32{0, 1}},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
}

// Polls from several places become rows that share the run's time; counts go with the first.
func TestFormPollsAndCounts(t *testing.T) {
	f := NewFormer(7, 2)
	polls := func(call mpicall.ID, first, count uint64) ring.Polls {
		return ring.Polls{Call: call, Path: uint32(call), First: first, Count: count}
	}
	got := f.Form(nil, []ring.Record{
		{Enter: 100, Exit: 110, Call: 1, Path: 1},
		{Enter: 150, Exit: 200, Call: 2, Path: 2, Counts: []int64{5, -6}, Polls: []ring.Polls{polls(3, 170, 1), polls(2, 175, 9), polls(4, 190, 3)}},
		{Enter: 230, Exit: 240, Call: 1, Path: 1, Counts: []int64{1}}, // not as many as there are events
		{Enter: 260, Exit: 261, Call: 3, Path: 3, Counts: []int64{7, 8}},
	})
	want := &moriensv1.Calls{
		Ring: 7, OriginTicks: 100,
		BurstTicks: []uint64{0, 40, 0, 0, 30, 20}, CallTicks: []uint64{10, 20, 20, 10, 10, 1},
		Function: []uint32{1, 2, 3, 4, 1, 3}, Path: []uint32{1, 2, 3, 4, 1, 3},
		NoBurst: []uint32{0, 2, 3}, PollsRow: []uint32{1, 3}, Polls: []uint64{10, 3},
		Counts: []*moriensv1.Counts{{Value: []int64{5, 7}}, {Value: []int64{-6, 8}}}, NoCounts: []uint32{0, 2, 3, 4},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
	if next := f.Form(nil, []ring.Record{{Enter: 300, Exit: 301, Call: 1}}); next.First != 6 || f.Calls() != 7 {
		t.Errorf("first %d of %d", next.First, f.Calls())
	}
}

// A dropped record before the very first must not be named twice.
func TestFormLostFirst(t *testing.T) {
	c := NewFormer(1, 0).Form(nil, []ring.Record{{Enter: 5, Exit: 6, Call: 1, Lost: true}})
	if !slices.Equal(c.NoBurst, []uint32{0}) {
		t.Errorf("NoBurst = %v, want [0]", c.NoBurst)
	}
}

// However records are cut into batches, the columns put end to end give back every time.
func TestFormKeepsTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []ring.Record
		at := rapid.Uint64Range(0, 1<<60).Draw(t, "start")
		for range rapid.IntRange(1, 50).Draw(t, "records") {
			r := ring.Record{Call: mpicall.ID(rapid.IntRange(1, 5).Draw(t, "call")), Path: rapid.Uint32Range(0, 9).Draw(t, "path")}
			r.Enter = at + rapid.Uint64Range(0, 1000).Draw(t, "burst")
			r.Exit = r.Enter + rapid.Uint64Range(0, 1000).Draw(t, "in call")
			r.Lost = rapid.IntRange(0, 9).Draw(t, "lost") == 0
			at = r.Exit
			records = append(records, r)
		}
		f := NewFormer(9, 0)
		var got []ring.Record
		for rest := records; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			c := f.Form(nil, rest[:n])
			rest = rest[n:]
			if c.First != uint64(len(got)) {
				t.Fatalf("First = %d, want %d", c.First, len(got))
			}
			ticks := c.OriginTicks
			for i := range c.Function {
				r := ring.Record{Call: mpicall.ID(c.Function[i]), Path: c.Path[i]}
				r.Enter = ticks + c.BurstTicks[i]
				r.Exit = r.Enter + c.CallTicks[i]
				r.Lost = slices.Contains(c.NoBurst, uint32(i))
				ticks = r.Exit
				got = append(got, r)
			}
		}
		records[0].Lost = true // a thread's first call ends no burst
		if d := cmp.Diff(records, got); d != "" {
			t.Fatalf("records differ (-want +got):\n%s", d)
		}
	})
}
