package rebuild

import (
	"context"
	"errors"
	"slices"

	"moriens/analysis/clock"
	"moriens/internal/team"
)

// An aligned run has the time of all threads in common.
type aligned struct {
	at      *commonTime
	ordered clock.Ordered
	notes   []string
	missing []string // what there was no time for, and why
}

// align is collective: it brings the threads, whose times are those of their nodes' clocks until now, to the run's
// time; their bursts follow when that begins at zero. What was matched was matched by order, not by time. Where ctx
// ends at a member before the clocks are compared they are not changed. An error is the team's.
func align(ctx context.Context, u *unpacked, c causes) (aligned, error) {
	before := make([]localTimes, len(u.run.Threads))
	for i := range before {
		t := &u.run.Threads[i]
		if len(t.Phases)+len(t.Events)+t.Readings.Len()+len(t.Pauses)+len(t.Lost) > 0 {
			before[i] = localTimes{enter: slices.Clone(t.Calls.EnterNS), exit: slices.Clone(t.Calls.ExitNS)}
		}
	}
	a := aligned{at: u.at}
	switch err := a.order(ctx, u, c); {
	case errors.Is(err, clock.ErrStopped):
		a.missing = append(a.missing, "times of different hosts are not synchronised: rebuild: "+why(ctx))
	case err != nil:
		a.notes = append(a.notes, "times of different hosts are not synchronised: "+err.Error())
	case a.ordered.Stopped:
		a.missing = append(a.missing, "waiting calls may return before the calls they waited for: rebuild: "+why(ctx))
	}
	u.each(func(i int) { u.placeMarks(i, before[i], a.at) })
	return a, nil
}

// order compares the clocks, and puts the calls of all threads in order, where there is more than one clock: one has
// put everything in order.
func (a *aligned) order(ctx context.Context, u *unpacked, c causes) error {
	if !u.at.clocks.severalClocks() {
		return nil
	}
	threads := u.clockThreads()
	if err := team.Agree(u.Team, c.waits.Check(threads, u.Team)); err != nil {
		return err
	}
	// The team says when to stop, for all of it at once. What ends the team ends what follows as well.
	stop := func() bool {
		isOver, err := over(ctx, u.Team)
		return isOver || err != nil
	}
	solved, err := u.at.clocks.solve(u.Team, c.known, stop, u.workers)
	if err != nil {
		return err
	}
	a.at = solved
	a.ordered, err = clock.Order(threads, c.waits, solved.at, u.workers, u.Team, func() bool { return ctx.Err() != nil })
	return err
}

// localTimes are the times of a thread's calls by its node's clock.
type localTimes struct{ enter, exit []int64 }

// placeMarks puts the marks of a thread's program where the calls round it were put: bursts have kept their lengths, so
// it keeps its distance from the call before it.
func (u *unpacked) placeMarks(i int, local localTimes, common *commonTime) {
	t := &u.run.Threads[i]
	if len(local.enter) == 0 && t.Calls.Len() > 0 { // it has no marks
		t.BeginNS, t.EndNS = t.Calls.EnterNS[0], t.Calls.ExitNS[t.Calls.Len()-1]
		return
	}
	at := func(ns int64) int64 {
		row, _ := slices.BinarySearch(local.enter, ns+1) // the first call that begins later
		switch row--; {
		case len(local.enter) == 0:
			return common.at(u.counters[i], ns)
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
	for k := range t.Readings.TimeNS {
		t.Readings.TimeNS[k] = at(t.Readings.TimeNS[k])
	}
	for k := range t.Pauses {
		t.Pauses[k].BeginNS, t.Pauses[k].EndNS = at(t.Pauses[k].BeginNS), at(t.Pauses[k].EndNS)
	}
	for k := range t.Lost {
		t.Lost[k].BeginNS, t.Lost[k].EndNS = at(t.Lost[k].BeginNS), at(t.Lost[k].EndNS)
	}
	t.BeginNS, t.EndNS = at(t.BeginNS), at(t.EndNS)
}
