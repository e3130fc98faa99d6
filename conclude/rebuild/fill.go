package rebuild

import (
	"moriens/collector/store"
	"moriens/trace"
)

// chunked are a ring's chunks. Nothing else reads the store's columns of calls.
type chunked struct {
	chunks []store.Chunk
	events []int                      // the place of each of the run's counters among the events of the ring's process
	pathOf func(number uint32) uint32 // the run's number of a call path
}

// burstsOf is how many bursts are in chunks.
func burstsOf(chunks []store.Chunk) (n int) {
	for i := range chunks {
		n += len(chunks[i].Path) - len(chunks[i].NoBurst)
	}
	return n
}

// cuts are what is between a thread's calls besides bursts.
type cuts struct {
	originNS int64   // when the time before its first call begins
	gaps     []int32 // rows, ascending, without a burst before them
	paused   []int32 // those of them before which the program had paused recording
}

// read moves the calls of a ring into the columns of its thread, which have the room, and what was counted in its
// bursts. It lets go of each chunk that it has read.
func (of chunked) read(t *trace.Thread, at func(ticks uint64) int64) (c cuts) {
	if len(of.chunks) == 0 { // its calls were kept on the node, or it never calls MPI
		return c
	}
	c.originNS = at(of.chunks[0].Origin)
	row, bursts := 0, 0
	for k := range of.chunks {
		x := &of.chunks[k]
		ticks := x.Origin
		for i, number := range x.Path {
			enter := ticks + x.Burst[i]
			ticks = enter + x.Call[i]
			t.Calls.EnterNS[row+i], t.Calls.ExitNS[row+i], t.Calls.Path[row+i] = at(enter), at(ticks), of.pathOf(number)
		}
		for _, i := range x.NoBurst {
			c.gaps = append(c.gaps, int32(row)+int32(i))
		}
		for _, i := range x.Paused {
			c.paused = append(c.paused, int32(row)+int32(i))
		}
		addPolls(&t.Calls, x, row)
		for counter, event := range of.events {
			copyCounts(t.Bursts.Counters[counter][bursts:], x, event)
		}
		t.Calls.Unfinished = x.Unfinished
		row, bursts = row+len(x.Path), bursts+len(x.Path)-len(x.NoBurst)
		*x = store.Chunk{}
	}
	return c
}

// addPolls says how many calls each row of a chunk, the first of which is given, stands for; where all rows of a thread
// are one call that is not kept.
func addPolls(calls *trace.Calls, c *store.Chunk, first int) {
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
func copyCounts(to []int64, c *store.Chunk, event int) {
	if event < 0 {
		for i := range len(c.Path) - len(c.NoBurst) {
			to[i] = trace.NoCount
		}
		return
	}
	noBurst, n := c.NoBurst, 0
	for row, v := range c.Column(event) {
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
	gaps, paused := c.gaps, c.paused
	exitNS, before, burst := c.originNS, uint32(0), 0
	b := &t.Bursts
	for row, enterNS := range t.Calls.EnterNS {
		if len(gaps) > 0 && int(gaps[0]) == row {
			gaps = gaps[1:]
			switch {
			case len(paused) > 0 && int(paused[0]) == row:
				paused = paused[1:]
				t.Pauses = append(t.Pauses, trace.Pause{BeginNS: exitNS, EndNS: enterNS})
			case enterNS > exitNS && row > 0: // not the first call, nor a place of a run of polls
				t.Lost = append(t.Lost, trace.Span{BeginNS: exitNS, EndNS: enterNS, Window: -1})
			}
		} else {
			b.StartNS[burst], b.DurationNS[burst] = exitNS, enterNS-exitNS
			b.Before[burst], b.After[burst] = before, t.Calls.Path[row]
			burst++
		}
		exitNS, before = t.Calls.ExitNS[row], t.Calls.Path[row]
	}
	if n := t.Calls.Len(); n > 0 {
		t.BeginNS, t.EndNS = t.Calls.EnterNS[0], exitNS
	}
}
