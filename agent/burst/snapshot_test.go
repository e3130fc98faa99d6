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

// TestCutsChangeNothing: Formers that are taken down to their snapshots between two batches form what others form that never were.
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
			if d := cmp.Diff(calls.Form(batch), cutCalls.Form(batch), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(marks.Form(batch), cutMarks.Form(batch), protocmp.Transform()); d != "" {
				t.Fatal(d)
			}
			if rapid.Bool().Draw(t, "cut") {
				cutCalls, cutMarks = burst.Restore(1, 0, cutCalls.Snapshot()), mark.Restore(1, cutMarks.Snapshot())
			}
		}
	})
}
