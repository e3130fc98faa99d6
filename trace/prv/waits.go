package prv

import (
	"bufio"
	"errors"
	"fmt"
	"slices"

	"moriens/trace"
	"moriens/trace/palette"
)

// Values of typeWaitKind. A kind's is its number behind stateDropped, so that it has a colour of its own: values of
// events share their colours with states and clusters.
const (
	waitEnd   = 0
	firstWait = stateDropped + 1
)

func waitValue(kind trace.WaitKind) int64 { return firstWait + int64(kind) - 1 }

// waitsOf reports whether a run has waits, and whether its critical path is known.
func waitsOf(run *trace.Run) (waits, critical bool) {
	for i := range run.Threads {
		waits, critical = waits || run.Threads[i].Waits.Len() > 0, critical || len(run.Threads[i].Critical) > 0
	}
	return waits, critical
}

// taskThreads counts the threads of tasks, by application. The numbers of a task's threads have no gaps in the format,
// so that the highest one counts; a rank without a record keeps its place, with one thread.
func taskThreads(run *trace.Run) ([][]int, error) {
	tasks := make([][]int, len(run.Worlds))
	for i, world := range run.Worlds {
		tasks[i] = slices.Repeat([]int{1}, world.Size)
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.World < 0 || t.World >= len(run.Worlds) || t.Rank < 0 || t.Rank >= run.Worlds[t.World].Size {
			return nil, fmt.Errorf("thread %d: no rank %d in world %d", i, t.Rank, t.World)
		}
		tasks[t.World][t.Rank] = max(tasks[t.World][t.Rank], t.Thread+1)
	}
	return tasks, nil
}

// numberThreads gives threads, in the order of a run, the numbers that Paraver counts them by: from 1 on, over the
// threads of all tasks of all applications. They ascend.
func numberThreads(threads []trace.Thread, tasks [][]int) []int64 {
	numbers := make([]int64, 0, len(threads))
	before := int64(0)
	for world := range tasks {
		for rank, n := range tasks[world] {
			for k := len(numbers); k < len(threads) && threads[k].World == world && threads[k].Rank == rank; k++ {
				numbers = append(numbers, before+int64(threads[k].Thread)+1)
			}
			before += int64(n)
		}
	}
	return numbers
}

// checkWaits says what is wrong with the waits of a thread, or with its part of the critical path, if anything is.
func checkWaits(run *trace.Run, t *trace.Thread) error {
	w := &t.Waits
	n := w.Len()
	if len(w.Kind) != n || len(w.UntilNS) != n || len(w.For) != n {
		return errors.New("columns of the waits differ in length")
	}
	last := int64(-1)
	for i, call := range w.Call {
		switch {
		case int64(call) <= last || int(call) >= t.Calls.Len():
			return fmt.Errorf("wait %d: no call %d, or not behind that of the wait before it", i, call)
		case w.Kind[i].String() == "":
			return fmt.Errorf("wait %d: no kind %d", i, w.Kind[i])
		case w.UntilNS[i] <= t.Calls.EnterNS[call] || w.UntilNS[i] > t.Calls.ExitNS[call]:
			return fmt.Errorf("wait %d ends at %d ns, outside of its call (%d to %d ns)", i, w.UntilNS[i], t.Calls.EnterNS[call], t.Calls.ExitNS[call])
		case w.For[i] < -1 || int(w.For[i]) >= len(run.Threads):
			return fmt.Errorf("wait %d: no thread %d", i, w.For[i])
		}
		last = int64(call)
	}
	lastNS := int64(0)
	for i, s := range t.Critical {
		if s.BeginNS < lastNS || s.EndNS < s.BeginNS {
			return fmt.Errorf("part %d of the critical path (%d to %d ns) is out of order", i, s.BeginNS, s.EndNS)
		}
		lastNS = s.EndNS
	}
	return nil
}

// waitOf finds the wait of a call; calls come in their order.
func (c *cursor) waitOf(call int) (i int, is bool) {
	calls := c.t.Waits.Call
	for c.wait < len(calls) && int(calls[c.wait]) < call {
		c.wait++
	}
	return c.wait, c.wait < len(calls) && int(calls[c.wait]) == call
}

// numberOf is the number of a thread that is waited for, 0 = none that is known.
func (w *traceWriter) numberOf(thread int32) int64 {
	if thread < 0 {
		return 0
	}
	return w.numbers[thread]
}

// appendCritical appends where the critical path comes to a thread, and where it leaves it.
func appendCritical(lines []markLine, t *trace.Thread, thread int) []markLine {
	for _, s := range t.Critical {
		lines = append(lines, markLine{timeNS: s.BeginNS, thread: thread, eventType: typeCritical, value: 1},
			markLine{timeNS: s.EndNS, thread: thread, eventType: typeCritical})
	}
	return lines
}

