package otf2

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/trace"
)

type itemKind uint8

const (
	isNothing itemKind = iota
	isCall
	isBurst
	isDropped
)

// An item is what becomes a region.
type item struct {
	kind           itemKind
	index          int
	beginNS, endNS int64
}

func (x item) String() string {
	kind := [...]string{isNothing: "nothing", isCall: "call", isBurst: "burst", isDropped: "dropped time"}[x.kind]
	return fmt.Sprintf("%s %d (%d to %d ns)", kind, x.index, x.beginNS, x.endNS)
}

// A stream puts what is known of one thread in the order of its events: stamps increase, and regions nest.
type stream struct {
	run *trace.Run
	d   *definitions
	t   *trace.Thread
	out stamper
	err error

	call, burst, gap int // next of each
	gaps             []trace.Span
	last             item
	open             []item // outermost first
	collective       int
	wait             int          // next of the waits
	loose            []looseEvent // in the order of time
	atCall           []callEvent  // in the order of calls
	total            []uint64     // of each counter, so far; it may wrap
	straddling       int          // bursts left out
}

// newStream makes that of a thread. It emits events with the times that they have in the run beside them. Without a
// plan the stamps of other locations are not known.
func newStream(run *trace.Run, d *definitions, thread int, ends [][]messageEnd, p *plan, emit func(e event, exactNS int64) error) *stream {
	t := &run.Threads[thread]
	s := &stream{run: run, d: d, t: t, out: stamper{emit: emit, plan: p, lastNS: -1}, total: make([]uint64, len(run.Counters))}
	if run.Windows != nil {
		t.Dropped(func(beginNS, endNS int64) { s.gaps = append(s.gaps, trace.Span{BeginNS: beginNS, EndNS: endNS}) })
	}
	s.placeMarks()
	s.placeMessages(ends[thread])
	slices.SortStableFunc(s.loose, func(a, b looseEvent) int { return cmp.Compare(a.timeNS, b.timeNS) })
	slices.SortStableFunc(s.atCall, func(a, b callEvent) int { return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.side, b.side)) })
	return s
}

// write emits the events of the thread.
func (s *stream) write() error {
	for s.err == nil {
		x := s.peek()
		if x.kind == isNothing {
			break
		}
		s.take(x)
		if x.kind == isBurst && s.straddles(x) {
			s.straddling++
			continue
		}
		s.closeUntil(x.beginNS)
		s.looseUntil(x.beginNS)
		s.enter(x)
	}
	s.closeUntil(math.MaxInt64)
	s.looseUntil(math.MaxInt64)
	if s.err == nil {
		s.err = s.out.settle(false)
	}
	return s.err
}

// peek returns the item that begins next. Of those that begin together one of zero length comes first, of calls and
// bursts of zero length they take turns; then a call comes before a burst.
func (s *stream) peek() item {
	var x item
	better := func(y item) {
		switch {
		case x.kind == isNothing || y.beginNS < x.beginNS:
			x = y
		case y.beginNS > x.beginNS:
		case y.endNS == y.beginNS && x.endNS > x.beginNS:
			x = y
		case x.kind == isCall && x.endNS == x.beginNS && y.endNS == y.beginNS && s.last.kind == isCall && s.last.endNS == x.beginNS:
			x = y
		case x.endNS > x.beginNS && y.endNS > x.endNS: // which holds the other
			x = y
		}
	}
	if i := s.call; i < s.t.Calls.Len() {
		better(item{isCall, i, s.t.Calls.EnterNS[i], s.t.Calls.ExitNS[i]})
	}
	if i := s.burst; i < s.t.Bursts.Len() {
		begin := s.t.Bursts.StartNS[i]
		better(item{isBurst, i, begin, begin + s.t.Bursts.DurationNS[i]})
	}
	if i := s.gap; i < len(s.gaps) {
		better(item{isDropped, i, s.gaps[i].BeginNS, s.gaps[i].EndNS})
	}
	return x
}

func (s *stream) take(x item) {
	s.last = x
	switch x.kind {
	case isCall:
		s.call++
	case isBurst:
		s.burst++
	case isDropped:
		s.gap++
	}
}

// straddles reports whether a burst overlaps a call in part. There are such ones in traces in which a thread is running
// inside MPI.
func (s *stream) straddles(x item) bool {
	c := &s.t.Calls
	part := func(i int) bool {
		enter, exit := c.EnterNS[i], c.ExitNS[i]
		return enter < x.beginNS && x.beginNS < exit && exit < x.endNS || x.beginNS < enter && enter < x.endNS && x.endNS < exit
	}
	// Calls do not overlap: only the last one that begins before the burst's end can reach beyond it, only the last one
	// that begins before its begin into it.
	last, _ := slices.BinarySearch(c.EnterNS, x.endNS)
	first, _ := slices.BinarySearch(c.EnterNS, x.beginNS)
	return last > 0 && part(last-1) || first > 0 && part(first-1)
}

// closeUntil leaves the regions that end before a time, or at it.
func (s *stream) closeUntil(nowNS int64) {
	for n := len(s.open); n > 0 && s.err == nil; n = len(s.open) {
		x := s.open[n-1]
		if x.endNS > nowNS {
			return
		}
		s.looseUntil(x.endNS)
		s.open = s.open[:n-1]
		s.leave(x)
	}
}

