package agent

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"os"
	"time"

	"moriens/agent/burst"
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// batchCalls is how many calls of a ring go into one message.
	batchCalls = 4096
	// batchWait is how long a call may wait for its message to fill.
	batchWait = 200 * time.Millisecond
)

// An Agent looks after one process of the job.
type Agent struct {
	path    string
	process *ring.Process
	modules map[uint32]ring.Module
	logDead bool // its log is corrupt from here on
	threads []*thread
	ended   bool
}

// A thread is one ring with the calls that are not sent yet.
type thread struct {
	path    string
	reader  *ring.Reader
	former  *burst.Former
	pending []ring.Record
	since   time.Time // when the first of pending was read
	corrupt error
}

func openAgent(path string) (*Agent, error) {
	p, err := ring.OpenProcess(path)
	if err != nil {
		return nil, err
	}
	return &Agent{path: path, process: p, modules: make(map[uint32]ring.Module)}, nil
}

func openThread(path string) (*thread, error) {
	r, err := ring.OpenReader(path)
	if err != nil {
		return nil, err
	}
	return &thread{path: path, reader: r, former: burst.NewFormer(r.ID)}, nil
}

// fill is how full the ring is, 0–1.
func (t *thread) fill() float64 {
	return float64(t.reader.Head()-t.reader.Tail()) / float64(t.reader.Slots())
}

// read moves calls from the ring to the uplink, at most one message of them, and says whether there may
// be more.
func (n *Node) read(a *Agent, t *thread) bool {
	if t.corrupt != nil {
		return false
	}
	if t.pending == nil {
		t.pending = make([]ring.Record, 0, batchCalls)
	}
	have := len(t.pending)
	got, err := t.reader.Read(t.pending[have:batchCalls])
	if got > 0 && have == 0 {
		t.since = time.Now()
	}
	t.pending = t.pending[:have+got]
	if err != nil {
		n.config.Log.Error("a ring cannot be read on", "rank", a.process.Rank, "error", err)
		t.corrupt = err
	}
	full := len(t.pending) == batchCalls
	if full || len(t.pending) > 0 && time.Since(t.since) > batchWait {
		n.flush(a, t)
	}
	return full
}

// flush sends the calls that wait, and before them the call paths that they may name: a path is
// in the process's log before any record that names it is in a ring.
func (n *Node) flush(a *Agent, t *thread) {
	if len(t.pending) == 0 {
		return
	}
	n.definePaths(a)
	n.up.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: t.former.Form(t.pending)}})
	t.pending = t.pending[:0]
}

func (n *Node) definePaths(a *Agent) {
	if a.logDead {
		return
	}
	modules, paths, err := a.process.ReadLog()
	if err != nil {
		a.logDead = true
		n.unreadable(a.path, err)
	}
	for _, m := range modules {
		a.modules[m.ID] = m
	}
	for _, p := range paths {
		c := &moriensv1.CallPath{Process: a.process.ID, Path: p.ID}
		for _, f := range p.Frames {
			m := a.modules[f.Module] // none for 0
			c.Frames = append(c.Frames, &moriensv1.Frame{Module: m.Path, BuildId: m.BuildID, Offset: f.Offset})
		}
		n.up.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: c}})
	}
}

// endRing sends the rest of a ring and says that there is no more.
func (n *Node) endRing(a *Agent, t *thread) {
	n.flush(a, t)
	if r, unfinished := t.reader.Unfinished(); unfinished && t.corrupt == nil {
		n.definePaths(a)
		n.up.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: t.former.FormUnfinished(r)}})
	}
	end := &moriensv1.RingEnd{Ring: t.reader.ID, Calls: t.former.Calls(), Dropped: t.reader.Dropped()}
	if t.corrupt != nil {
		end.Corrupt = t.corrupt.Error()
	}
	n.up.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: end}})
}

// hasEnded says whether nothing more will come of the process: it has finalised MPI, or it is gone.
func (a *Agent) hasEnded(log *slog.Logger) bool {
	if a.process.State() == ring.Finalized {
		return true
	}
	alive, err := a.process.Alive()
	if err != nil {
		log.Error("is the rank alive?", "rank", a.process.Rank, "error", err)
		return false
	}
	return !alive
}

func (a *Agent) describe() *moriensv1.Process {
	p := a.process
	return &moriensv1.Process{
		Process: p.ID, Rank: int32(p.Rank), Size: int32(p.Size), World: p.World, Parent: p.Parent,
		Host: p.Host, Executable: p.Executable, MpiLibrary: p.Library, Pid: uint32(p.PID), Clock: moriensv1.Clock(p.Clock),
	}
}

func (a *Agent) describeEnd() *moriensv1.ProcessEnd {
	how := moriensv1.ProcessEnd_HOW_DIED
	switch a.process.State() {
	case ring.Finalized:
		how = moriensv1.ProcessEnd_HOW_FINALIZED
	case ring.Aborted:
		how = moriensv1.ProcessEnd_HOW_ABORTED
	}
	l := a.process.Losses()
	return &moriensv1.ProcessEnd{
		Process: a.process.ID, How: how, ThreadsFailed: uint32(l.ThreadsFailed), Fault: int32(l.Fault),
		Unrecorded: l.Unrecorded, PathsLost: l.PathsLost,
	}
}

// remove closes and deletes what the process has left.
func (a *Agent) remove(log *slog.Logger) {
	paths := []string{a.path}
	for _, t := range a.threads {
		t.close()
		paths = append(paths, t.path)
	}
	a.close()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			log.Warn("a file in shared memory stays", "error", err)
		}
	}
}

func (a *Agent) close()  { a.process.Close() }
func (t *thread) close() { t.reader.Close() }

func randomID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails, crypto/rand
	return binary.LittleEndian.Uint64(b[:])
}