// writeWaitLabels names kinds of waits, and the threads that are waited for.
func writeWaitLabels(out *bufio.Writer, run *trace.Run) error {
	waits, critical := waitsOf(run)
	if waits {
		fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    MPI wait: kind\nVALUES\n%-4d None\n", typeWaitKind, waitEnd)
		for kind := trace.LateSender; kind.String() != ""; kind++ {
			fmt.Fprintf(out, "%-4d %s\n", waitValue(kind), kind)
		}
		tasks, err := taskThreads(run)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    MPI wait: for thread\nVALUES\n%-4d None\n", typeWaitFor, 0)
		for i, n := range numberThreads(run.Threads, tasks) {
			fmt.Fprintf(out, "%-4d %s\n", n, run.ThreadName(i))
		}
	}
	if critical {
		fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    Critical path\nVALUES\n%-4d Elsewhere\n%-4d Here\n", typeCritical, 0, 1)
	}
	return nil
}

// writeWaitColours gives kinds of waits the colours that no cluster has behind as many.
func writeWaitColours(out *bufio.Writer, run *trace.Run, colours int) {
	if waits, _ := waitsOf(run); !waits {
		return
	}
	for kind := trace.LateSender; kind.String() != ""; kind++ {
		if value := waitValue(kind); value >= int64(colours) {
			c := palette.Cluster(int32(kind))
			fmt.Fprintf(out, "%-4d {%d,%d,%d}\n", value, c.R, c.G, c.B)
		}
	}
}

// A waitEvent is what a line says of waits and of the critical path.
type waitEvent struct {
	ends          bool
	kind          trace.WaitKind // of one that begins; 0 = none
	thread        int64          // that it is for, by its number; 0 = not known
	leaves, comes bool           // the critical path
}

func (l *eventLine) takeWait(eventType uint32, value int64) error {
	w := &l.wait
	switch eventType {
	case typeWaitKind:
		kind := value - firstWait + 1
		switch {
		case value == waitEnd:
			w.ends = true
		case kind < 1 || kind >= int64(trace.WaitKinds):
			return fmt.Errorf("wait event of value %d", value)
		default:
			w.kind = trace.WaitKind(kind)
		}
	case typeWaitFor:
		if value < 0 {
			return fmt.Errorf("a wait for thread %d", value)
		}
		w.thread = max(w.thread, value)
	case typeCritical:
		switch value {
		case 0:
			w.leaves = true
		case 1:
			w.comes = true
		default:
			return fmt.Errorf("critical path event of value %d", value)
		}
	}
	return nil
}

var (
	errWaitOutside = errors.New("a wait begins where no call does")
	errWaitEmpty   = errors.New("a wait ends where it begins")
	errWaitOpen    = errors.New("a call ends before its wait does")
	errPathThere   = errors.New("the critical path comes to a thread on which it is")
)

// endWait ends the wait of the call that is open.
func (t *threadReader) endWait(timeNS int64) error {
	n := t.waits.Len()
	if !t.waiting { // a trace cut out of a longer one may begin inside a wait
		return nil
	}
	t.waiting = false
	if call := t.waits.Call[n-1]; timeNS == t.calls.EnterNS[call] {
		t.dropWait()
		return errWaitEmpty
	}
	t.waits.UntilNS[n-1] = timeNS
	return nil
}

// dropWait takes the last wait back, whose end is not known.
func (t *threadReader) dropWait() {
	w := &t.waits
	n := w.Len() - 1
	w.Call, w.Kind, w.UntilNS, w.For = w.Call[:n], w.Kind[:n], w.UntilNS[:n], w.For[:n]
	t.waiting = false
}

// beginWait takes the wait of the call that has just begun.
func (t *threadReader) beginWait(e *waitEvent) {
	w := &t.waits
	w.Call, w.Kind = append(w.Call, uint32(t.calls.Len()-1)), append(w.Kind, e.kind)
	w.UntilNS, w.For = append(w.UntilNS, 0), append(w.For, int32(e.thread))
	t.waiting = true
}

// path takes what a line says of the critical path.
func (t *threadReader) path(e *waitEvent, timeNS int64) error {
	if e.leaves && t.onPath { // likewise
		t.critical[len(t.critical)-1].EndNS = timeNS
		t.onPath = false
	}
	if !e.comes {
		return nil
	}
	if t.onPath {
		return errPathThere
	}
	t.critical = append(t.critical, trace.Stretch{BeginNS: timeNS, EndNS: timeNS})
	t.onPath = true
	return nil
}

// closeWaits ends what is open with the thread: the critical path does not leave it, and a wait without an end is none.
func (t *threadReader) closeWaits() {
	if t.waiting {
		t.dropWait()
	}
	if t.onPath {
		last := &t.critical[len(t.critical)-1]
		last.EndNS = max(last.BeginNS, t.endNS)
	}
}

// settleWaits finds the threads that are waited for by their numbers. One that has no record is not in the run.
func (r *reader) settleWaits(run *trace.Run) {
	if waits, _ := waitsOf(run); !waits {
		return
	}
	tasks := make([][]int, len(r.header.tasks))
	for i, list := range r.header.tasks {
		for k := range list {
			tasks[i] = append(tasks[i], list[k].threads)
		}
	}
	numbers := numberThreads(run.Threads, tasks)
	for i := range run.Threads {
		for k, number := range run.Threads[i].Waits.For {
			at, there := slices.BinarySearch(numbers, int64(number))
			if !there {
				at = -1
			}
			run.Threads[i].Waits.For[k] = int32(at)
		}
	}
}
