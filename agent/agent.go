package agent

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"moriens/agent/burst"
	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

const (
	// readRecords is how many records are read of a ring at a time: as many as the nearest cache holds.
	readRecords = 64
	// So long after a process's latest transaction the next one is due, at the next look at the rings: the one for the
	// first transactions, the other later on, where each has its price.
	batchWaitFirst = 200 * time.Millisecond
	batchWaitLast  = 750 * time.Millisecond
)

// A Process is one process of the job, with what the agent has read of it.
type Process struct {
	path     string
	process  *ring.Process
	modules  map[uint32]ring.Module
	places   map[uint32]ring.Place
	sites    map[uint32]ring.Frame // first frames of call paths
	log      defined
	logDead  bool // its log is corrupt from here on
	messages *message.Matcher
	tally    tally // of their transfers
	threads  []*thread
	ended    bool   // its process has
	slots    uint64 // of its rings that were read, at the latest scan
	out      outgoing
}

// defined is what a process's log has defined, and was sent: a burst.Log. The rest happens only where the log is full
// or corrupt.
type defined struct {
	paths, names        map[uint32]bool
	undefined, nameless uint64 // calls whose path is not among them, and marks whose name is not
}

// Path is a call path, 0 where it is not defined.
func (d *defined) Path(number uint32) uint32 {
	if !d.paths[number] {
		d.undefined++
		return 0
	}
	return number
}

// Name is the name of a mark, 0 where it is not defined.
func (d *defined) Name(number uint32) uint32 {
	if !d.names[number] {
		d.nameless++
		return 0
	}
	return number
}

// tally is when the sums of a process's transfers were sent last, and how many transfers and rows there were.
type tally struct {
	at        time.Time
	transfers uint64
	rows      int
}

// A thread is one ring.
type thread struct {
	path    string
	reader  *ring.Reader
	former  *burst.Former // with what is not committed; nil until its process is known
	corrupt error

	messages *message.Thread // nil until its process is known
	missed   uint64          // calls without a record, before the last read that emptied the ring
	covered  uint64          // of these, those before a record that was read since

	sums   sums   // of its rows, where these are kept on the node
	stands stands // where it was at the latest look

	finalized bool // its last record is MPI_Finalize, after which nothing can be missing
	finishes  bool // its last record is a call after which the process waits for the slots of its rings to be given back
}

func openAgent(path string) (*Process, error) {
	p, err := ring.OpenProcess(path)
	if err != nil {
		return nil, err
	}
	a := newProcess(path)
	a.process = p
	a.messages = message.New(&a.out)
	return a, nil
}

// newProcess is one of which nothing is known but where its file is.
func newProcess(path string) *Process {
	return &Process{
		path: path, modules: make(map[uint32]ring.Module), places: make(map[uint32]ring.Place), sites: make(map[uint32]ring.Frame),
		log: defined{paths: make(map[uint32]bool), names: make(map[uint32]bool)},
	}
}

func openThread(path string) (*thread, error) {
	r, err := ring.OpenReader(path)
	if err != nil {
		return nil, err
	}
	return &thread{path: path, reader: r}, nil
}

// fill is how full the ring is, 0–1; 0 where it is not read any more.
func (t *thread) fill() (full float64) {
	if t.corrupt != nil {
		return 0
	}
	t.guard(func() { full = float64(t.reader.Head()-t.reader.Tail()) / float64(t.reader.Slots()) })
	return full
}

// closed reports whether the ring's thread has ended.
func (t *thread) closed() (closed bool) {
	t.guard(func() { closed = t.reader.Closed() })
	return closed
}

// guard turns the fault of a ring whose file was truncated under us into the end of that ring.
func (t *thread) guard(look func()) {
	if err := ring.Guard(look); err != nil {
		t.corrupt = fmt.Errorf("%s: %w", t.path, err)
	}
}

// read takes records from the ring, some at most, and reports whether there may be more.
func (n *Node) read(a *Process, t *thread) bool {
	if t.corrupt != nil {
		return false
	}
	got := 0
	t.guard(func() {
		var err error
		missed := t.reader.Missed()
		got, err = t.reader.Read(n.records)
		t.look(missed, got, got < len(n.records))
		if err != nil {
			t.corrupt = err
		}
	})
	if err := n.take(a, t, n.records[:got]); err != nil {
		t.corrupt = fmt.Errorf("%s: %w", t.path, err)
	}
	if t.corrupt != nil {
		n.config.Log.Error("a ring buffer cannot be read further", "rank", a.process.Rank, "error", t.corrupt)
	}
	return got == len(n.records)
}

