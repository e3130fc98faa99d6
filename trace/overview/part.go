package overview

import (
	"math"
	"slices"
	"sort"

	"moriens/internal/team"
	"moriens/trace"
)

// LongestNS is the longest time that Part draws of so many threads: their time is added up in 64 bits, and twice where
// calls overlap bursts.
func LongestNS(threads int) int64 { return math.MaxInt64 / 2 / int64(threads) }

// A Section is a part of a run and the grid that it is drawn on.
type Section struct {
	First, Last    int   // threads, both included
	BeginNS, EndNS int64 // at least a nanosecond apart and at most LongestNS
	Rows, Bins     int   // fewer rows are drawn where there are not as many threads
}

// Part draws a section of a run. It has no Profile, Waiting and Path. Threads have nothing to show of times that are
// not kept of them.
func Part(run *trace.Run, s Section) *Overview {
	part := &trace.Run{DurationNS: s.EndNS - s.BeginNS, Clusters: run.Clusters}
	for i := s.First; i <= s.Last; i++ {
		part.Threads = append(part.Threads, cut(&run.Threads[i], s.BeginNS, s.EndNS))
	}
	has, _ := hasOf(part, team.Threads{}) // there is no other member that could fail, nor is there below
	o, _ := on(part, team.Threads{}, has, Groups(len(part.Threads), s.Rows), s.Bins)
	o.BeginNS, o.EndNS = s.BeginNS, s.EndNS
	for i := range o.Rows {
		o.Rows[i][0] += s.First
		o.Rows[i][1] += s.First
	}
	o.Codes, o.Profile, o.Waiting = []int{}, []float32{}, nil
	return o
}

// cut is what the calls and bursts of a thread have of a time, counted from its begin.
func cut(t *trace.Thread, beginNS, endNS int64) trace.Thread {
	within := func(ns int64) int64 { return min(max(ns, beginNS), endNS) - beginNS }
	// Calls do not overlap, nor do bursts: only the one before the first that starts inside may reach into it.
	span := func(n int, start func(i int) int64) (first, next int) {
		first = sort.Search(n, func(i int) bool { return start(i) >= beginNS })
		next = first + sort.Search(n-first, func(i int) bool { return start(first+i) >= endNS })
		return max(0, first-1), next
	}
	var c trace.Thread
	first, next := span(t.Calls.Len(), func(i int) int64 { return t.Calls.EnterNS[i] })
	for i := first; i < next; i++ {
		c.Calls.EnterNS = append(c.Calls.EnterNS, within(t.Calls.EnterNS[i]))
		c.Calls.ExitNS = append(c.Calls.ExitNS, within(t.Calls.ExitNS[i]))
	}
	w, _ := slices.BinarySearch(t.Waits.Call, uint32(first))
	for ; w < t.Waits.Len() && int(t.Waits.Call[w]) < next; w++ {
		c.Waits.Call, c.Waits.Kind = append(c.Waits.Call, t.Waits.Call[w]-uint32(first)), append(c.Waits.Kind, t.Waits.Kind[w])
		c.Waits.UntilNS = append(c.Waits.UntilNS, within(t.Waits.UntilNS[w]))
	}
	first, next = span(t.Bursts.Len(), func(i int) int64 { return t.Bursts.StartNS[i] })
	for i := first; i < next; i++ {
		start := within(t.Bursts.StartNS[i])
		c.Bursts.StartNS = append(c.Bursts.StartNS, start)
		c.Bursts.DurationNS = append(c.Bursts.DurationNS, within(t.Bursts.StartNS[i]+t.Bursts.DurationNS[i])-start)
	}
	c.Bursts.Cluster = slices.Clone(t.Bursts.Cluster[first:next])
	for _, s := range t.Lost {
		if s.BeginNS < endNS && s.EndNS > beginNS {
			c.Lost = append(c.Lost, trace.Span{BeginNS: within(s.BeginNS), EndNS: within(s.EndNS)})
		}
	}
	return c
}
