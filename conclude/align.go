package conclude

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"moriens/analysis/clock"
	"moriens/internal/team"
)

// align is collective: it brings the threads, whose times are those of their nodes' clocks until now, to the run's time. What was matched was matched by order, not
// by time. Where ctx ends at a member before the clocks are compared they stay as they are. An error is the team's.
func (h *history) align(ctx context.Context, c causes) error {
	rails := make([]rail, len(h.run.Threads))
	for i := range rails {
		t := &h.run.Threads[i]
		if len(t.Phases)+len(t.Events)+len(t.Pauses)+len(t.Lost) > 0 {
			rails[i] = rail{enter: slices.Clone(t.Calls.EnterNS), exit: slices.Clone(t.Calls.ExitNS)}
		}
	}
	switch err := h.order(ctx, c); {
	case errors.Is(err, clock.ErrStopped):
		h.missing = append(h.missing, "times of different hosts are not synchronised: rebuild: "+h.why(ctx))
	case err != nil:
		h.notes = append(h.notes, "times of different hosts are not synchronised: "+err.Error())
	case h.clocks.ordered.Stopped:
		h.missing = append(h.missing, "waiting calls may return before the calls they waited for: rebuild: "+h.why(ctx))
	}
	h.each(func(i int) {
		h.placeBursts(i)
		h.placeMarks(i, rails[i])
	})
	if err := h.addUp(); err != nil {
		return err
	}
	return h.startAtZero()
}

// threads are the calls of the run's threads, as far as they are here, for the comparison of clocks.
func (h *history) threads() []clock.Thread {
	threads := make([]clock.Thread, len(h.run.Threads))
	for i := range threads {
		t := &h.run.Threads[i]
		threads[i] = clock.Thread{Node: h.counters[i], EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Gaps: h.gaps[i]}
	}
	return threads
}

// order compares the clocks, and puts the calls of all threads in order, where there is more than one clock: one has put everything in order.
func (h *history) order(ctx context.Context, c causes) error {
	if !h.clocks.severalClocks() {
		return nil
	}
	threads := h.threads()
	if err := team.Agree(h.team, c.waits.Check(threads, h.team)); err != nil {
		return err
	}
	// The team says when to stop, for all of it at once. What ends the team ends what follows as well.
	stop := func() bool {
		over, err := h.over(ctx)
		return over || err != nil
	}
	if err := h.clocks.solve(h.team, c.told, stop, h.workers); err != nil {
		return err
	}
	var err error
	h.clocks.ordered, err = clock.Order(threads, c.waits, h.clocks.at, h.workers, h.team, func() bool { return ctx.Err() != nil })
	return err
}

// A rail has the times of a thread's calls as its node's clock had them.
type rail struct{ enter, exit []int64 }

// placeMarks puts what a thread's program has said where the calls round it were put: bursts have kept their lengths, so
// it keeps its distance from the call before it.
func (h *history) placeMarks(i int, local rail) {
	t := &h.run.Threads[i]
	if len(local.enter) == 0 && t.Calls.Len() > 0 { // it has said nothing
		t.BeginNS, t.EndNS = t.Calls.EnterNS[0], t.Calls.ExitNS[t.Calls.Len()-1]
		return
	}
	at := func(ns int64) int64 {
		row, _ := slices.BinarySearch(local.enter, ns+1) // the first call that begins later
		switch row--; {
		case len(local.enter) == 0:
			return h.clocks.at(h.counters[i], ns)
		case row < 0:
			return t.Calls.EnterNS[0] - (local.enter[0] - ns)
		case ns < local.exit[row]:
			return min(t.Calls.EnterNS[row]+ns-local.enter[row], t.Calls.ExitNS[row])
		}
		placed := t.Calls.ExitNS[row] + ns - local.exit[row]
		if row+1 < len(local.enter) {
			placed = min(placed, t.Calls.EnterNS[row+1]) // a time without a burst can have shrunk
		}
		return placed
	}
	for k := range t.Phases {
		t.Phases[k].BeginNS, t.Phases[k].EndNS = at(t.Phases[k].BeginNS), at(t.Phases[k].EndNS)
	}
	for k := range t.Events {
		t.Events[k].TimeNS = at(t.Events[k].TimeNS)
	}
	for k := range t.Pauses {
		t.Pauses[k].BeginNS, t.Pauses[k].EndNS = at(t.Pauses[k].BeginNS), at(t.Pauses[k].EndNS)
	}
	for k := range t.Lost {
		t.Lost[k].BeginNS, t.Lost[k].EndNS = at(t.Lost[k].BeginNS), at(t.Lost[k].EndNS)
	}
	t.BeginNS, t.EndNS = at(t.BeginNS), at(t.EndNS)
}

// placeBursts puts a thread's bursts where its calls leave room for them.
func (h *history) placeBursts(i int) {
	t, gaps := &h.run.Threads[i], h.gaps[i]
	burst := 0
	for row, enter := range t.Calls.EnterNS {
		if len(gaps) > 0 && int(gaps[0]) == row {
			gaps = gaps[1:]
			continue
		}
		t.Bursts.StartNS[burst] = enter - t.Bursts.DurationNS[burst]
		burst++
	}
}

// startAtZero is collective: it makes all times those since the first call, and tells all members when the threads of each began and ended.
func (h *history) startAtZero() error {
	origin, err := h.firstEntry()
	if err != nil || origin == math.MaxInt64 {
		return err
	}
	h.run.Start = time.Unix(0, origin)
	h.each(func(i int) {
		t := &h.run.Threads[i]
		for _, column := range [][]int64{t.Calls.EnterNS, t.Calls.ExitNS, t.Bursts.StartNS} {
			for k := range column {
				column[k] -= origin
			}
		}
		for k := range t.Phases {
			t.Phases[k].BeginNS -= origin
			t.Phases[k].EndNS -= origin
		}
		for k := range t.Events {
			t.Events[k].TimeNS -= origin
		}
		for k := range t.Pauses {
			t.Pauses[k].BeginNS -= origin
			t.Pauses[k].EndNS -= origin
		}
		for k := range t.Lost {
			t.Lost[k].BeginNS -= origin
			t.Lost[k].EndNS -= origin
		}
		t.BeginNS -= origin
		t.EndNS -= origin
		if t.Calls.Len() == 0 && h.rings[i].Silent() { // nothing tells when it ran
			t.BeginNS, t.EndNS = 0, 0
		}
	})
	if err := h.shareSpans(); err != nil {
		return err
	}
	for i := range h.run.Threads {
		h.run.DurationNS = max(h.run.DurationNS, h.run.Threads[i].EndNS)
	}
	return nil
}