// take takes records up to the first that cannot be what it seems, once the call paths and names that they may name are
// sent: those are in the process's log before any record that names it is in a ring.
func (n *Node) take(a *Process, t *thread, records []ring.Record) error {
	if len(records) == 0 {
		return nil
	}
	limit, err := n.limit(a)
	if err != nil {
		return err
	}
	n.prepare(a)
	first := t.former.Calls()
	for i := range records {
		r := &records[i]
		if err = sound(r, limit); err != nil {
			break
		}
		n.takeOne(a, t, r, false)
		last := r.Call
		t.finalized = last == mpicall.Finalize
		t.finishes = t.finalized || last == mpicall.SessionFinalize
		if len(r.Requests) > 0 {
			r.Clear() // of thousands perhaps
		}
	}
	n.taken(a, t, first)
	return err
}

// prepare is for records that are about to be taken.
func (n *Node) prepare(a *Process) {
	a.out.begin()
	n.define(a)
	if a.process.Unrecorded() {
		a.messages.Unrecorded()
	}
	a.messages.Expect(a.process.Threads())
}

// takeOne takes a record: as a row of bursts and for what it has moved, or as a mark. Unfinished says that the process
// died inside it.
func (n *Node) takeOne(a *Process, t *thread, r *ring.Record, unfinished bool) {
	row := t.former.Calls()
	switch {
	case r.Mark != 0:
		t.former.Mark(r)
	case unfinished:
		t.former.Unfinished(r)
	default:
		t.former.Call(r)
	}
	if r.IsCollective {
		c := &r.Collective
		comm, root, ordinal := a.messages.Collective(c)
		t.former.Meet(row, section.Collective{Comm: comm, Root: root, Ordinal: ordinal, Sent: c.Sent, Received: c.Received})
	}
	t.messages.Add(row, r, unfinished)
}

// taken is for what was taken from a row on.
func (n *Node) taken(a *Process, t *thread, first uint64) {
	a.advance()
	if n.config.Cells == nil {
		return
	}
	for _, b := range t.former.Blocks() {
		if behind := b.First + uint64(b.Rows); behind > first {
			t.sums.add(b, int(max(first, b.First)-b.First))
		}
	}
}

// clockSlack is how far, in ticks, a record may lie behind our own reading of the clock: less than a second
// of any counter, more than CPUs' counters differ.
const clockSlack = 1 << 28

// limit is the time behind which no record can be.
func (n *Node) limit(a *Process) (uint64, error) {
	now, err := n.config.Clocks.Now(a.process.Clock)
	return now + min(clockSlack, math.MaxUint64-now), err
}

// sound says why a record cannot be what it seems; nil if it can. A program that overwrites its own memory may have hit
// its ring; one such rank must not cost the others of the node theirs.
func sound(r *ring.Record, limit uint64) error {
	if n := len(r.Polls); n > burst.MaxPlaces {
		return fmt.Errorf("%w: a run of polls from %d places", ring.ErrCorrupt, n)
	}
	for _, p := range r.Polls {
		if !p.Call.Known() {
			return fmt.Errorf("%w: a run of polls by %s", ring.ErrCorrupt, p.Call)
		}
	}
	switch {
	case r.Mark != 0 && !r.Mark.Known():
		return fmt.Errorf("%w: a mark of kind %#x", ring.ErrCorrupt, uint16(r.Mark))
	case r.Mark == 0 && !r.Call.Known():
		return fmt.Errorf("%w: a record of %s", ring.ErrCorrupt, r.Call)
	case r.Enter > limit || r.Exit > limit:
		return fmt.Errorf("%w: a record of the future, %d to %d ticks, none can be behind %d", ring.ErrCorrupt, r.Enter, r.Exit, limit)
	}
	return soundTransfers(r)
}

func (n *Node) define(a *Process) {
	if a.logDead {
		return
	}
	l, err := a.process.ReadLog()
	if err != nil {
		a.logDead = true
		n.config.Log.Error("the records of a rank cannot be read", "file", a.path, "error", err)
		a.send(corruptFile(err))
	}
	for _, m := range l.Modules {
		a.modules[m.ID] = m
	}
	for _, place := range l.Places {
		a.places[place.Number] = place
	}
	n.defineComms(a, l.Comms)
	for _, note := range l.Notes {
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: a.process.ID, Text: note}}})
	}
	for _, text := range l.Unseen {
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: a.process.ID, Text: text, Unseen: true}}})
	}
	a.sendNames(l.Names)
	for _, p := range l.Paths {
		if a.log.paths[p.ID] {
			continue
		}
		a.log.paths[p.ID] = true
		a.site(p)
		c := &moriensv1.CallPath{Process: a.process.ID, Path: p.ID}
		for _, f := range p.Frames {
			if f == (ring.Frame{}) {
				c.Frames = append(c.Frames, &moriensv1.Frame{Function: trace.Folded})
				continue
			}
			if f.Place != 0 {
				place := a.places[f.Place]
				c.Frames = append(c.Frames, &moriensv1.Frame{Function: place.Function, File: place.File, Line: place.Line})
				continue
			}
			m := a.modules[f.Module] // none for 0
			n.addSource(m, f.Offset)
			c.Frames = append(c.Frames, &moriensv1.Frame{Module: m.Path, BuildId: m.BuildID, Offset: f.Offset})
		}
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: c}})
	}
}

