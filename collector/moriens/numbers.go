package moriens

import (
	"cmp"
	"slices"
	"time"

	"moriens/internal/anchor"
	"moriens/trace"
)

const (
	// readLate is how late an agent may read a call of a thread: what has no anchors of its own is in the window that is open then.
	readLate = 200 * time.Millisecond
	// rateKnown is how long an agent may not know the rate of its clock, and cut no window by time.
	rateKnown = 30 * time.Second
)

// A step is an anchor at which a window of a process begins.
type step struct {
	ns     int64 // when the anchor before it ended
	window anchor.Window
}

// steps are the windows of a process as its agent numbers them, but for parts by time.
func (h *history) steps(of int) []step {
	p := &h.processes[of]
	type event struct {
		ns      int64
		comm    uint32
		ordinal uint64
	}
	var events []event
	for _, thread := range p.threads {
		calls := &h.run.Threads[thread].Calls
		for k := range h.rings[thread].Collectives {
			c := &h.rings[thread].Collectives[k]
			for i, row := range c.Row {
				m := p.Comms[c.Comm[i]]
				if m.Communicator != nil && anchor.OfAllRanks(m.Info, int64(p.Info.Size)) {
					events = append(events, event{calls.ExitNS[row], c.Comm[i], c.Ordinal[i]})
				}
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.ns, b.ns) })
	begin := int64(0)
	for i, thread := range p.threads {
		if t := &h.run.Threads[thread]; i == 0 || t.BeginNS < begin {
			begin = t.BeginNS
		}
	}
	list := []step{{begin, anchor.After(0)}}
	counts := make(map[uint32]uint64)
	total := uint64(0)
	for _, e := range events {
		if n := e.ordinal + 1; n > counts[e.comm] {
			total += n - counts[e.comm]
			counts[e.comm] = n
		}
		if w := anchor.After(total); w > list[len(list)-1].window {
			list = append(list, step{e.ns, w})
		}
	}
	return list
}

// windowsOf are the numbers of the windows in which an agent may have what a process did in a span. There may be more than those: edges by time are not
// sharp, and of several threads nothing tells when each was read.
func (h *history) windowsOf(of int, steps []step, s trace.Span) []anchor.Window {
	endNS := s.EndNS
	if len(h.processes[of].Rings) > 1 {
		endNS += readLate.Nanoseconds()
	}
	at := func(ns int64) int {
		i, found := slices.BinarySearchFunc(steps, ns, func(s step, ns int64) int { return cmp.Compare(s.ns, ns) })
		if !found {
			i--
		}
		return max(i, 0)
	}
	first, last := at(s.BeginNS), at(endNS)
	first = max(first-1, 0) // an anchor is of the window that it ends
	var list []anchor.Window
	for i := first; i <= last; i++ {
		low, high := time.Duration(0), time.Duration(endNS-steps[i].ns)
		if i == first && s.BeginNS-steps[0].ns > rateKnown.Nanoseconds() {
			low = time.Duration(s.BeginNS - steps[i].ns)
		}
		if i < last {
			high = time.Duration(steps[i+1].ns - steps[i].ns)
		}
		from, to := steps[i].window.At(low), steps[i].window.At(high)+1
		if from > steps[i].window {
			from--
		}
		for w := from; w <= to; w++ {
			list = append(list, w)
		}
	}
	return list
}
