package store

import (
	"math"
	"slices"

	"moriens/trace"
)

// maxTicks bounds the sum of all ticks of a ring, so that no later sum overflows.
const maxTicks = math.MaxInt64

// maxPolls bounds a run of polls, so that no sum of them overflows; the shim ends a run after 0.1 s.
const maxPolls = 1 << 40

// A Chunk is consecutive calls of a ring, one a row, or runs of polls; the slices that are not sparse have
// one length.
type Chunk struct {
	Origin     uint64   // ticks at which the first burst starts
	Burst      []uint64 // ticks before each call
	Call       []uint64 // ticks inside each call
	Path       []uint32 // Store's number of the call path
	NoBurst    []uint32 // rows, ascending, whose time before the call is no burst
	Paused     []uint32 // those of NoBurst before which the program had paused recording
	Unfinished bool     // the process died inside the last call
	PollsRow   []uint32 // rows, ascending, that are runs of polls,
	Polls      []uint64 // and how many calls each stands for
	// Counts are what the process's events counted in the burst before each call, in the order of Info.Events;
	// trace.NoCount where that is not known. A column has a value for each row but those of NoCounts.
	Counts   [][]int64
	NoCounts []uint32 // ascending

	// Sums of what is above, of a process whose calls are not kept on its node: while the job runs others need not look at
	// each row.
	Strata               []Stratum // of its bursts, in the order of their first ones
	Computing, MPI, Span uint64    // ticks of its bursts, of its calls, and of all its rows
	starts               []uint64  // ticks at which the burst before every row that is a multiple of timedRows starts, but the first
}

// Count is an event's count in the burst before a row, trace.NoCount where there is none.
func (c *Chunk) Count(event, row int) int64 {
	without, missing := slices.BinarySearch(c.NoCounts, uint32(row))
	if missing {
		return trace.NoCount
	}
	return c.Counts[event][row-without]
}

// Column gives an event's count for each row, trace.NoCount where there is none. It must not be changed.
func (c *Chunk) Column(event int) []int64 {
	sparse := c.Counts[event]
	if len(c.NoCounts) == 0 {
		return sparse
	}
	column := make([]int64, len(c.Path))
	without := c.NoCounts
	for row := range column {
		if len(without) > 0 && int(without[0]) == row {
			without = without[1:]
			column[row] = trace.NoCount
		} else {
			column[row], sparse = sparse[0], sparse[1:]
		}
	}
	return column
}
