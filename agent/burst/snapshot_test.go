package burst_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"moriens/agent/burst"
	"moriens/agent/mark"
	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// TestCutsChangeNothing: Formers that are taken down to their snapshots between two batches form what others form that
// never were.
func TestCutsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, cutCalls := burst.NewFormer(1, 0), burst.NewFormer(1, 0)
		marks, cutMarks := mark.NewFormer(1), mark.NewFormer(1)
		at := uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			var batch []ring.Record
			for range rapid.IntRange(1, 4).Draw(t, "records") {
				at += rapid.Uint64Range(0, 9).Draw(t, "gap")
				r := ring.Record{Enter: at, Exit: at + 1, Call: mpicall.Send}
				if rapid.Bool().Draw(t, "mark") {
					r = ring.Record{Enter: at, Exit: at, Mark: ring.Begin, Name: 1}
				}
				r.Lost, r.Paused = rapid.Bool().Draw(t, "lost"), rapid.Bool().Draw(t, "paused")
				batch = append(batch, r)
			}
			if d := cmp.Diff(calls.Form(nil, batch), cutCalls.Form(nil, batch), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(marks.Form(nil, batch), cutMarks.Form(nil, batch), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			if rapid.Bool().Draw(t, "cut") {
				cutCalls, cutMarks = burst.Restore(1, 0, cutCalls.Snapshot()), mark.Restore(1, cutMarks.Snapshot())
			}
		}
	})
}

// TestFormInParts: a message that is formed of some records at a time is that of all of them at once.
func TestFormInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []ring.Record
		at := uint64(0)
		for range rapid.IntRange(1, 30).Draw(t, "records") {
			at += rapid.Uint64Range(0, 9).Draw(t, "gap")
			r := ring.Record{Enter: at, Exit: at + 1, Call: mpicall.Send, Counts: []int64{int64(at)}}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				r = ring.Record{Enter: at, Exit: at, Mark: ring.Event, Name: 1, Value: 3}
			case 1:
				r.Counts = nil
			case 2:
				r.Polls = []ring.Polls{{Call: mpicall.Test, First: at, Count: 4}}
			}
			r.Lost, r.Paused = rapid.Bool().Draw(t, "lost"), rapid.Bool().Draw(t, "paused")
			all = append(all, r)
		}
		calls, marks := burst.NewFormer(1, 1), mark.NewFormer(1)
		wantCalls, wantMarks := calls.Form(nil, all), marks.Form(nil, all)
		piecesOf, marksOf := burst.NewFormer(1, 1), mark.NewFormer(1)
		for range rapid.IntRange(0, 2).Draw(t, "before") { // of which the memory is used again
			other := burst.NewFormer(2, 1)
			piecesOf.Reuse(other.FormUnfinished(other.Form(nil, all), ring.Record{Enter: at + 5, Call: mpicall.Send, Lost: true}))
		}
		gotCalls, gotMarks := piecesOf.Form(nil, nil), marksOf.Form(nil, nil)
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			gotCalls, gotMarks = piecesOf.Form(gotCalls, rest[:n]), marksOf.Form(gotMarks, rest[:n])
			rest = rest[n:]
		}
		if d := cmp.Diff(wantCalls, gotCalls, protocmp.Transform()); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(wantMarks, gotMarks, protocmp.Transform()); d != "" {
			t.Fatal(d)
		}
		if calls.Calls() != piecesOf.Calls() || marks.Marks() != marksOf.Marks() {
			t.Fatalf("%d calls of %d, %d marks of %d", piecesOf.Calls(), calls.Calls(), marksOf.Marks(), marks.Marks())
		}
	})
}
