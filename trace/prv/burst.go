package prv

import (
	"cmp"
	"fmt"

	"moriens/trace"
)

// A threadReader forms the calls and bursts of one thread from its records in the order of the file.
//
// A burst's deltas are those read at exactly its end, plus the samples strictly inside. What lies at its begin belongs
// to the region before it, also where a call of zero length lies between: all that is read at a time counts for the
// burst that ends there, as ClusteringSuite has it; what is read where a call of 0 ns ends there is in Bursts.InCalls
// too. Where several bursts of zero length share a time, the order of the lines decides: the state comes first, then
// its events, so a line at a burst's end followed by another such state closes it.
type threadReader struct {
	world, rank, thread, node int
	seen                      bool // a record other than idle
	beginNS, endNS            int64
	calls                     trace.Calls
	open                      bool // the last call has not ended
	openEvent                 callEvent
	bursts                    trace.Bursts
	collectives               trace.Collectives
	waits                     trace.Waits // For is a thread's number
	waiting                   bool        // the last of them has not ended
	critical                  []trace.Stretch
	onPath                    bool // likewise
	pauses                    []trace.Pause
	cover                     cover
	records                   int64
	lastNS                    int64 // of the last record
	held                      []heldLine
	heldFirst                 int      // before it is room
	nextCall                  []uint32 // by burst: the number of the call that follows it

	pending      []pendingBurst // a burst and those of zero length at its end; taken from first on
	first        int
	free         [][]int64
	clusterAt    int64 // time and label of a cluster that began where no burst had
	clusterLabel int32
	kept         []trace.Span
	inWindow     bool  // the last of kept has not ended
	set          int64 // active counter set
	setKnown     bool
	index        int // in Run.Threads
}

type pendingBurst struct {
	beginNS, endNS int64
	counters       []int64
	label          int32
	inCall         []int64 // of counters: what a call of 0 ns at its end has counted
	nextCall       int     // -1: none yet
	counted        bool    // a line at its end has counted
	atEnd          bool    // a line at its end has closed it; a burst of zero length will finish it
	stopped        bool    // the counter set changed
}

func newThreadReader(world, rank, thread, node int) *threadReader {
	return &threadReader{world: world, rank: rank, thread: thread, node: node, clusterAt: -1}
}

func (t *threadReader) touch(beginNS, endNS int64) {
	if !t.seen {
		t.seen = true
		t.beginNS = beginNS
	}
	t.endNS = max(t.endNS, endNS)
}

// state takes a state record. Time does not go back: the caller checks.
func (t *threadReader) state(beginNS, endNS int64, state int64) error {
	t.finishBefore(beginNS)
	t.stateCovers(beginNS, endNS, state)
	empty := state == stateRunning && beginNS == endNS
	for empty && t.first < len(t.pending) && t.pending[t.first].atEnd && beginNS >= t.pending[t.first].endNS {
		t.finish()
	}
	if state == stateIdle || state == stateAbsent {
		return nil
	}
	t.touch(beginNS, endNS)
	if state == statePaused {
		t.pauses = append(t.pauses, trace.Pause{BeginNS: beginNS, EndNS: endNS})
	}
	if state != stateRunning {
		return nil
	}
	if n := len(t.pending); n > t.first && t.pending[n-1].endNS > beginNS {
		return fmt.Errorf("running from %d begins before running from %d ends at %d", beginNS, t.pending[n-1].beginNS, t.pending[n-1].endNS)
	}
	p := pendingBurst{beginNS: beginNS, endNS: endNS, nextCall: -1}
	if n := len(t.free); n > 0 {
		p.counters, t.free = t.free[n-1][:0], t.free[:n-1]
	}
	if t.clusterAt == beginNS {
		p.label, t.clusterAt = t.clusterLabel, -1
	}
	t.pending = append(t.pending, p)
	return nil
}

// An eventLine is one event record, sorted into what concerns bursts.
type eventLine struct {
	timeNS       int64
	counters     []counterDelta
	calls        []callEvent // with the type's value, 0 for an end
	callers      []callEvent // of the call that begins, here or on a line before at the same time
	label        int32       // of a cluster's begin; 0 where none begins
	clusterEnded bool
	collective   collectiveEvents // of the call that begins
	polls        int64            // of the call that begins; 0 where the line does not say
	wait         waitEvent
	more         bool  // than what is of the critical path
	path         int64 // number of the call path of the call that begins; 0 = unknown
	tracing      bool  // the tracer was switched on or off
	traces       bool
	flushing     bool // a flush begins or ends
	flushes      bool
	windowed     bool // a window begins or ends
	window       int64
	sets         bool
	set          int64
	setBefore    int // how many of counters come before the set
}

