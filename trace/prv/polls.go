package prv

import (
	"bufio"
	"fmt"
	"slices"

	"moriens/trace"
)

// several says for how many calls a row stands, where that is not one.
func several(c *trace.Calls, row int) (n int64, is bool) {
	if c.Count == nil || c.Count[row] == 1 {
		return 1, false
	}
	return c.Count[row], true
}

func writePollLabels(out *bufio.Writer, run *trace.Run) {
	if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool {
		return slices.ContainsFunc(t.Calls.Count, func(n int64) bool { return n != 1 })
	}) {
		fmt.Fprintf(out, "\n\nEVENT_TYPE\n1    %d    MPI calls in a run of polls\n", typePolls)
	}
}

// polls says for how many calls the one that has just begun stands; 0 = nothing shows.
func (t *threadReader) polls(n int64) {
	c := &t.calls
	if c.Count == nil {
		if n <= 1 {
			return
		}
		c.Count = slices.Repeat([]int64{1}, c.Len()-1)
	}
	c.Count = append(c.Count, max(n, 1))
}