func (s *stream) put(e event) { s.putAs(e, anything, 0) }

func (s *stream) putAs(e event, priority uint8, end endRef) {
	if s.err == nil {
		s.err = s.out.put(e, priority, end)
	}
}

func (s *stream) enter(x item) {
	if n := len(s.open); n > 0 && s.open[n-1].endNS < x.endNS && s.err == nil {
		s.err = fmt.Errorf("%v overlaps %v in part", x, s.open[n-1])
	}
	s.open = append(s.open, x)
	switch x.kind {
	case isCall:
		s.enterCall(x)
	case isBurst:
		s.enterBurst(x)
	case isDropped:
		s.putAs(event{timeNS: x.beginNS, kind: eventEnter, ref: s.d.dropped}, edge, 0)
		s.put(event{timeNS: x.beginNS, kind: eventMeasurement, args: [5]uint64{measurementOff}})
	}
}

func (s *stream) leave(x item) {
	switch x.kind {
	case isCall:
		s.leaveCall(x)
	case isBurst:
		s.leaveBurst(x)
	case isDropped:
		s.put(event{timeNS: x.endNS, kind: eventMeasurement, args: [5]uint64{measurementOn}})
		s.putAs(event{timeNS: x.endNS, kind: eventLeave, ref: s.d.dropped}, edge, 0)
	}
}

func (s *stream) enterCall(x item) {
	path := s.t.Calls.Path[x.index]
	e := event{timeNS: x.beginNS, kind: eventEnter, ref: s.d.callRegions[path]}
	if c := s.d.callContext[path]; c != undefined {
		e.attribute(attrContext, uint64(c))
	}
	if path != 0 {
		e.attribute(attrPath, uint64(path))
	}
	if c := s.t.Calls.Count; c != nil && c[x.index] != 1 {
		e.attribute(attrCalls, uint64(c[x.index]))
	}
	s.putAs(e, edge, 0)
	s.collectiveBegin(x, &s.d.functions[path])
	s.callEvents(x.index, atEnter, x.beginNS)
}

func (s *stream) leaveCall(x item) {
	path := s.t.Calls.Path[x.index]
	s.callEvents(x.index, atLeave, x.endNS)
	e := event{timeNS: x.endNS, kind: eventLeave, ref: s.d.callRegions[path]}
	s.collectiveEnd(x, &s.d.functions[path], &e)
	if s.t.Calls.Unfinished && x.index == s.t.Calls.Len()-1 {
		e.attribute(attrUnfinished, 1)
	}
	s.waited(x, &e)
	s.putAs(e, edge, 0)
}

// waited says on the leave of a call for whom it waited, and how long.
func (s *stream) waited(x item, leave *event) {
	w := &s.t.Waits
	for s.wait < w.Len() && int(w.Call[s.wait]) < x.index {
		s.wait++
	}
	i := s.wait
	if i == w.Len() || int(w.Call[i]) != x.index {
		return
	}
	leave.attribute(attrWaitKind, uint64(s.d.waitKinds[w.Kind[i]]))
	leave.attribute(attrWaitNS, uint64(w.UntilNS[i]-x.beginNS))
	if w.For[i] >= 0 {
		leave.attribute(attrWaitFor, uint64(s.d.threadNames[w.For[i]]))
	}
}

func (s *stream) enterBurst(x item) {
	ref, err := s.d.clusters.of(s.t.Bursts.Cluster[x.index])
	s.err = cmp.Or(s.err, err)
	s.putAs(event{timeNS: x.beginNS, kind: eventEnter, ref: ref}, burstEdge, 0)
	s.counters(x, x.beginNS)
}

func (s *stream) leaveBurst(x item) {
	b := &s.t.Bursts
	for k, column := range b.Counters {
		if v := column[x.index]; v != trace.NoCount {
			s.total[k] += uint64(v)
		}
	}
	s.counters(x, x.endNS)
	label := b.Cluster[x.index]
	ref, _ := s.d.clusters.of(label)
	e := event{timeNS: x.endNS, kind: eventLeave, ref: ref}
	e.attribute(attrCluster, uint64(uint32(label)))
	if b.Weight != nil && b.Weight[x.index] != 1 {
		e.attribute(attrWeight, math.Float64bits(b.Weight[x.index]))
	}
	s.putAs(e, burstEdge, 0)
}

// counters emits the totals of the counters that a burst has, at one of its edges.
func (s *stream) counters(x item, timeNS int64) {
	has := 0
	for _, column := range s.t.Bursts.Counters {
		if column[x.index] != trace.NoCount {
			has++
		}
	}
	switch has {
	case 0:
	case len(s.total):
		for from := 0; from < has; from += len(event{}.args) {
			e := event{kind: eventValues, ref: uint32(min(has-from, len(event{}.args)))}
			copy(e.args[:], s.total[from:])
			s.put(e)
		}
		s.put(event{timeNS: timeNS, kind: eventMetric})
	default:
		for k, column := range s.t.Bursts.Counters {
			if column[x.index] != trace.NoCount {
				s.put(event{kind: eventValues, ref: 1, args: [5]uint64{s.total[k]}})
				s.put(event{timeNS: timeNS, kind: eventMetric, ref: uint32(k) + 1})
			}
		}
	}
}
