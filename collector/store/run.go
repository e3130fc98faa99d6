package store

import (
	"fmt"
	"sync/atomic"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// maxSize bounds the ranks of a world: a damaged number must not make anybody allocate for it.
const maxSize = 1 << 24

// maxEvents bounds the columns of counts, which take 8 bytes a call each.
const maxEvents = 8

// An Agent is one node of the run.
type Agent struct {
	Hello   *moriensv1.Hello
	Samples map[moriensv1.Clock][]*moriensv1.ClockSample // in order of arrival
	// Exchanges compare its clocks with the collector's, in order of arrival.
	Exchanges map[moriensv1.Clock][]*moriensv1.ClockExchange
	Faults    []*moriensv1.Fault
	Done      *moriensv1.Done // nil until it is done
	// Spool is how its spool was when it last said so: nil where it never lacked room for long.
	Spool   *moriensv1.Spool
	streams int           // open now
	left    time.Time     // when the last of them ended
	cut     bool          // that one broke off, so that the agent may not know what is held, and may be started again
	Refused []string      // why messages of it were refused, the first few
	Notes   []string      // lines for the user
	last    uint64        // sequence
	safe    atomic.Uint64 // sequence up to which its messages are
	Member  int           // of a team of collectors: the one that has the results

	communicators map[uint32]*Communicator // by the agent's number
	// How the kernel has scheduled on the node, as reported first, and last; nil until it is reported.
	scheduling [2]*moriensv1.Scheduling
}

// A Process is one MPI process.
type Process struct {
	Agent  *Agent
	Info   *moriensv1.Process
	End    *moriensv1.ProcessEnd // nil until it has ended
	Rings  []*Ring               // by order of arrival
	Notes  []string              // lines for the user
	Unseen []string              // those that say which of its calls are not recorded
	local  map[uint32]localPath  // the shim's call paths
	names  map[uint32]uint32     // Store's numbers of the shim's names
	Comms  map[uint32]Member     // by the process's own number

	TransfersEnd *moriensv1.TransfersEnd // nil until nothing more is moved
	Sums         ProcessSums             // the latest
	received     uint64                  // transfers
	counted      uint64                  // of them, in the store's totals
	lacking      uint64                  // of those of another collector's process: have not arrived there

	Scheduling *Scheduling // nil: not known
}

// A Ring is one thread that called MPI.
type Ring struct {
	Process *Process
	Info    *moriensv1.Ring
	Chunks  []Chunk            // in time order
	Calls   uint64             // rows of all chunks
	Marks   []MarkChunk        // in time order
	marks   uint64             // of all of those
	End     *moriensv1.RingEnd // nil until it has ended
	origin  uint64             // ticks at which the burst before its first call starts
	ticks   uint64             // sum over its calls and bursts

	Transfers   []Transfers
	Collectives []Collectives
	Gaps        Gaps

	standing Standing
	sums     []Sums // of a ring whose calls are kept on the node, since they were taken last
}

// Span returns when the ring's first call began and its last ended, in ticks; 0, 0 where it has no calls.
func (r *Ring) Span() (first, last uint64) {
	if r.Calls == 0 {
		return 0, 0
	}
	return r.origin, r.origin + r.ticks
}

// Silent reports whether there is no data of a ring's thread.
func (r *Ring) Silent() bool { return r.Calls == 0 && r.marks == 0 }

func (s *Store) addExchange(a *Agent, e *moriensv1.ClockExchange) error {
	if int(e.Collector) >= len(s.clocks) {
		return fmt.Errorf("a clock exchange with clock %d of the collector, which has had %d", e.Collector, len(s.clocks))
	}
	if e.ReturnedTicks < e.SentTicks || e.RepliedTicks < e.ReceivedTicks {
		return fmt.Errorf("a clock exchange that ends before it begins: sent %d, received %d, replied %d, returned %d",
			e.SentTicks, e.ReceivedTicks, e.RepliedTicks, e.ReturnedTicks)
	}
	a.Exchanges[e.Clock] = append(a.Exchanges[e.Clock], e)
	return nil
}

func (a *Agent) addFault(f *moriensv1.Fault) error {
	if f.Rank < -1 || f.Rank >= maxSize {
		return fmt.Errorf("a fault of rank %d", f.Rank)
	}
	if w := f.Who; w != nil && (w.Rank != f.Rank || w.Size < 0 || w.Size > maxSize || w.Size > 0 && w.Rank >= w.Size) {
		return fmt.Errorf("a fault of rank %d: rank %d of %d", f.Rank, w.Rank, w.Size)
	}
	a.Faults = append(a.Faults, f)
	return nil
}

func (s *Store) addProcess(a *Agent, p *moriensv1.Process) error {
	switch {
	case s.processes[p.Process] != nil:
		return fmt.Errorf("process %016x is there already", p.Process)
	case len(p.Events) > maxEvents:
		return fmt.Errorf("process %016x: %d events, at most %d can be", p.Process, len(p.Events), maxEvents)
	case p.Size < 1 || p.Size > maxSize || p.Rank < 0 || p.Rank >= p.Size:
		return fmt.Errorf("process %016x: rank %d of %d", p.Process, p.Rank, p.Size)
	}
	s.processes[p.Process] = &Process{Agent: a, Info: p, local: make(map[uint32]localPath), names: make(map[uint32]uint32)}
	if s.totals.Processes++; s.totals.Processes == 1 {
		s.first <- p.Events
	}
	return nil
}

func (s *Store) addRing(r *moriensv1.Ring) error {
	p := s.processes[r.Process]
	switch {
	case p == nil:
		return fmt.Errorf("ring %016x of unknown process %016x", r.Ring, r.Process)
	case s.rings[r.Ring] != nil:
		return fmt.Errorf("ring %016x is there already", r.Ring)
	}
	ring := &Ring{Process: p, Info: r}
	s.rings[r.Ring] = ring
	s.ringOrder = append(s.ringOrder, ring)
	p.Rings = append(p.Rings, ring)
	return nil
}

func (s *Store) endRing(e *moriensv1.RingEnd) error {
	r := s.rings[e.Ring]
	switch {
	case r == nil:
		return fmt.Errorf("end of unknown ring %016x", e.Ring)
	case r.End != nil:
		return fmt.Errorf("ring %016x has ended already", e.Ring)
	}
	r.End = e
	s.totals.Dropped += e.Dropped
	s.totals.Abandoned += e.Abandoned
	s.totals.Paused += e.Paused
	s.totals.MarksInside += e.MarksInside
	if r.Process.CallsOnNode() {
		return nil
	}
	if e.Calls != r.Calls {
		return fmt.Errorf("ring %016x ends after %d calls, %d received", e.Ring, e.Calls, r.Calls)
	}
	if e.Marks != r.marks {
		return fmt.Errorf("ring %016x ends after %d marks, %d received", e.Ring, e.Marks, r.marks)
	}
	return nil
}

func (s *Store) endProcess(e *moriensv1.ProcessEnd) error {
	p := s.processes[e.Process]
	switch {
	case p == nil:
		return fmt.Errorf("end of unknown process %016x", e.Process)
	case p.End != nil:
		return fmt.Errorf("process %016x has ended already", e.Process)
	}
	p.End = e
	s.totals.ProcessesEnded++
	return nil
}
