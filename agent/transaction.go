package agent

import (
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/agent/spool"
	"moriens/agent/window"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// A process's records become blocks and messages, which wait here, with the state that is needed to continue after
// them, until they are committed to the outbox as one transaction. Only then their slots are given back to the ring,
// and only then they go to the collector. An agent that is killed before that has done nothing: a restarted agent finds
// the records where they were. What belongs to the node as a whole goes with whichever transaction is next, of any
// process: it may be named there.

const (
	// batchShare is how many bytes a process's state may have for each row that is committed with it: where many requests
	// are under way, transactions are larger and fewer.
	batchShare = 32
	// commitRows is how many rows of messages are committed at once, if they gather before their time.
	commitRows = 16384
	// stalledEvery is how often a lack of room is reported.
	stalledEvery = time.Minute
	// commitsTogether is how many transactions may be made before they are due, at one look at the rings: these have to be
	// looked at again soon.
	commitsTogether = 16
	// keptMoves is for how many moves a process keeps memory between its transactions, even if it needs less.
	keptMoves = 4096
	// releaseShare is what part of a ring may wait for its transaction.
	releaseShare = 4
)

// outgoing is messages that wait to be committed.
type outgoing struct {
	messages []*moriensv1.ReportRequest
	blocks   []*section.Block // of rings that have ended, and of all once a transaction is made
	gaps     []gap
	moves    []window.Move
	since    time.Time // when the first record that went into them was read; zero: none did
	state    *moriensv1.NodeState
	files    []leaving     // that are read to the end
	bytes    int           // of the process's state in the latest transaction
	waited   time.Duration // how long the latest one was allowed to wait; 0: there was none
	latest   time.Time     // when that was
	ended    bool          // nothing more will arrive from the process
}

// leaving is a file that is removed once the transaction that ends it is committed.
type leaving struct {
	path  string
	close func()
}

func (o *outgoing) add(m *moriensv1.ReportRequest) {
	o.messages = append(o.messages, m)
	o.begin()
}

func (o *outgoing) begin() {
	if o.since.IsZero() {
		o.since = time.Now()
	}
}

// node is the update of the node's state.
func (o *outgoing) node() *moriensv1.NodeState {
	if o.state == nil {
		o.state = &moriensv1.NodeState{}
	}
	return o.state
}

// leave has a file removed with the next transaction.
func (o *outgoing) leave(path string, close func()) {
	o.files = append(o.files, leaving{path, close})
	o.node().Finished = append(o.node().Finished, filepath.Base(path))
}

// send has a message of the process go with its next transaction.
func (a *Process) send(m *moriensv1.ReportRequest) { a.out.add(m) }

// wait is how long the first of what waits may do so.
func (o *outgoing) wait() time.Duration {
	wait := min(max(2*o.waited, batchWaitFirst), batchWaitLast)
	if o.bytes > batchShare*commitRows {
		return batchWaitLast
	}
	return wait
}

// waits is for how long what waits has, or records may that were read only now: since the latest transaction.
func (o *outgoing) waits(now time.Time) time.Duration {
	if o.latest.IsZero() {
		return now.Sub(o.since)
	}
	return now.Sub(o.latest)
}

// due reports whether it is time for a transaction.
func (a *Process) due(now time.Time) bool {
	if a.out.since.IsZero() {
		return false
	}
	if a.out.waits(now) > a.out.wait() {
		return true
	}
	if a.waiting()+len(a.out.moves) >= max(commitRows, a.out.bytes/batchShare) {
		return true
	}
	for _, t := range a.threads {
		if held := t.reader.Held(); t.corrupt == nil && (t.finishes && held > 0 || held > t.reader.Slots()/releaseShare) {
			return true
		}
	}
	return false
}

// waiting is how many rows and marks are not committed.
func (a *Process) waiting() (rows int) {
	for _, b := range a.out.blocks {
		rows += b.Rows + len(b.Marks)
	}
	for _, t := range a.threads {
		rows += t.former.Waiting()
	}
	return rows
}

// soonDue reports whether more than half of the time until the next transaction is over.
func (a *Process) soonDue(now time.Time) bool {
	return !a.out.since.IsZero() && a.out.waits(now) > a.out.wait()/2
}

// commit makes a transaction of what was read of a process.
func (n *Node) commit(a *Process) error {
	for _, t := range a.threads {
		a.out.blocks = t.former.Take(a.out.blocks)
	}
	a.out.place(a.rows)
	every := sumsEvery
	if n.config.Cells != nil {
		every = sumsEveryCells
	}
	a.sendSums(every)
	t := spool.Transaction{Process: a.process.ID, Ended: a.out.ended}
	if !a.out.ended {
		t.State = a.snapshot()
		a.out.bytes = proto.Size(t.State)
	}
	blocks := a.out.blocks
	if err := n.transact(t, &a.out); err != nil {
		return err
	}
	n.blocks.Put(blocks)
	clear(blocks) // what the room does not keep is free
	a.messages.Simplify()
	for _, t := range a.threads {
		if t.corrupt == nil {
			t.guard(t.reader.Release)
		}
	}
	return nil
}

// rows is how many a ring of the process has, if it has not ended.
func (a *Process) rows(ring uint64) (rows uint64, known bool) {
	for _, t := range a.threads {
		if t.reader.ID == ring {
			return t.former.Calls(), true
		}
	}
	return 0, false
}

// snapshot is what a restarted agent would need to continue after what waits to be committed.
func (a *Process) snapshot() *moriensv1.ProcessState {
	s := &moriensv1.ProcessState{
		LogBytes: a.process.LogRead(), LogDead: a.logDead, Undefined: a.log.undefined, Nameless: a.log.nameless, Matcher: a.messages.Snapshot(),
	}
	for _, t := range a.threads {
		x := &moriensv1.ThreadState{
			Thread: uint32(t.reader.Thread), Ring: t.reader.ID, Tail: t.reader.Tail(), Missed: t.missed, Covered: t.covered, Finalized: t.finalized,
		}
		x.Burst, x.Mark = t.former.Snapshot()
		if t.corrupt != nil {
			x.Corrupt = t.corrupt.Error()
		}
		s.Thread = append(s.Thread, x)
	}
	return s
}

// commitDue makes the transactions that are due. Reports of a process that has ended are left to its end.
func (n *Node) commitDue() {
	now := time.Now()
	if n.stalled != nil {
		n.retry(now)
		return
	}
	together := 0
	for _, a := range n.agents {
		if n.stalled == nil && !a.out.ended && a.due(now) {
			n.commit(a) // what fails is tried again
			together = commitsTogether
		}
	}
	// What would be due soon goes along: what one transaction wakes serves several.
	for _, a := range n.agents {
		if together > 0 && n.stalled == nil && !a.out.ended && a.soonDue(now) {
			n.commit(a)
			together--
		}
	}
	if n.stalled == nil && !n.out.since.IsZero() && now.Sub(n.out.since) > batchWaitFirst {
		n.commitNode() // what fails is tried again
	}
}

// retry tries again what could not be kept, from time to time: of any process, or of the node where none has anything.
func (n *Node) retry(now time.Time) {
	if now.Sub(n.retried) < scanEvery {
		return
	}
	n.retried = now
	for _, a := range n.agents {
		if !a.out.ended && !a.out.since.IsZero() {
			n.commit(a)
			return
		}
	}
	if n.commitNode() == nil {
		n.stalled = nil // where there was nothing left
	}
}

func (n *Node) commitIfDue(a *Process) {
	if n.stalled == nil && !a.out.ended && a.due(time.Now()) {
		n.commit(a) // what fails is tried again
	}
}