// endRing sends the rest of a ring, says that there is no more and has its file removed.
func (n *Node) endRing(a *Process, t *thread) {
	for n.read(a, t) {
		n.commitIfDue(a)
	}
	end := &moriensv1.RingEnd{Ring: t.reader.ID}
	missing := true
	t.guard(func() {
		if t.corrupt == nil {
			n.takeLeft(a, t)
		}
		end.Dropped, end.Abandoned = t.reader.Dropped(), t.reader.Abandoned()
		end.Paused, end.MarksInside = t.reader.Paused(), t.reader.MarksInside()
		missing = t.reader.Missed() != t.covered && !t.finalized
	})
	n.droppedEnded += soundDrops(end.Dropped)
	end.Calls, end.Marks = t.former.Calls(), t.former.Marks()
	t.messages.End(end.Calls, t.corrupt != nil || missing)
	a.advance()
	if t.corrupt != nil {
		end.Corrupt = t.corrupt.Error()
	}
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: end}})
	a.out.blocks = t.former.Take(a.out.blocks)
	a.threads = slices.DeleteFunc(a.threads, func(x *thread) bool { return x == t })
	a.out.leave(t.path, t.close)
}

// takeLeft takes what the ring's thread had not published when it ended, if it can be what it seems.
func (n *Node) takeLeft(a *Process, t *thread) {
	left, unfinished := t.reader.Left()
	if t.reader.Head() != t.reader.Tail() {
		// A thread that outlived MPI_Finalize may have published it by now.
		n.read(a, t)
		return
	}
	if len(left) == 0 {
		return
	}
	limit, err := n.limit(a)
	for i := range left {
		if err == nil {
			err = sound(&left[i], limit)
		}
	}
	if err != nil {
		t.corrupt = err
		return
	}
	n.prepare(a)
	first := t.former.Calls()
	for i := range left {
		n.takeOne(a, t, &left[i], unfinished && i == len(left)-1)
	}
	n.taken(a, t, first)
}

// recorded reports whether the process has recorded anything since this was asked last: then it need not be asked
// whether it lives.
func (a *Process) recorded() bool {
	slots := uint64(0)
	for _, t := range a.threads {
		slots += t.reader.Tail()
	}
	before := a.slots
	a.slots = slots
	return slots > before && !a.process.Over()
}

// hasEnded reports whether nothing more will arrive from the process: it is gone, or reports its end. A process that
// has finalised MPI may still open sessions.
func (a *Process) hasEnded(log *slog.Logger) bool {
	alive, err := a.process.Alive()
	if err != nil {
		log.Error("is the rank alive?", "rank", a.process.Rank, "error", err)
		return false
	}
	return !alive || a.process.Over()
}

func (a *Process) describe() *moriensv1.Process {
	return describeProcess(&a.process.Identity)
}

func describeProcess(p *ring.Identity) *moriensv1.Process {
	return &moriensv1.Process{
		Process: p.ID, Rank: int32(p.Rank), Size: int32(p.Size), World: p.World, Parent: p.Parent,
		Host: p.Host, Executable: p.Executable, MpiLibrary: p.Library, Pid: uint32(p.PID), Clock: moriensv1.Clock(p.Clock),
		Events: p.Events, Unavailable: p.Unavailable,
	}
}

// describeEnd says how the process has ended, and, before that, what of what it says cannot be true.
func (a *Process) describeEnd(log *slog.Logger) *moriensv1.ProcessEnd {
	how := moriensv1.ProcessEnd_HOW_DIED
	if !a.ended {
		how = moriensv1.ProcessEnd_HOW_RUNS
	}
	switch a.process.State() {
	case ring.Finalized:
		how = moriensv1.ProcessEnd_HOW_FINALIZED
	case ring.Aborted:
		how = moriensv1.ProcessEnd_HOW_ABORTED
	}
	l := a.process.Losses()
	if damaged, err := a.process.Damaged(); err != nil {
		log.Error("a rank reports impossible loss counts", "rank", a.process.Rank, "error", err)
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{
			Rank: int32(a.process.Rank), Corrupt: err.Error(), Figures: uint32(damaged),
		}}})
	}
	return &moriensv1.ProcessEnd{
		Process: a.process.ID, How: how, ThreadsFailed: uint32(l.ThreadsFailed), Fault: int32(l.Fault),
		Unrecorded: l.Unrecorded, PathsLost: l.PathsLost + a.log.undefined, NamesLost: l.NamesLost + a.log.nameless,
	}
}

func (t *thread) close() { t.guard(func() { t.reader.Close() }) }
