package prv

import (
	"bufio"
	"container/heap"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"moriens/trace"
)

// WriteTrace writes the .prv: one application per world, tasks its ranks, states and events in the order of time.
// It holds one record per thread in memory, never the text. A run whose bursts, or whose calls, overlap on a thread, or
// whose messages are not in the order of their send, is refused.
func WriteTrace(w io.Writer, run *trace.Run) error {
	out := bufio.NewWriterSize(w, 1<<16)
	t := &traceWriter{run: run, coding: newCoding(run), out: out, marks: markLines(run)}
	if err := t.header(); err != nil {
		return err
	}
	if err := t.body(); err != nil {
		return err
	}
	return out.Flush()
}

type traceWriter struct {
	run    *trace.Run
	coding *coding
	out    *bufio.Writer
	line   []byte // reused

	numbers    []int64    // of threads; nil where nothing waits
	marks      []markLine // not written yet
	messages   int        // written so far
	lastSendNS int64
}

func (w *traceWriter) header() error {
	run := w.run
	endNS := run.DurationNS
	tasks, err := taskThreads(run)
	if err != nil {
		return err
	}
	nodes := make([][]int, len(run.Worlds))
	for i, world := range run.Worlds {
		nodes[i] = make([]int, world.Size)
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.Node < 0 || t.Node >= max(len(run.Nodes), 1) {
			return fmt.Errorf("thread %d: no node %d", i, t.Node)
		}
		nodes[t.World][t.Rank] = t.Node
		endNS = max(endNS, t.EndNS)
	}
	for _, m := range run.Messages {
		endNS = max(endNS, m.SendNS, m.PhysicalSendNS, m.RecvNS, m.PhysicalRecvNS)
	}
	start := run.Start.UTC()
	if run.Start.IsZero() {
		start = time.Unix(0, 0).UTC()
	}
	fmt.Fprintf(w.out, "#Paraver (%s):%d_ns:", start.Format("02/01/2006 at 15:04"), endNS)
	fmt.Fprintf(w.out, "%d(", max(len(run.Nodes), 1))
	for i := range max(len(run.Nodes), 1) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		cpus := 1
		if i < len(run.Nodes) {
			cpus = max(cpus, run.Nodes[i].CPUs)
		}
		w.out.WriteString(strconv.Itoa(cpus))
	}
	fmt.Fprintf(w.out, "):%d", len(run.Worlds))
	for i := range tasks {
		fmt.Fprintf(w.out, ":%d(", len(tasks[i]))
		for r, threads := range tasks[i] {
			if r > 0 {
				w.out.WriteByte(',')
			}
			// A missing rank keeps its place, so that task numbers are ranks; node 0 would be refused.
			fmt.Fprintf(w.out, "%d:%d", threads, nodes[i][r]+1)
		}
		w.out.WriteByte(')')
	}
	groups := 0
	for i := range run.Communicators {
		if grouped(&run.Communicators[i]) {
			groups++
		}
	}
	if waits, _ := waitsOf(run); waits {
		w.numbers = numberThreads(run.Threads, tasks)
	}
	if groups > 0 {
		fmt.Fprintf(w.out, ",%d", groups)
	}
	w.out.WriteByte('\n')
	for i, c := range run.Communicators {
		if !grouped(&c) {
			continue
		}
		if err := w.communicator(c); err != nil {
			return fmt.Errorf("communicator %d: %w", i, err)
		}
	}
	return nil
}

func (w *traceWriter) communicator(c trace.Communicator) error {
	if c.World < 0 || c.World >= len(w.run.Worlds) {
		return fmt.Errorf("no world %d", c.World)
	}
	if c.Inter {
		_, err := fmt.Fprintf(w.out, "i:%d:%d\n", c.World+1, c.ID)
		return err
	}
	fmt.Fprintf(w.out, "c:%d:%d:%d", c.World+1, c.ID, len(c.Ranks))
	for _, r := range c.Ranks {
		if r < 0 || r >= w.run.Worlds[c.World].Size {
			return fmt.Errorf("no rank %d in world %d", r, c.World)
		}
		fmt.Fprintf(w.out, ":%d", r+1)
	}
	return w.out.WriteByte('\n')
}

func (w *traceWriter) body() error {
	var q cursorQueue
	for i := range w.run.Threads {
		c, err := newCursor(w.run, i)
		if err != nil {
			return fmt.Errorf("%s: %w", w.run.Threads[i].Name(), err)
		}
		if !c.done() {
			q = append(q, c)
		}
	}
	heap.Init(&q)
	for len(q) > 0 {
		c := q[0]
		if err := w.messagesUntil(c.nextNS); err != nil {
			return err
		}
		w.marksBefore(c.nextNS)
		if err := w.joint(c); err != nil {
			return fmt.Errorf("%s: %w", w.run.Threads[c.thread].Name(), err)
		}
		if c.done() {
			heap.Pop(&q)
		} else {
			heap.Fix(&q, 0)
		}
	}
	w.marksBefore(math.MaxInt64)
	return w.messagesUntil(math.MaxInt64)
}

// joint writes what happens on a thread at one of its times: the end of the item before, the begin of the next, or
// both; or the end of a wait. The state is first, then the events. Cluster end, counters and MPI entry share a line,
// and so do MPI exit and cluster begin. Two calls that touch do not, nor two bursts: the order of their events would be
// lost.
func (w *traceWriter) joint(c *cursor) error {
	nowNS := c.nextNS
	ending := c.ending(nowNS)
	next, ok := c.peek()
	if !ok || next.beginNS != nowNS || c.ends(nowNS) {
		next = item{}
	}
	if ending.kind != isNothing && ending.kind == next.kind {
		if err := w.events(c, nowNS, ending, item{}); err != nil {
			return err
		}
		ending = item{}
	}
	if next.kind != isNothing {
		w.state(c, next)
		c.advance(next)
	}
	if err := w.events(c, nowNS, ending, next); err != nil {
		return err
	}
	c.schedule()
	return c.err
}

