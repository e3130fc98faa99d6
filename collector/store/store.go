// Package store holds what the agents of a run have sent: every rank's calls and bursts (level 3 of the detail ladder),
// the descriptions of the ranks, and every loss that was reported.
//
// In come the messages of the agents, which are checked before anything of them is stored. Out come views for the live
// clusters during the run and, when it is over, everything for the end of the run. Times are ticks of each node's
// clock: the end of the run knows best how to convert them.
package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// maxRefusals is how many reasons for refusing an agent's messages are kept.
const maxRefusals = 8

// ErrFrozen is returned for messages that arrive after Freeze.
var ErrFrozen = errors.New("the run is over")

// A Store holds a run. All methods may be called concurrently until Freeze; what Freeze and the views
// return must not be changed.
type Store struct {
	mu        sync.RWMutex
	frozen    bool
	agents    map[uint64]*Agent
	processes map[uint64]*Process
	rings     map[uint64]*Ring
	ringOrder []*Ring
	paths     paths
	names     names
	codes     codes
	clocks    []Clock // the collector's; the last one is that of this process
	totals    Totals
	uncarried Uncarried
	first     chan []string // what the first process counts
	reader    *reader
	whole     bool // the sections that are taken are all of calls
	summer    summer
	places    []uint32 // of the sites of a block
}

// Uncarried counts what no held message has, so that messages which are taken again, in a later process, do not restore
// it.
type Uncarried struct {
	Duplicates uint64 // messages that arrived twice
	Refused    uint64 // what did not get as far as to be numbered
}

// Totals count what a store holds.
type Totals struct {
	Agents, AgentsDone        int
	Processes, ProcessesEnded int
	Calls, Bursts             uint64 // a run of polls is as many calls as it stands for
	Dropped                   uint64 // calls that the shim had no room for
	Abandoned                 uint64 // calls that were left by longjmp or an exception
	Paused                    uint64 // calls that were made while the program had paused recording
	MarksInside               uint64 // marks that were set inside an MPI call
	Duplicates                uint64 // messages that arrived twice
	Refused                   uint64 // messages that were malformed or out of order
	Transfers                 uint64 // sends, receives, one-sided and file operations
}

// New returns an empty store.
func New() *Store {
	return &Store{
		agents:    make(map[uint64]*Agent),
		processes: make(map[uint64]*Process),
		rings:     make(map[uint64]*Ring),
		paths:     newPaths(),
		names:     newNames(),
		codes:     make(codes),
		first:     make(chan []string, 1),
	}
}

// Greet introduces an agent, new or reconnected, and returns the sequence up to which its messages are held. After
// Freeze only agents that are done are accepted: they can still be asked for windows.
func (s *Store) Greet(h *moriensv1.Hello) (*Agent, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.agents[h.Agent]
	if s.frozen && (a == nil || a.Done == nil) {
		return nil, 0, ErrFrozen
	}
	if a == nil {
		a = &Agent{
			Hello:     h,
			Samples:   make(map[moriensv1.Clock][]*moriensv1.ClockSample),
			Exchanges: make(map[moriensv1.Clock][]*moriensv1.ClockExchange),
		}
		s.agents[h.Agent] = a
		s.totals.Agents++
	}
	a.streams++
	a.cut = false
	return a, a.last, nil
}

// Spool takes what an agent says of its spool, and returns what it said before.
func (s *Store) Spool(a *Agent, m *moriensv1.Spool) (before *moriensv1.Spool) {
	soundSpool(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	before = a.Spool
	if !s.frozen {
		a.Spool = m
	}
	return before
}

// Held returns the sequence up to which an agent's messages are held.
func (s *Store) Held(a *Agent) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return a.last
}

// Leave says that a stream of an agent has ended, one for each Greet.
func (s *Store) Leave(a *Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.streams--
	a.left = time.Now()
}

// Cut says that a stream of an agent has broken off, before Leave.
func (s *Store) Cut(a *Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.cut = true
}

// Safe says that an agent's messages up to a sequence cannot be lost any more.
func (a *Agent) Safe(sequence uint64) { a.safe.Store(sequence) }

// Attendance returns how many agents have arrived, and from how many of those something is expected: they are not done
// and can still finish, because they have a stream, or had one until less than grace ago; or they have one and wait
// until their data is safe.
func (s *Store) Attendance(grace time.Duration) (connected, expected int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, a := range s.agents {
		if a.expected(grace) {
			expected++
		}
	}
	return len(s.agents), expected
}

func (a *Agent) expected(grace time.Duration) bool {
	if a.streams > 0 {
		return a.Done == nil || a.safe.Load() < a.last
	}
	return a.Done == nil && time.Since(a.left) < grace
}

