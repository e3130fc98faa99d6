package ring_test

import (
	"testing"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// TestInside looks at a living thread from its first call on, while the ring goes round.
func TestInside(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 4)
	expect := func(what string, want ring.Inside, quiet bool) {
		t.Helper()
		if got, is := r.Inside(); got != want || is != quiet {
			t.Fatalf("%s: %+v, %v, want %+v, %v", what, got, is, want, quiet)
		}
	}
	for round := range uint64(9) {
		at := 1000*round + 10
		expect("out of a call", ring.Inside{}, true)
		w.Enter(mpicall.Recv, 7, at)
		expect("in a call", ring.Inside{Enter: at, Call: mpicall.Recv, Path: 7}, true)
		w.Exit(at + 500)
		if _, quiet := r.Inside(); quiet {
			t.Fatal("what is published was not read")
		}
		readAll(t, r)
		r.Release()
		expect("after it", ring.Inside{}, true)

		w.Enter(mpicall.Test, 3, at+600)
		expect("in a poll", ring.Inside{Enter: at + 600, Call: mpicall.Test, Path: 3}, true)
		w.Return(at + 610)
		run := ring.Inside{Enter: at + 600, Exit: at + 610, Call: mpicall.Test, Path: 3}
		expect("after a poll", run, true)
		w.Poll(mpicall.Test, 3, at+620)
		expect("in the next", run, true)
		w.Polled(at + 630)
		run.Exit = at + 630
		expect("after two", run, true)
		w.Publish()
		readAll(t, r)
		r.Release()

		w.Mark(shmabi.MarkEvent, 0, at+700, 1)
		if _, quiet := r.Inside(); quiet {
			t.Fatal("a mark was not read")
		}
		readAll(t, r)
		r.Release()
	}
}
