package rebuild

import (
	"moriens/collector/store"
	"moriens/trace"
)

// chunked are a ring's chunks. Nothing else reads the calls that the store has.
type chunked struct {
	chunks []store.Chunk
	reader *store.Reader
	events []int                      // the place of each of the run's counters among the events of the ring's process
	pathOf func(number uint32) uint32 // the run's number of a call path
}

// burstsOf is how many bursts are in chunks.
func burstsOf(chunks []store.Chunk) (n int) {
	for i := range chunks {
		n += chunks[i].Bursts()
	}
	return n
}

// cuts are what is between a thread's calls, besides bursts as long as the calls leave room for.
type cuts struct {
	firstNS int64   // how long the time before its first call is
	gaps    []int32 // rows, ascending, without a burst before them
}

// read moves the calls of a ring into the columns of its thread, which have the room, and what was counted in its
// bursts. It lets go of each chunk that it has read. Bursts follow when calls are where they stay.
func (of chunked) read(t *trace.Thread, at func(ticks uint64) int64) (cut cuts) {
	if len(of.chunks) == 0 { // its calls were kept on the node, or it never calls MPI
		return cut
	}
	originNS := at(of.chunks[0].Origin)
	var paused []int32 // rows before which the program had paused recording
	row, bursts := 0, 0
	for k := range of.chunks {
		c, x := &of.chunks[k], of.reader.Calls(&of.chunks[k])
		ticks := c.Origin
		for i, number := range x.Path {
			enter := ticks + x.Burst[i]
			ticks = enter + x.Call[i]
			t.Calls.EnterNS[row+i], t.Calls.ExitNS[row+i], t.Calls.Path[row+i] = at(enter), at(ticks), of.pathOf(number)
		}
		for _, i := range x.NoBurst {
			cut.gaps = append(cut.gaps, int32(row)+int32(i))
		}
		for _, i := range x.Paused {
			paused = append(paused, int32(row)+int32(i))
		}
		addPolls(&t.Calls, x, row)
		for counter, event := range of.events {
			copyCounts(t.Bursts.Counters[counter][bursts:], x, event)
		}
		t.Calls.Unfinished = x.Unfinished
		row, bursts = row+c.Rows, bursts+c.Bursts()
		*c = store.Chunk{}
	}
	cut.firstNS = t.Calls.EnterNS[0] - originNS
	cut.addLost(t, paused)
	t.BeginNS, t.EndNS = t.Calls.EnterNS[0], t.Calls.ExitNS[row-1]
	return cut
}

// addLost says where a thread's calls have no burst between them: the program had paused recording, or calls were lost.
func (c *cuts) addLost(t *trace.Thread, paused []int32) {
	for _, row := range c.gaps {
		enterNS := t.Calls.EnterNS[row]
		exitNS := enterNS - c.firstNS
		if row > 0 {
			exitNS = t.Calls.ExitNS[row-1]
		}
		switch {
		case len(paused) > 0 && paused[0] == row:
			paused = paused[1:]
			t.Pauses = append(t.Pauses, trace.Pause{BeginNS: exitNS, EndNS: enterNS})
		case enterNS > exitNS && row > 0: // not the first call, nor a place of a run of polls
			t.Lost = append(t.Lost, trace.Span{BeginNS: exitNS, EndNS: enterNS, Window: -1})
		}
	}
}

// addPolls says how many calls each row of a chunk, the first of which is given, stands for; where all rows of a thread
// are one call that is not kept.
func addPolls(calls *trace.Calls, c *store.Calls, first int) {
	if calls.Count == nil && len(c.Polls) > 0 {
		calls.Count = make([]int64, calls.Len())
		for row := range calls.Count {
			calls.Count[row] = 1
		}
	}
	for i, row := range c.PollsRow {
		calls.Count[first+int(row)] = int64(c.Polls[i])
	}
}

// copyCounts copies an event's counts in a chunk's bursts; event -1 was not counted.
func copyCounts(to []int64, c *store.Calls, event int) {
	if event < 0 {
		for i := range len(c.Path) - len(c.NoBurst) {
			to[i] = trace.NoCount
		}
		return
	}
	noBurst, n := c.NoBurst, 0
	for row, v := range c.Counts[event] {
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst = noBurst[1:]
		} else {
			to[n] = v
			n++
		}
	}
}

// fill makes the bursts between a thread's calls, whose columns have the room; in which clusters they are is set later.
func (c *cuts) fill(t *trace.Thread) {
	gaps, b, burst := c.gaps, &t.Bursts, 0
	startNS, before := int64(0), uint32(0)
	if t.Calls.Len() > 0 {
		startNS = t.Calls.EnterNS[0] - c.firstNS
	}
	for row, enterNS := range t.Calls.EnterNS {
		path := t.Calls.Path[row]
		if len(gaps) > 0 && int(gaps[0]) == row {
			gaps = gaps[1:]
		} else {
			b.StartNS[burst], b.DurationNS[burst], b.Before[burst], b.After[burst] = startNS, enterNS-startNS, before, path
			burst++
		}
		startNS, before = t.Calls.ExitNS[row], path
	}
}