type counterDelta struct {
	column int
	delta  int64
}

func (l *eventLine) reset(timeNS int64) {
	*l = eventLine{timeNS: timeNS, counters: l.counters[:0], calls: l.calls[:0], callers: l.callers[:0]}
}

// events takes an event record; paths gives the call path of an event.
func (t *threadReader) events(l *eventLine, path func(callEvent) uint32, comms commsByID) error {
	if l.more { // the critical path may come to a thread before that does anything
		t.touch(l.timeNS, l.timeNS)
	}
	t.finishBefore(l.timeNS)
	if l.windowed {
		if err := t.window(l.window, l.timeNS); err != nil {
			return err
		}
	}
	if l.tracing || l.flushing {
		t.tracerEvents(l)
	}
	callEnds, callBegins := false, false
	for _, c := range l.calls {
		if c.value == 0 {
			callEnds = true
		} else {
			callBegins = true
		}
	}
	var head *pendingBurst
	if t.first < len(t.pending) {
		head = &t.pending[t.first]
		empty := head.beginNS == head.endNS
		// At its begin the line belongs to what was before; for an empty burst the line's own events show.
		if !empty && head.beginNS == l.timeNS || empty && (callEnds || l.label != 0) {
			head = nil
		}
	}
	if head != nil {
		head.count(l, callEnds, t.setKnown && l.set != t.set)
		if head.endNS == l.timeNS && (len(l.counters) > 0 || callBegins || l.clusterEnded) {
			head.atEnd = true
		}
	}
	if l.sets {
		t.set, t.setKnown = l.set, true
	}
	wrong := t.path(&l.wait, l.timeNS) // with the rest of the line nothing is
	if l.wait.ends {
		wrong = cmp.Or(wrong, t.endWait(l.timeNS))
	}
	for _, c := range l.calls {
		if err := t.call(c, l.timeNS, path); err != nil {
			return err
		}
		if c.value != 0 {
			t.polls(l.polls)
		}
		switch {
		case c.value == 0 && t.waiting:
			t.dropWait()
			wrong = cmp.Or(wrong, errWaitOpen)
		case c.value != 0 && l.wait.kind != 0:
			t.beginWait(&l.wait)
		}
		if c.value != 0 && l.collective.seen {
			t.collective(&l.collective, t.calls.Len()-1, comms)
		}
		if c.value != 0 && head != nil && head.endNS == l.timeNS && head.nextCall < 0 {
			head.nextCall = t.calls.Len() - 1
		}
	}
	if n := t.calls.Len(); len(l.callers) > 0 && !callBegins && t.open && t.calls.EnterNS[n-1] == l.timeNS {
		// Extrae splits what it has to say of a call where a message begins with it.
		t.calls.Path[n-1] = path(t.openEvent)
	}
	if l.label != 0 {
		if n := len(t.pending); n > t.first && t.pending[n-1].beginNS == l.timeNS {
			t.pending[n-1].label = l.label
		} else {
			t.clusterAt, t.clusterLabel = l.timeNS, l.label
		}
	}
	if l.wait.kind != 0 && !callBegins {
		wrong = cmp.Or(wrong, errWaitOutside)
	}
	return wrong
}

// count takes the counters of a line; callEnds: a call ends there, resets: what sets counters sets other ones.
func (p *pendingBurst) count(l *eventLine, callEnds, resets bool) {
	counters := l.counters
	stop := l.sets && resets
	if stop {
		counters = counters[:l.setBefore]
	}
	if !p.stopped {
		p.counters = add(p.counters, counters)
		if p.counted && callEnds {
			p.inCall = add(p.inCall, counters)
		}
		p.counted = p.counted || l.timeNS == p.endNS && p.beginNS < p.endNS && len(counters) > 0
	}
	p.stopped = p.stopped || stop
}

// add adds deltas to the counts of a burst.
func add(counts []int64, deltas []counterDelta) []int64 {
	for _, c := range deltas {
		for len(counts) <= c.column {
			counts = append(counts, trace.NoCount)
		}
		if v := &counts[c.column]; *v == trace.NoCount {
			*v = c.delta
		} else {
			*v += c.delta
		}
	}
	return counts
}

