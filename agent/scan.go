package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"moriens/agent/burst"
	"moriens/agent/ring"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

// scan takes in the files that have appeared since the last scan, and ends the processes that have ended.
func (n *Node) scan() {
	found, err := n.directory.Scan()
	if err != nil {
		n.config.Log.Error("look for ranks", "error", err) // those that are known may still end
	}
	for _, f := range found.Faults {
		n.send(faultOf(f))
		n.out.node().Reported = append(n.out.node().Reported, f.Name)
	}
	if found.Starting > 0 {
		n.started, n.lastSeen = true, time.Now()
	}
	for _, path := range found.Processes {
		n.addProcess(path)
	}
	for _, path := range found.Rings {
		n.addRing(path)
	}
	n.adopt()
	for _, a := range n.agents {
		// A process that has ended is closed one scan later: its last ring may have got its name after
		// this scan's listing.
		if a.ended {
			if n.room() || a.out.ended {
				n.end(a)
			}
			continue
		}
		a.ended = !a.recorded() && a.hasEnded(n.config.Log)
		n.endThreads(a)
	}
}

// faultOf is what is reported to the collector of a rank that could not record.
func faultOf(f ring.Fault) *moriensv1.ReportRequest {
	who := &moriensv1.Process{Rank: int32(f.Rank), Size: int32(f.Size), Pid: uint32(f.PID)}
	if f.Rank >= f.Size {
		who.Size = 0 // a damaged name
	}
	fault := &moriensv1.Fault{Rank: who.Rank, Errno: int32(f.Errno), Who: who, Before: f.Before, Past: f.Past}
	fault.Reason = f.Reason
	if f.Before != "" {
		fault.Reason = f.Before + " comes before libmoriens.so and handled all its MPI calls"
	}
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: fault}}
}

// endThreads gives back the rings of threads that have ended: a program may start thousands of them.
func (n *Node) endThreads(a *Process) {
	before := len(a.out.files)
	if slices.ContainsFunc(a.threads, (*thread).closed) {
		n.readThreads(a, n.room)
	}
	for _, t := range slices.Clone(a.threads) {
		if t.closed() && n.room() {
			n.endRing(a, t)
		}
	}
	if len(a.out.files) > before {
		n.commit(a) // what fails is tried again
	}
}

func (n *Node) addProcess(path string) {
	a, err := openAgent(path)
	if err != nil {
		n.unreadable(path, err)
		return
	}
	if n.agents[a.process.ID] != nil {
		n.unreadable(path, fmt.Errorf("process %016x is there already", a.process.ID))
		a.process.Close()
		return
	}
	a.messages.Share(n.requests)
	n.agents[a.process.ID] = a
	n.started = true
	n.out.node().Came = true
	n.addClock(a.process.Clock)
	n.watchScheduling(a.process)
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: a.describe()}})
	n.config.Log.Info("rank", "rank", a.process.Rank, "of", a.process.Size, "pid", a.process.PID)
}

func (n *Node) addRing(path string) {
	t, err := openThread(path)
	if err != nil {
		n.unreadable(path, err)
		return
	}
	if read := t.reader.Tail(); read > 0 {
		n.forgotten(path, read)
	}
	n.orphans = append(n.orphans, t)
}

// adopt gives rings to their processes. A listing is no snapshot: a ring may be seen before its process.
func (n *Node) adopt() {
	kept := n.orphans[:0]
	for _, t := range n.orphans {
		a := n.agents[t.reader.Process]
		if a == nil {
			kept = append(kept, t)
			continue
		}
		t.former = burst.NewFormer(t.reader.ID, len(a.process.Events), &a.log, &n.blocks)
		t.messages = a.messages.Thread(t.reader.ID)
		a.threads = append(a.threads, t)
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{
			Ring: t.reader.ID, Process: a.process.ID, Thread: uint32(t.reader.Thread),
		}}})
	}
	n.orphans = kept
}

// forgotten reports a ring which an earlier agent has read without a trace in the spool, because there is no spool.
// Whether those records reached the collector is not known.
func (n *Node) forgotten(path string, slots uint64) {
	err := fmt.Errorf("%s: the first %s were read by an agent that died and whose spool is missing", filepath.Base(path), units.Count(int64(slots), "slot"))
	n.config.Log.Error("records of a rank are lost", "error", err)
	n.send(corruptFile(err))
}

// unreadable reports a file that cannot be read, and leaves it aside; what may be opened later is tried again.
func (n *Node) unreadable(path string, err error) {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) {
		n.config.Log.Warn("later, for lack of resources", "file", path, "error", err)
		n.directory.Forget(path)
		return
	}
	n.config.Log.Error("the records of a rank cannot be read", "file", path, "error", err)
	n.send(corruptFile(err))
	n.out.node().Reported = append(n.out.node().Reported, filepath.Base(path))
}
