package rebuild

import (
	"moriens/collector/store"
	"moriens/trace"
)

// chunked are a ring's chunks.
type chunked struct {
	ring   *store.Ring
	chunks []store.Chunk
	events []int                      // the place of each of the run's counters among the events of the ring's process
	pathOf func(number uint32) uint32 // the run's number of a call path
}

// fill spreads a ring's chunks over a thread's columns; in which clusters bursts are is set later. gaps are the rows
// without a burst before them.
func fill(t *trace.Thread, of chunked, at func(ticks uint64) int64) (gaps []int32) {
	r, chunks := of.ring, of.chunks
	n := int(r.Calls)
	without, runs := 0, 0
	for _, c := range chunks {
		without += len(c.NoBurst)
		runs += len(c.Polls)
	}
	t.Calls = trace.Calls{EnterNS: make([]int64, 0, n), ExitNS: make([]int64, 0, n), Path: make([]uint32, 0, n)}
	t.Bursts = trace.Bursts{
		StartNS: make([]int64, 0, n-without), DurationNS: make([]int64, 0, n-without),
		Before: make([]uint32, 0, n-without), After: make([]uint32, 0, n-without),
	}
	for range of.events {
		t.Bursts.Counters = append(t.Bursts.Counters, make([]int64, 0, n-without))
	}
	if runs > 0 {
		t.Calls.Count = make([]int64, 0, n)
	}
	if n == 0 && len(r.Marks) == 0 { // its calls were kept on the node
		return nil
	}
	if n == 0 { // a thread that says something and never calls MPI
		t.BeginNS = at(r.Marks[0].Origin)
		return nil
	}
	before := uint32(0)
	exitNS := at(chunks[0].Origin)
	for _, c := range chunks {
		ticks := c.Origin
		noBurst, paused := c.NoBurst, c.Paused
		for i, number := range c.Path {
			path := of.pathOf(number)
			enter := ticks + c.Burst[i]
			exit := enter + c.Call[i]
			enterNS := at(enter)
			if len(noBurst) > 0 && int(noBurst[0]) == i {
				noBurst = noBurst[1:]
				switch {
				case len(paused) > 0 && int(paused[0]) == i:
					paused = paused[1:]
					t.Pauses = append(t.Pauses, trace.Pause{BeginNS: exitNS, EndNS: enterNS})
				case enterNS > exitNS && len(t.Calls.Path) > 0: // not the first call, nor a place of a run of polls
					t.Lost = append(t.Lost, trace.Span{BeginNS: exitNS, EndNS: enterNS, Window: -1})
				}
				gaps = append(gaps, int32(len(t.Calls.Path)))
			} else {
				t.Bursts.StartNS = append(t.Bursts.StartNS, exitNS)
				t.Bursts.DurationNS = append(t.Bursts.DurationNS, enterNS-exitNS)
				t.Bursts.Before = append(t.Bursts.Before, before)
				t.Bursts.After = append(t.Bursts.After, path)
			}
			exitNS = at(exit)
			t.Calls.EnterNS = append(t.Calls.EnterNS, enterNS)
			t.Calls.ExitNS = append(t.Calls.ExitNS, exitNS)
			t.Calls.Path = append(t.Calls.Path, path)
			before, ticks = path, exit
		}
		addPolls(&t.Calls, &c)
		for k, event := range of.events {
			t.Bursts.Counters[k] = appendCounts(t.Bursts.Counters[k], &c, event)
		}
		t.Calls.Unfinished = c.Unfinished
	}
	t.BeginNS, t.EndNS = t.Calls.EnterNS[0], exitNS
	return gaps
}

// addPolls appends how many calls each row of a chunk stands for, where that is kept at all.
func addPolls(calls *trace.Calls, c *store.Chunk) {
	if calls.Count == nil {
		return
	}
	first := len(calls.Count)
	for range c.Path {
		calls.Count = append(calls.Count, 1)
	}
	for i, row := range c.PollsRow {
		calls.Count[first+int(row)] = int64(c.Polls[i])
	}
}

// appendCounts appends an event's counts in a chunk's bursts to a column; event -1 was not counted.
func appendCounts(column []int64, c *store.Chunk, event int) []int64 {
	if event < 0 {
		for range len(c.Path) - len(c.NoBurst) {
			column = append(column, trace.NoCount)
		}
		return column
	}
	noBurst := c.NoBurst
	for row, v := range c.Column(event) {
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst = noBurst[1:]
		} else {
			column = append(column, v)
		}
	}
	return column
}