func (t *threadReader) call(c callEvent, timeNS int64, path func(callEvent) uint32) error {
	n := t.calls.Len()
	if c.value == 0 {
		if t.open { // a trace cut out of a longer one may begin inside a call
			t.calls.ExitNS[n-1] = timeNS
			t.open = false
			t.cover.toNS = max(t.cover.toNS, timeNS)
		}
		return nil
	}
	if t.open {
		return fmt.Errorf("call %d:%d begins inside the call that began at %d", c.eventType, c.value, t.calls.EnterNS[n-1])
	}
	t.covers(timeNS, timeNS)
	t.open, t.openEvent = true, c
	t.calls.EnterNS = append(t.calls.EnterNS, timeNS)
	t.calls.ExitNS = append(t.calls.ExitNS, timeNS)
	t.calls.Path = append(t.calls.Path, path(c))
	return nil
}

// finishBefore finishes the bursts that ended before a time.
func (t *threadReader) finishBefore(timeNS int64) {
	for t.first < len(t.pending) && t.pending[t.first].endNS < timeNS {
		t.finish()
	}
}

// finish moves the first pending burst to the columns.
func (t *threadReader) finish() {
	p := t.pending[t.first]
	b := &t.bursts
	for len(b.Counters) < len(p.counters) {
		b.Counters = append(b.Counters, noCounts(b.Len()))
	}
	for k := range b.Counters {
		v := trace.NoCount
		if k < len(p.counters) {
			v = p.counters[k]
		}
		b.Counters[k] = append(b.Counters[k], v)
	}
	if p.inCall != nil {
		t.inCall(uint32(b.Len()), p.inCall)
	}
	if p.nextCall < 0 {
		p.nextCall = t.calls.Len()
	}
	b.StartNS = append(b.StartNS, p.beginNS)
	b.DurationNS = append(b.DurationNS, p.endNS-p.beginNS)
	b.Cluster = append(b.Cluster, p.label)
	t.nextCall = append(t.nextCall, uint32(p.nextCall))
	if p.counters != nil {
		t.free = append(t.free, p.counters)
	}
	if t.first++; t.first == len(t.pending) {
		t.pending, t.first = t.pending[:0], 0
	}
}

// inCall adds what calls at the end of a burst have counted.
func (t *threadReader) inCall(burst uint32, counts []int64) {
	c := &t.bursts.InCalls
	for len(c.Counters) < len(counts) {
		c.Counters = append(c.Counters, noCounts(len(c.Burst)))
	}
	c.Burst = append(c.Burst, burst)
	for k := range c.Counters {
		v := trace.NoCount
		if k < len(counts) {
			v = counts[k]
		}
		c.Counters[k] = append(c.Counters[k], v)
	}
}

func noCounts(n int) []int64 {
	column := make([]int64, n)
	for i := range column {
		column[i] = trace.NoCount
	}
	return column
}

// close ends the thread's reading: what is open ends with the thread, and states without an end do with the run.
func (t *threadReader) close(counters int, runEndNS int64) trace.Thread {
	t.endNS = min(t.endNS, runEndNS)
	for i := range t.pending[t.first:] {
		p := &t.pending[t.first+i]
		p.endNS = min(p.endNS, runEndNS)
	}
	t.closeCover(runEndNS)
	t.closeWaits()
	for t.first < len(t.pending) {
		t.finish()
	}
	if t.open {
		t.calls.ExitNS[t.calls.Len()-1] = t.endNS
		t.calls.Unfinished = true
	}
	if t.inWindow {
		t.kept[len(t.kept)-1].EndNS = t.endNS
	}
	for len(t.bursts.Counters) < counters {
		t.bursts.Counters = append(t.bursts.Counters, noCounts(t.bursts.Len()))
	}
	for in := &t.bursts.InCalls; len(in.Burst) > 0 && len(in.Counters) < counters; {
		in.Counters = append(in.Counters, noCounts(len(in.Burst)))
	}
	t.bursts.Before, t.bursts.After = make([]uint32, t.bursts.Len()), make([]uint32, t.bursts.Len())
	th := trace.Thread{
		World: t.world, Rank: t.rank, Thread: t.thread, Node: t.node,
		BeginNS: t.beginNS, EndNS: t.endNS, Calls: t.calls, Bursts: t.bursts, Collectives: t.collectives, Waits: t.waits, Critical: t.critical, Pauses: t.pauses, Kept: t.kept,
	}
	at := 0
	for i, next := range t.nextCall {
		if next > 0 && !apart(&th, &at, i, int(next)-1) {
			th.Bursts.Before[i] = th.Calls.Path[next-1]
		}
		if int(next) < th.Calls.Len() && !apart(&th, &at, i, int(next)) {
			th.Bursts.After[i] = th.Calls.Path[next]
		}
	}
	return th
}
