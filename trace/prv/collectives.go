package prv

import (
	"bufio"
	"fmt"
	"slices"

	"moriens/trace"
)

// Event types of what a collective call moves, written with its begin.
const (
	typeSendSize     = 50100001
	typeReceiveSize  = 50100002
	typeRoot         = 50100003 // 1: this rank is the root
	typeCommunicator = 50100004
)

var collectiveNames = [...]string{
	"Send Size in MPI Global OP", "Recv Size in MPI Global OP", "Root in MPI Global OP", "Communicator in MPI Global OP",
}

// rootOtherGroup stands in trace.Collectives.Root for the root of an intercommunicator's other group.
const rootOtherGroup = -3

// grouped reports whether Paraver knows such a communicator: windows and files are none.
func grouped(c *trace.Communicator) bool { return !c.Window && !c.File }

// ownRank is a thread's rank in a communicator, as far as that is reported; -1 where it is not.
func ownRank(run *trace.Run, t *trace.Thread, comm int32) int32 {
	if comm < 0 || int(comm) >= len(run.Communicators) || run.Communicators[comm].World != t.World {
		return -1
	}
	return int32(slices.Index(run.Communicators[comm].Ranks, t.Rank))
}

// collective gives the events of collective number i of a thread.
func collective(run *trace.Run, t *trace.Thread, i int, event func(eventType uint32, value int64)) {
	c := &t.Collectives
	event(typeSendSize, c.Sent[i])
	event(typeReceiveSize, c.Received[i])
	root := int64(0)
	if own := ownRank(run, t, c.Comm[i]); c.Root[i] == rootOtherGroup || own >= 0 && own == c.Root[i] {
		root = 1
	}
	event(typeRoot, root)
	if k := c.Comm[i]; k >= 0 && int(k) < len(run.Communicators) && grouped(&run.Communicators[k]) {
		event(typeCommunicator, run.Communicators[k].ID)
	}
}

func writeCollectiveLabels(out *bufio.Writer, run *trace.Run) {
	if !slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Collectives.Calls() > 0 }) {
		return
	}
	out.WriteString("\n\nEVENT_TYPE\n")
	for i, name := range collectiveNames {
		fmt.Fprintf(out, "1    %d    %s\n", typeSendSize+i, name)
	}
}

// collectiveEvents are those of a line, as far as it has them.
type collectiveEvents struct {
	seen  bool
	value [4]int64 // by type
	comm  bool     // the last of them is there
}

func (e *collectiveEvents) take(eventType uint32, value int64) {
	e.seen = true
	e.value[eventType-typeSendSize] = value
	e.comm = e.comm || eventType == typeCommunicator
}

// commsByID finds communicators by their application and number.
type commsByID map[[2]int64]int32

// collective takes what a line says of the call that it begins. The number of a collective in its communicator is not
// in the format.
func (t *threadReader) collective(e *collectiveEvents, call int, comms commsByID) {
	c := &t.collectives
	comm, root := int32(-1), int32(-1)
	if k, known := comms[[2]int64{int64(t.world), e.value[typeCommunicator-typeSendSize]}]; known && e.comm {
		comm = k
	}
	if e.value[typeRoot-typeSendSize] == 1 {
		root = rootHere
	}
	c.Call = append(c.Call, uint32(call))
	c.Comm = append(c.Comm, comm)
	c.Ordinal = append(c.Ordinal, 0)
	c.Sent = append(c.Sent, e.value[0])
	c.Received = append(c.Received, e.value[typeReceiveSize-typeSendSize])
	c.Root = append(c.Root, root)
}

// rootHere stands for this rank's own number until that is looked up.
const rootHere = -4

// settleRoots puts each thread's own rank where it is the root.
func settleRoots(run *trace.Run) {
	for i := range run.Threads {
		t := &run.Threads[i]
		for k, root := range t.Collectives.Root {
			if root != rootHere {
				continue
			}
			comm := t.Collectives.Comm[k]
			t.Collectives.Root[k] = ownRank(run, t, comm)
			if comm >= 0 && run.Communicators[comm].Inter {
				t.Collectives.Root[k] = rootOtherGroup
			}
		}
	}
}
