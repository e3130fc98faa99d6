package prv

import (
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
)

// An item is a call or a burst of a thread.
type item struct {
	kind           itemKind
	index          int
	beginNS, endNS int64
}

// A cursor walks the calls and bursts of one thread in the order of time. Calls do not overlap each other, nor do
// bursts; a call and a burst may, for there are traces in which a thread is running inside MPI.
type cursor struct {
	t      *trace.Thread
	thread int
	object []byte // "cpu:appl:task:thread:"

	call, burst int               // the next of each
	collective  int               // the next of the collective calls
	last        item              // taken last
	current     [isBurst + 1]item // begun, not yet ended, by kind
	inCalls     int               // the next of the bursts with counts of calls
	inCall      int               // that of them which ended last; -1: none has
	wait        int               // the next of the waits
	nextNS      int64             // of the next joint
	// When the wait of the call that has begun ends; noWait where it does not wait any more.
	waitsUntilNS int64
	over         bool
	err          error
}

const noWait = -1

func newCursor(run *trace.Run, thread int) (*cursor, error) {
	t := &run.Threads[thread]
	if n := t.Calls.Len(); len(t.Calls.ExitNS) != n || len(t.Calls.Path) != n || t.Calls.Count != nil && len(t.Calls.Count) != n {
		return nil, fmt.Errorf("columns of the calls differ in length")
	}
	for i, p := range t.Calls.Path {
		if int(p) >= len(run.CallPaths) {
			return nil, fmt.Errorf("call %d: no call path %d", i, p)
		}
	}
	n := t.Bursts.Len()
	if len(t.Bursts.DurationNS) != n || len(t.Bursts.Cluster) != n || len(t.Bursts.Counters) > len(run.Counters) {
		return nil, fmt.Errorf("columns of the bursts differ in length")
	}
	for k := range t.Bursts.Counters {
		if len(t.Bursts.Counters[k]) != n {
			return nil, fmt.Errorf("columns of the bursts differ in length")
		}
	}
	x := &t.Collectives
	if n := x.Len(); len(x.Comm) != n || len(x.Sent) != n || len(x.Received) != n || len(x.Root) != n || x.Instance != nil && len(x.Instance) != n {
		return nil, fmt.Errorf("columns of the collectives differ in length")
	}
	if err := checkKept(run, t); err != nil {
		return nil, err
	}
	if err := checkDetail(run, t); err != nil {
		return nil, err
	}
	if err := checkWaits(run, t); err != nil {
		return nil, err
	}
	c := &cursor{t: t, thread: thread, object: appendObject(nil, t), inCall: -1, waitsUntilNS: noWait}
	c.schedule()
	return c, c.err
}

// collectiveOf finds the collective that a call is; calls come in their order.
func (c *cursor) collectiveOf(call int) (i int, is bool) {
	c.collective, is = c.t.Collectives.CallAt(uint32(call), c.collective)
	return c.collective, is
}

// takeInCall finds what of the counters of a burst that ends is of the call of 0 ns that begins there.
func (c *cursor) takeInCall(burst int, begins item) {
	list := c.t.Bursts.InCalls.Burst
	for c.inCalls < len(list) && int(list[c.inCalls]) < burst {
		c.inCalls++
	}
	c.inCall = -1
	if c.inCalls < len(list) && int(list[c.inCalls]) == burst && begins.kind == isCall && begins.endNS == begins.beginNS {
		c.inCall = c.inCalls
	}
}

func (c *cursor) done() bool { return c.over }

// peek returns the item that begins next. Of a call and a burst that begin together the one of zero length comes first;
// if both have, calls and bursts take turns, as they do in a run, where every burst follows a call.
func (c *cursor) peek() (item, bool) {
	var call, burst item
	if c.call < c.t.Calls.Len() {
		call = item{isCall, c.call, c.t.Calls.EnterNS[c.call], c.t.Calls.ExitNS[c.call]}
	}
	if c.burst < c.t.Bursts.Len() {
		begin := c.t.Bursts.StartNS[c.burst]
		burst = item{isBurst, c.burst, begin, begin + c.t.Bursts.DurationNS[c.burst]}
	}
	switch {
	case call.kind == isNothing && burst.kind == isNothing:
		return item{}, false
	case call.kind == isNothing:
		return burst, true
	case burst.kind == isNothing:
		return call, true
	case call.beginNS != burst.beginNS:
		if call.beginNS < burst.beginNS {
			return call, true
		}
		return burst, true
	}
	callEmpty, burstEmpty := call.endNS == call.beginNS, burst.endNS == burst.beginNS
	if callEmpty && !burstEmpty || callEmpty == burstEmpty && !(c.last.kind == isCall && c.last.endNS == call.beginNS) {
		return call, true
	}
	return burst, true
}

// advance takes the item that peek returned.
func (c *cursor) advance(x item) {
	if x.endNS < x.beginNS {
		c.err = fmt.Errorf("%s ends before it begins", x)
	}
	c.current[x.kind], c.last = x, x
	if x.kind == isCall {
		c.call++
	} else {
		c.burst++
	}
}

// ending takes an item that ends at a time, the burst before the call, or none.
func (c *cursor) ending(nowNS int64) item {
	for _, kind := range [...]itemKind{isBurst, isCall} {
		if x := c.current[kind]; x.kind != isNothing && x.endNS == nowNS {
			c.current[kind] = item{}
			return x
		}
	}
	return item{}
}

// ends reports whether an item ends at a time.
func (c *cursor) ends(nowNS int64) bool {
	return slices.ContainsFunc(c.current[:], func(x item) bool { return x.kind != isNothing && x.endNS == nowNS })
}

// schedule finds the time of the next joint.
func (c *cursor) schedule() {
	lastNS := c.nextNS
	c.nextNS, c.over = math.MaxInt64, true
	for _, x := range c.current {
		if x.kind != isNothing {
			c.nextNS, c.over = min(c.nextNS, x.endNS), false
		}
	}
	if c.waitsUntilNS != noWait {
		c.nextNS = min(c.nextNS, c.waitsUntilNS)
	}
	next, ok := c.peek()
	if !ok {
		return
	}
	if before := c.current[next.kind]; before.kind != isNothing && next.beginNS < before.endNS {
		c.err = fmt.Errorf("%s begins before %s ends", next, before)
	} else if next.beginNS < lastNS {
		c.err = fmt.Errorf("%s is out of order", next)
	}
	c.nextNS, c.over = min(c.nextNS, next.beginNS), false
}

func (x item) String() string {
	kind := "burst"
	if x.kind == isCall {
		kind = "call"
	}
	return fmt.Sprintf("%s %d (%d to %d ns)", kind, x.index, x.beginNS, x.endNS)
}

// A cursorQueue is a heap by time, then by thread.
type cursorQueue []*cursor

func (q cursorQueue) Len() int { return len(q) }
func (q cursorQueue) Less(i, j int) bool {
	if q[i].nextNS != q[j].nextNS {
		return q[i].nextNS < q[j].nextNS
	}
	return q[i].thread < q[j].thread
}
func (q cursorQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *cursorQueue) Push(x any)   { *q = append(*q, x.(*cursor)) }
func (q *cursorQueue) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	return c
}