// AgentIDs lists the agents that have arrived, by id, and says how many of them are expected, as Attendance does.
func (s *Store) AgentIDs(grace time.Duration) (ids []uint64, expected int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, a := range s.agents {
		ids = append(ids, id)
		if a.expected(grace) {
			expected++
		}
	}
	slices.Sort(ids)
	return ids, expected
}

// Knows reports whether an agent has arrived.
func (s *Store) Knows(agent uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.agents[agent] != nil
}

// CutOff returns how many agents are done, and have no stream because the latest broke off.
func (s *Store) CutOff() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, a := range s.agents {
		if a.Done != nil && a.streams == 0 && a.cut {
			n++
		}
	}
	return n
}

// Staying returns how many agents are done and have a stream.
func (s *Store) Staying() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, a := range s.agents {
		if a.Done != nil && a.streams > 0 {
			n++
		}
	}
	return n
}

// A ContentError is a message whose content is refused: nothing of it is held, and it is counted.
type ContentError struct{ Err error }

func (e *ContentError) Error() string { return e.Err.Error() }
func (e *ContentError) Unwrap() error { return e.Err }

// Apply takes one message of an agent and returns the sequence up to which its messages are done with. A message that
// arrived before is counted and changes nothing. With a *ContentError the stream continues: bad data of one rank must
// not cost the others of its node theirs. Any other error is the end of the stream.
func (s *Store) Apply(a *Agent, m *moriensv1.ReportRequest) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return a.last, ErrFrozen
	}
	if m.Sequence <= a.last {
		s.uncarried.Duplicates++
		return a.last, nil
	}
	if m.Sequence != a.last+1 {
		s.uncarried.Refused++
		return a.last, fmt.Errorf("message %d after message %d", m.Sequence, a.last)
	}
	a.last = m.Sequence
	if err := s.apply(a, m); err != nil {
		s.totals.Refused++
		if len(a.Refused) < maxRefusals {
			a.Refused = append(a.Refused, err.Error())
		}
		return a.last, &ContentError{err}
	}
	return a.last, nil
}

func (s *Store) apply(a *Agent, m *moriensv1.ReportRequest) error {
	s.weigh(a, m)
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_Process:
		return s.addProcess(a, b.Process)
	case *moriensv1.ReportRequest_Ring:
		return s.addRing(b.Ring)
	case *moriensv1.ReportRequest_CallPath:
		return s.addCallPath(b.CallPath)
	case *moriensv1.ReportRequest_Symbols:
		for _, f := range b.Symbols.Frames {
			s.paths.place(f)
		}
		return nil
	case *moriensv1.ReportRequest_Code:
		return s.addCode(b.Code)
	case *moriensv1.ReportRequest_Note:
		if b.Note.Process == 0 {
			a.Notes = append(a.Notes, b.Note.Text)
			return nil
		}
		p := s.processes[b.Note.Process]
		if p == nil {
			return fmt.Errorf("note of unknown process %016x", b.Note.Process)
		}
		if b.Note.Unseen {
			p.Unseen = append(p.Unseen, b.Note.Text)
		} else {
			p.Notes = append(p.Notes, b.Note.Text)
		}
		return nil
	case *moriensv1.ReportRequest_MarkName:
		return s.addName(b.MarkName)
	case *moriensv1.ReportRequest_Sections:
		return s.addSections(b.Sections)
	case *moriensv1.ReportRequest_RingEnd:
		return s.endRing(b.RingEnd)
	case *moriensv1.ReportRequest_ProcessEnd:
		return s.endProcess(b.ProcessEnd)
	case *moriensv1.ReportRequest_ClockSample:
		a.Samples[b.ClockSample.Clock] = append(a.Samples[b.ClockSample.Clock], b.ClockSample)
		return nil
	case *moriensv1.ReportRequest_ClockExchange:
		return s.addExchange(a, b.ClockExchange)
	case *moriensv1.ReportRequest_Fault:
		return a.addFault(b.Fault)
	case *moriensv1.ReportRequest_Scheduling:
		return s.addScheduling(a, b.Scheduling)
	case *moriensv1.ReportRequest_Communicator:
		return s.addCommunicator(a, b.Communicator)
	case *moriensv1.ReportRequest_Member:
		return s.addMember(a, b.Member)
	case *moriensv1.ReportRequest_Sums:
		return s.addSums(b.Sums)
	case *moriensv1.ReportRequest_TransfersEnd:
		return s.endTransfers(b.TransfersEnd)
	case *moriensv1.ReportRequest_Done:
		if a.Done != nil {
			return errors.New("the agent is done already")
		}
		a.Done = b.Done
		s.totals.AgentsDone++
		return nil
	}
	return fmt.Errorf("message %d has no body that this version knows", m.Sequence)
}
