package perfetto

import (
	"fmt"
	"math"

	"moriens/trace"
)

// A kind is what a slice of a thread shows.
type kind int

const (
	isCall kind = iota
	isBurst
	isDropped
	isPause
	kinds
)

var kindNames = [kinds]string{"MPI call", "burst", "dropped time", "pause"}

// An item is one of a thread's slices.
type item struct {
	kind           kind
	index          int
	beginNS, endNS int64
}

// items goes through the slices of a thread, those of a set of kinds, in the order of time.
type items struct {
	t       *trace.Thread
	dropped []trace.Pause // what lies outside of the kept spans
	next    [kinds]int
	of      [kinds]bool
}

func newItems(t *trace.Thread, dropped []trace.Pause, of ...kind) *items {
	x := &items{t: t, dropped: dropped}
	for _, k := range of {
		x.of[k] = true
	}
	return x
}

// take returns the next item. Of those that begin together the shorter one comes first: it may have no length at all.
func (x *items) take() (item, bool) {
	best := item{beginNS: math.MaxInt64, kind: kinds}
	for k := range kinds {
		if !x.of[k] {
			continue
		}
		i, ok := x.peek(k)
		if ok && (best.kind == kinds || i.beginNS < best.beginNS || i.beginNS == best.beginNS && i.endNS < best.endNS) {
			best = i
		}
	}
	if best.kind == kinds {
		return item{}, false
	}
	x.next[best.kind]++
	return best, true
}

func (x *items) peek(k kind) (item, bool) {
	i := x.next[k]
	switch k {
	case isCall:
		if c := &x.t.Calls; i < c.Len() {
			return item{k, i, c.EnterNS[i], c.ExitNS[i]}, true
		}
	case isBurst:
		if b := &x.t.Bursts; i < b.Len() {
			return item{k, i, b.StartNS[i], b.StartNS[i] + b.DurationNS[i]}, true
		}
	case isDropped:
		if i < len(x.dropped) {
			return item{k, i, x.dropped[i].BeginNS, x.dropped[i].EndNS}, true
		}
	case isPause:
		if i < len(x.t.Pauses) {
			return item{k, i, x.t.Pauses[i].BeginNS, x.t.Pauses[i].EndNS}, true
		}
	}
	return item{}, false
}

// apart reports whether no two slices of a thread lie in one another, so that one track can show them all.
func apart(t *trace.Thread, dropped []trace.Pause) bool {
	x := newItems(t, dropped, isCall, isBurst, isDropped, isPause)
	for lastNS := int64(math.MinInt64); ; {
		i, ok := x.take()
		if !ok {
			return true
		}
		if i.beginNS < lastNS {
			return false
		}
		lastNS = i.endNS
	}
}

// check refuses items that end before they begin, or begin before the last one of their kind ends.
func (i item) check(lastNS int64) error {
	if i.endNS < i.beginNS || i.beginNS < lastNS {
		return fmt.Errorf("%s %d (%d to %d ns) is out of order, or overlaps the one before it", kindNames[i.kind], i.index, i.beginNS, i.endNS)
	}
	return nil
}

// droppedTime is the time of a thread outside of what is kept of it.
func droppedTime(run *trace.Run, t *trace.Thread) []trace.Pause {
	if run.Windows == nil {
		return nil
	}
	var list []trace.Pause
	t.Dropped(func(beginNS, endNS int64) { list = append(list, trace.Pause{BeginNS: beginNS, EndNS: endNS}) })
	return list
}
