package moriens

import (
	"math"
	"slices"
	"time"

	"moriens/analysis/clock"
)

// align brings the threads, whose times are those of their nodes' clocks until now, to the run's time. traffic is who
// waited for whom, by places of the run's threads; it was matched by order, not by time.
func (h *history) align(traffic *clock.Traffic) {
	threads := make([]clock.Thread, len(h.run.Threads))
	rails := make([]rail, len(threads))
	for i := range threads {
		t := &h.run.Threads[i]
		threads[i] = clock.Thread{Node: h.counters[i], EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Gaps: h.gaps[i]}
		if len(t.Phases)+len(t.Events)+len(t.Pauses) > 0 {
			rails[i] = rail{enter: slices.Clone(t.Calls.EnterNS), exit: slices.Clone(t.Calls.ExitNS)}
		}
	}
	if err := h.order(traffic, threads); err != nil {
		h.notes = append(h.notes, "times of different hosts are as their own clocks had them: "+err.Error())
	}
	for i := range threads {
		h.placeBursts(i)
		h.placeMarks(i, rails[i])
	}
	h.startAtZero()
}

func (h *history) order(traffic *clock.Traffic, threads []clock.Thread) error {
	if err := traffic.Check(threads); err != nil {
		return err
	}
	if err := h.clocks.solve(traffic, threads); err != nil {
		return err
	}
	if h.clocks.lines == nil {
		return nil // one clock has put everything in order
	}
	var err error
	h.clocks.ordered, err = clock.Order(threads, traffic, h.clocks.at)
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

// startAtZero makes all times those since the first call.
func (h *history) startAtZero() {
	origin := int64(math.MaxInt64)
	for i := range h.run.Threads {
		if enter := h.run.Threads[i].Calls.EnterNS; len(enter) > 0 {
			origin = min(origin, enter[0])
		}
	}
	if origin == math.MaxInt64 {
		return
	}
	h.run.Start = time.Unix(0, origin)
	for i := range h.run.Threads {
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
		t.BeginNS -= origin
		t.EndNS -= origin
		h.run.DurationNS = max(h.run.DurationNS, t.EndNS)
	}
}
