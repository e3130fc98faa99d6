package store

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
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

func (s *Store) addCalls(c *moriensv1.Calls) error {
	r := s.rings[c.Ring]
	if r == nil {
		return fmt.Errorf("calls of unknown ring %016x", c.Ring)
	}
	ticks, err := r.check(c)
	if err != nil {
		return fmt.Errorf("ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	for i, local := range c.Path {
		if _, known := r.Process.local[local]; !known && local != 0 {
			return fmt.Errorf("ring %016x, call %d: call path %d is not defined", c.Ring, c.First+uint64(i), local)
		}
	}
	for i, local := range c.Path { // in place: the message is ours
		c.Path[i] = s.paths.number(r.Process, mpicall.ID(c.Function[i]), local)
	}
	if r.Calls == 0 {
		r.origin = c.OriginTicks
	}
	s.addChunk(r, &Chunk{
		Origin: c.OriginTicks, Burst: c.BurstTicks, Call: c.CallTicks, Path: c.Path,
		NoBurst: c.NoBurst, Paused: c.Paused, Unfinished: c.Unfinished, PollsRow: c.PollsRow, Polls: c.Polls,
		Counts: columns(c.Counts), NoCounts: c.NoCounts,
	})
	r.ticks = ticks
	return nil
}

func columns(counts []*moriensv1.Counts) [][]int64 {
	var list [][]int64
	for _, c := range counts {
		list = append(list, c.Value)
	}
	return list
}

// check validates a Calls message and returns the ring's ticks with it.
func (r *Ring) check(c *moriensv1.Calls) (ticks uint64, err error) {
	n := len(c.Function)
	switch {
	case n == 0:
		return 0, errors.New("no calls")
	case len(c.Path) != n || len(c.BurstTicks) != n || len(c.CallTicks) != n || len(c.NoBurst) > n:
		return 0, fmt.Errorf("columns of %d, %d, %d and %d rows", n, len(c.Path), len(c.BurstTicks), len(c.CallTicks))
	case r.End != nil:
		return 0, errors.New("the ring has ended")
	case c.First != r.Calls:
		return 0, fmt.Errorf("it follows call %d", int64(r.Calls)-1)
	case c.OriginTicks > maxTicks:
		return 0, errors.New("its ticks overflow")
	}
	if err := r.checkSparse(c); err != nil {
		return 0, err
	}
	sum := r.ticks
	for i := range n {
		if c.BurstTicks[i] > maxTicks-sum {
			return 0, errors.New("its ticks overflow")
		}
		sum += c.BurstTicks[i]
		if c.CallTicks[i] > maxTicks-sum {
			return 0, errors.New("its ticks overflow")
		}
		sum += c.CallTicks[i]
		if c.Function[i] > math.MaxUint16 || !mpicall.ID(c.Function[i]).Known() {
			return 0, fmt.Errorf("unknown MPI function %d", c.Function[i])
		}
	}
	if sum > maxTicks-c.OriginTicks {
		return 0, errors.New("its ticks overflow")
	}
	return sum, nil
}

// checkSparse validates the columns that do not have a value for every row.
func (r *Ring) checkSparse(c *moriensv1.Calls) error {
	n := len(c.Function)
	for _, rows := range []struct {
		name string
		rows []uint32
	}{{"no_burst", c.NoBurst}, {"paused", c.Paused}, {"polls_row", c.PollsRow}, {"no_counts", c.NoCounts}} {
		last := int64(-1)
		for _, row := range rows.rows {
			if int64(row) <= last || int(row) >= n {
				return fmt.Errorf("%s does not ascend within the rows", rows.name)
			}
			last = int64(row)
		}
	}
	for _, row := range c.Paused {
		if _, without := slices.BinarySearch(c.NoBurst, row); !without {
			return fmt.Errorf("row %d is paused and has a burst", row)
		}
	}
	if len(c.Polls) != len(c.PollsRow) {
		return fmt.Errorf("%d runs of polls have %d numbers", len(c.PollsRow), len(c.Polls))
	}
	for _, polls := range c.Polls {
		if polls < 2 || polls > maxPolls {
			return fmt.Errorf("a run of %d polls", polls)
		}
	}
	if events := len(r.Process.Info.Events); len(c.Counts) != events {
		return fmt.Errorf("counts of %d events, the process has %d", len(c.Counts), events)
	}
	for _, column := range c.Counts {
		if len(column.Value) != n-len(c.NoCounts) {
			return fmt.Errorf("%d counts for %d rows without %d", len(column.Value), n, len(c.NoCounts))
		}
	}
	return nil
}