func (w *traceWriter) state(c *cursor, x item) {
	state := int64(stateRunning)
	if x.kind == isCall {
		state = w.coding.calls[c.t.Calls.Path[x.index]].state
	}
	b := append(w.line[:0], '1', ':')
	b = append(b, c.object...)
	b = strconv.AppendInt(b, x.beginNS, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, x.endNS, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, state, 10)
	b = append(b, '\n')
	w.line = b
	w.out.Write(b) // a bufio.Writer keeps its first error for Flush
}

func (w *traceWriter) events(c *cursor, nowNS int64, ending, beginning item) error {
	b := append(w.line[:0], '2', ':')
	b = append(b, c.object...)
	b = strconv.AppendInt(b, nowNS, 10)
	empty := len(b)
	event := func(eventType uint32, value int64) {
		b = append(b, ':')
		b = strconv.AppendUint(b, uint64(eventType), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, value, 10)
	}
	switch ending.kind {
	case isBurst:
		bursts := &c.t.Bursts
		if bursts.Cluster[ending.index] != 0 {
			event(typeCluster, clusterEnd)
		}
		c.takeInCall(ending.index, beginning)
		for k, column := range bursts.Counters {
			if v := column[ending.index]; v != trace.NoCount {
				if c.inCall >= 0 {
					v -= bursts.InCalls.Of(c.inCall, k)
				}
				event(w.coding.counters[k], v)
			}
		}
	case isCall:
		if in := &c.t.Bursts.InCalls; c.inCall >= 0 { // it takes 0 ns: what it counted is on a second line at the burst's end
			for k, column := range in.Counters {
				if v := column[c.inCall]; v != trace.NoCount {
					event(w.coding.counters[k], v)
				}
			}
			c.inCall = -1
		}
		if !(c.t.Calls.Unfinished && ending.index == c.t.Calls.Len()-1) {
			event(w.coding.calls[c.t.Calls.Path[ending.index]].eventType, 0)
		}
	}
	if c.waitsUntilNS == nowNS {
		event(typeWaitKind, waitEnd)
		event(typeWaitFor, 0)
		c.waitsUntilNS = noWait
	}
	switch beginning.kind {
	case isBurst:
		if label := c.t.Bursts.Cluster[beginning.index]; label != 0 {
			value, err := clusterValue(label)
			if err != nil {
				return fmt.Errorf("burst %d: %w", beginning.index, err)
			}
			event(typeCluster, value)
		}
	case isCall:
		code := &w.coding.calls[c.t.Calls.Path[beginning.index]]
		event(code.eventType, code.value)
		for _, caller := range w.coding.callers.events[c.t.Calls.Path[beginning.index]] {
			event(caller.eventType, caller.value)
		}
		if path := c.t.Calls.Path[beginning.index]; path != 0 {
			event(typePath, int64(path))
		}
		if n, is := several(&c.t.Calls, beginning.index); is {
			event(typePolls, n)
		}
		if i, is := c.collectiveOf(beginning.index); is {
			collective(w.run, c.t, i, event)
		}
		if i, is := c.waitOf(beginning.index); is {
			event(typeWaitKind, waitValue(c.t.Waits.Kind[i]))
			event(typeWaitFor, w.numberOf(c.t.Waits.For[i]))
			c.waitsUntilNS = c.t.Waits.UntilNS[i]
		}
	}
	if len(b) > empty {
		b = append(b, '\n')
		w.out.Write(b)
	}
	w.line = b
	return nil
}

func (w *traceWriter) messagesUntil(nowNS int64) error {
	for ; w.messages < len(w.run.Messages); w.messages++ {
		m := &w.run.Messages[w.messages]
		if m.SendNS < w.lastSendNS {
			return fmt.Errorf("message %d: sent at %d ns, before the message before it", w.messages, m.SendNS)
		}
		if m.SendNS > nowNS {
			return nil
		}
		if m.From < 0 || m.From >= len(w.run.Threads) || m.To < 0 || m.To >= len(w.run.Threads) {
			return fmt.Errorf("message %d: no such thread", w.messages)
		}
		w.lastSendNS = m.SendNS
		b := append(w.line[:0], '3', ':')
		b = appendObject(b, &w.run.Threads[m.From])
		b = strconv.AppendInt(b, m.SendNS, 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, m.PhysicalSendNS, 10)
		b = append(b, ':')
		b = appendObject(b, &w.run.Threads[m.To])
		for i, v := range [...]int64{m.RecvNS, m.PhysicalRecvNS, m.Bytes, m.Tag} {
			if i > 0 {
				b = append(b, ':')
			}
			b = strconv.AppendInt(b, v, 10)
		}
		b = append(b, '\n')
		w.line = b
		w.out.Write(b)
	}
	return nil
}

// appendObject writes cpu:appl:task:thread: with CPU 0, unknown: a CPU of another node would be refused.
func appendObject(b []byte, t *trace.Thread) []byte {
	b = append(b, "0:"...)
	for _, n := range [...]int{t.World, t.Rank, t.Thread} {
		b = strconv.AppendInt(b, int64(n)+1, 10)
		b = append(b, ':')
	}
	return b
}
