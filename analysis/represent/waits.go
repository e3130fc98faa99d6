package represent

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"moriens/analysis/workers"
)

// Absent stands for the time of a call that a thread lacks.
const Absent int64 = math.MinInt64

// Waits say who waited for whom at the collective calls of all ranks.
type Waits struct {
	CausedNS   []int64 // per thread: how long all others together waited for it
	SufferedNS []int64 // per thread: how long it waited for others
	Last       []int64 // per thread: at how many calls others waited for it
}

// WaitsAt computes who waited for whom. enterNS[t][k] and exitNS[t][k] are when thread t entered and left the k-th call
// of all ranks, or Absent; a thread that ended early has fewer. A thread waits for one other: the last to enter of
// those that entered before it left, since it cannot have waited for later ones. It waits until it leaves or that
// thread enters. Ties go to the first thread.
func WaitsAt(enterNS, exitNS [][]int64, threads int) (*Waits, error) {
	if len(enterNS) != len(exitNS) {
		return nil, fmt.Errorf("represent: calls entered by %d threads, left by %d", len(enterNS), len(exitNS))
	}
	calls := 0
	for t := range enterNS {
		if len(enterNS[t]) != len(exitNS[t]) {
			return nil, fmt.Errorf("represent: thread %d: %d calls entered, %d left", t, len(enterNS[t]), len(exitNS[t]))
		}
		calls = max(calls, len(enterNS[t]))
	}
	n := len(enterNS)
	all := newWaits(n)
	var mu sync.Mutex
	workers.Chunks(calls, min(threads, calls), func(_, from, to int) {
		c := count{Waits: newWaits(n)}
		for k := from; k < to; k++ {
			c.at(enterNS, exitNS, k)
		}
		mu.Lock()
		all.add(c.Waits)
		mu.Unlock()
	})
	return all, nil
}

func newWaits(n int) *Waits {
	return &Waits{CausedNS: make([]int64, n), SufferedNS: make([]int64, n), Last: make([]int64, n)}
}

func (w *Waits) add(o *Waits) {
	for t := range w.Last {
		w.CausedNS[t] += o.CausedNS[t]
		w.SufferedNS[t] += o.SufferedNS[t]
		w.Last[t] += o.Last[t]
	}
}

// A count is what one worker adds up.
type count struct {
	*Waits
	there    []arrival // threads at the call that is looked at, the first one first
	entersNS []int64   // when they entered, ascending; only the last one's time, if none left before that
	costNS   []int64   // per entersNS, in the last place of those that are equal: what the others waited until then
}

// An arrival is a thread at a call.
type arrival struct {
	thread          int
	enterNS, exitNS int64
}

func (c *count) at(enterNS, exitNS [][]int64, k int) {
	c.there, c.entersNS = c.there[:0], c.entersNS[:0]
	latestNS, firstExitNS := int64(math.MinInt64), int64(math.MaxInt64)
	for t := range enterNS {
		if k >= len(enterNS[t]) || enterNS[t][k] == Absent || exitNS[t][k] == Absent {
			continue
		}
		a := arrival{t, enterNS[t][k], exitNS[t][k]}
		latestNS, firstExitNS = max(latestNS, a.enterNS), min(firstExitNS, a.exitNS)
		c.there = append(c.there, a)
		c.entersNS = append(c.entersNS, a.enterNS)
	}
	if firstExitNS >= latestNS {
		c.entersNS = append(c.entersNS[:0], latestNS)
	} else {
		slices.Sort(c.entersNS)
	}
	c.costNS = append(c.costNS[:0], make([]int64, len(c.entersNS))...)
	for _, a := range c.there {
		i := c.lastBy(a.exitNS)
		if i < 0 { // it left before it entered
			continue
		}
		if ns := c.entersNS[i] - a.enterNS; ns > 0 {
			c.SufferedNS[a.thread] += ns
			c.costNS[i] += ns
		}
	}
	for _, a := range c.there {
		if i := c.lastBy(a.enterNS); i >= 0 && c.costNS[i] > 0 {
			c.CausedNS[a.thread] += c.costNS[i]
			c.Last[a.thread]++
			c.costNS[i] = 0
		}
	}
}

// lastBy is the place of the last that entered by then, -1 = none had.
func (c *count) lastBy(ns int64) int {
	last := len(c.entersNS) - 1
	if ns >= c.entersNS[last] {
		return last
	}
	i, _ := slices.BinarySearch(c.entersNS[:last], ns+1)
	return i - 1
}
