package agent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"moriens/agent/burst"
	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/agent/spool"
	moriensv1 "moriens/proto/moriens/v1"
)

// restore takes up what an earlier life of this agent has left in the spool, if there was one.
func (n *Node) restore() error {
	state, err := n.outbox.State()
	if err != nil {
		return err
	}
	node := state.Node
	n.started, n.done, n.restarts = node.Came, node.Done, node.Restarts
	n.cpu, n.peak = time.Duration(node.CpuNs), node.PeakBytes
	if n.outbox.Transactions() == 0 {
		return nil
	}
	n.restarts++
	n.out.node().Restarts = n.restarts
	for i, digest := range node.Communicator {
		if len(digest) != sha256.Size {
			return fmt.Errorf("communicator %d has a digest of %d bytes", i+1, len(digest))
		}
		n.communicators[[sha256.Size]byte(digest)] = uint32(i) + 1
	}
	for _, s := range node.Source {
		for _, offset := range s.Offset {
			n.sources.add(s.Module, s.BuildId, offset)
		}
	}
	n.directory.Pass(node.Reported...)
	for _, name := range node.Finished {
		n.remove(filepath.Base(name))
	}
	for process, s := range state.Processes {
		if err := n.restoreProcess(process, s); err != nil {
			return err
		}
	}
	n.config.Log.Info("resuming at the previous agent's position", "message", n.outbox.Last(), "processes", len(n.agents), "restarts", n.restarts)
	return nil
}

// restoreProcess takes up a process. If its files are gone, that is reported, with all that is
// still known.
func (n *Node) restoreProcess(process uint64, s *moriensv1.ProcessState) error {
	a := newProcess(filepath.Join(n.directory.Path(), ring.ProcessFile(process)))
	a.logDead, a.log.undefined, a.log.nameless = s.LogDead, s.Undefined, s.Nameless
	matcher, threads, err := message.Restore(s.Matcher, &a.out)
	if err != nil {
		return fmt.Errorf("process %016x: %w", process, err)
	}
	a.messages = matcher
	n.directory.Pass(ring.ProcessFile(process))
	for _, t := range s.Thread {
		n.directory.Pass(ring.RingFile(process, t.Thread))
		if threads[t.Ring] == nil {
			return fmt.Errorf("process %016x: ring %016x is unknown to its matcher", process, t.Ring)
		}
	}
	a.process, err = ring.OpenProcess(a.path)
	if err == nil && a.process.ID != process {
		a.process.Close()
		err = fmt.Errorf("%s: process %016x", a.path, a.process.ID)
	}
	if err != nil {
		return n.lose(process, s, a, err)
	}
	matcher.Share(n.requests) // only now: what is lost has no end that gives its room back
	a.relearn(s.LogBytes)
	n.agents[process] = a
	n.addClock(a.process.Clock)
	n.watchScheduling(a.process)
	for _, x := range s.Thread {
		n.restoreThread(a, x, threads[x.Ring])
	}
	return nil
}

// relearn reads what the process's log had defined, and was sent.
func (a *Process) relearn(end uint64) {
	l, _ := a.process.ReadLogTo(end) // an error recurs with what follows
	for _, m := range l.Modules {
		a.modules[m.ID] = m
	}
	for _, place := range l.Places {
		a.places[place.Number] = place
	}
	for _, c := range l.Comms {
		a.messages.Define(c.Number, c.Peers)
	}
	for _, name := range l.Names {
		a.log.names[name.Number] = name.Number != 0
	}
	for _, p := range l.Paths {
		a.log.paths[p.ID] = true
		a.site(p)
	}
}

// restoreThread takes up a ring. One that is not there, or not where it was left, has ended.
func (n *Node) restoreThread(a *Process, s *moriensv1.ThreadState, m *message.Thread) {
	path := filepath.Join(n.directory.Path(), ring.RingFile(a.process.ID, s.Thread))
	t, err := openThread(path)
	if err == nil && t.reader.ID != s.Ring {
		t.close()
		err = fmt.Errorf("%s: ring %016x", path, t.reader.ID)
	}
	if err != nil {
		n.config.Log.Error("a ring buffer is missing", "error", err)
		m.End(s.Burst.GetCalls(), true)
		a.send(lostRing(s, err))
		return
	}
	t.former, t.messages = burst.Restore(s.Ring, len(a.process.Events), &a.log, &n.blocks, s.Burst, s.Mark), m
	t.missed, t.covered, t.finalized = s.Missed, s.Covered, s.Finalized
	if s.Corrupt != "" {
		t.corrupt = errors.New(s.Corrupt)
	} else if err := t.reader.Resume(s.Tail); err != nil {
		n.config.Log.Error("a ring buffer cannot be read further", "rank", a.process.Rank, "error", err)
		t.corrupt = err
	}
	a.threads = append(a.threads, t)
}

func lostRing(s *moriensv1.ThreadState, err error) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{
		Ring: s.Ring, Calls: s.Burst.GetCalls(), Marks: s.Mark.GetMarks(), Corrupt: err.Error(),
	}}}
}

// lose says of a process whose file is gone what is known without it.
func (n *Node) lose(process uint64, s *moriensv1.ProcessState, a *Process, err error) error {
	n.config.Log.Error("a process has left no records", "error", err)
	for _, t := range s.Thread {
		a.send(lostRing(t, err))
		a.out.leave(filepath.Join(n.directory.Path(), ring.RingFile(process, t.Thread)), func() {})
	}
	a.send(corruptFile(err))
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{
		Process: process, How: moriensv1.ProcessEnd_HOW_DIED, PathsLost: s.Undefined, NamesLost: s.Nameless,
	}}})
	return n.transact(spool.Transaction{Process: process, Ended: true}, &a.out)
}
