// Package store holds what the agents of a run have sent: every rank's calls and bursts (level 3 of the
// detail ladder), who the ranks are, and every loss that was reported.
//
// In come the messages of the agents, checked here before anything of them is kept; out go views for
// the live clusters while the run goes on and, when it is over, everything for the end of the run.
// Times stay in ticks of each node's clock: the end of the run knows best how to convert them.
package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// maxRefusals is how many reasons for refusing an agent's messages are kept.
const maxRefusals = 8

// maxSize bounds the ranks of a world: a damaged number must not make anybody allocate for it.
const maxSize = 1 << 24

// maxTicks bounds the sum of all ticks of a ring, so that no later sum overflows.
const maxTicks = math.MaxInt64

// maxEvents bounds the columns of counts, which take 8 bytes a call each.
const maxEvents = 8

// maxPolls bounds a run of polls, so that no sum of them overflows; the shim ends a run after 0.1 s.
const maxPolls = 1 << 40

// ErrFrozen is returned for messages that come after Freeze.
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
	totals    Totals
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
	Duplicates                uint64 // messages that came twice
	Refused                   uint64 // messages that were malformed or out of order
	Transfers                 uint64 // sends, receives, one-sided and file operations
}

// An Agent is one node of the run.
type Agent struct {
	Hello   *moriensv1.Hello
	Samples map[moriensv1.Clock][]*moriensv1.ClockSample // in order of arrival
	// Exchanges compare its clocks with the collector's, in order of arrival.
	Exchanges map[moriensv1.Clock][]*moriensv1.ClockExchange
	Faults    []*moriensv1.Fault
	Done      *moriensv1.Done // nil until it is done
	streams   int             // open now
	left      time.Time       // when the last of them ended
	Refused   []string        // why messages of it were refused, the first few
	last      uint64          // sequence

	communicators map[uint32]*Communicator // by the agent's number
}

// A Process is one MPI process.
type Process struct {
	Agent *Agent
	Info  *moriensv1.Process
	End   *moriensv1.ProcessEnd // nil until it has ended
	Rings []*Ring               // by order of arrival
	Notes []string              // lines for the user
	local map[uint32]localPath  // the shim's call paths
	names map[uint32]uint32     // Store's numbers of the shim's names
	Comms map[uint32]Member     // by the process's own number

	TransfersEnd *moriensv1.TransfersEnd // nil until all of them came
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
	ticks   uint64             // sum over its calls and bursts

	Transfers   []Transfers
	Collectives []Collectives
	Gaps        Gaps
}

// Span returns when the ring's first call began and its last ended, in ticks; 0, 0 where it has no calls.
func (r *Ring) Span() (first, last uint64) {
	if len(r.Chunks) == 0 {
		return 0, 0
	}
	return r.Chunks[0].Origin, r.Chunks[0].Origin + r.ticks
}

// A Chunk is consecutive calls of a ring, one a row, or runs of polls; the slices that are not sparse have
// one length.
type Chunk struct {
	Origin     uint64   // ticks at which the first burst starts
	Burst      []uint64 // ticks before each call
	Call       []uint64 // ticks inside each call
	Path       []uint32 // Store's number of the call path
	NoBurst    []uint32 // rows, ascending, whose time before the call is no burst
	Paused     []uint32 // those of NoBurst before which the program had paused recording
	Unfinished bool     // the process died inside the last call
	PollsRow   []uint32 // rows, ascending, that are runs of polls,
	Polls      []uint64 // and how many calls each stands for
	// Counts are what the process's events counted in the burst before each call, in the order of Info.Events;
	// trace.NoCount where that is not known. A column has a value for each row but those of NoCounts.
	Counts   [][]int64
	NoCounts []uint32 // ascending
}

// Column gives an event's count for each row, trace.NoCount where there is none. It must not be changed.
func (c *Chunk) Column(event int) []int64 {
	sparse := c.Counts[event]
	if len(c.NoCounts) == 0 {
		return sparse
	}
	column := make([]int64, len(c.Path))
	without := c.NoCounts
	for row := range column {
		if len(without) > 0 && int(without[0]) == row {
			without = without[1:]
			column[row] = trace.NoCount
		} else {
			column[row], sparse = sparse[0], sparse[1:]
		}
	}
	return column
}

// New returns an empty store.
func New() *Store {
	return &Store{
		agents:    make(map[uint64]*Agent),
		processes: make(map[uint64]*Process),
		rings:     make(map[uint64]*Ring),
		paths:     newPaths(),
		names:     newNames(),
	}
}

// Greet introduces an agent, new or come back, and returns the sequence up to which its messages are held.
func (s *Store) Greet(h *moriensv1.Hello) (*Agent, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return nil, 0, ErrFrozen
	}
	a := s.agents[h.Agent]
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
	return a, a.last, nil
}

// Leave says that a stream of an agent has ended, one for each Greet.
func (s *Store) Leave(a *Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.streams--
	a.left = time.Now()
}

// Expected returns how many agents are not done and can still be: they have a stream, or had one until less
// than grace ago.
func (s *Store) Expected(grace time.Duration) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, a := range s.agents {
		if a.Done == nil && (a.streams > 0 || time.Since(a.left) < grace) {
			n++
		}
	}
	return n
}

// A ContentError is a message whose content is refused: nothing of it is held, and it is counted.
type ContentError struct{ Err error }

func (e *ContentError) Error() string { return e.Err.Error() }
func (e *ContentError) Unwrap() error { return e.Err }

// Apply takes one message of an agent and returns the sequence up to which its messages are done with. A
// message that came before is counted and changes nothing. With a *ContentError the stream goes on:
// what one rank has sent amiss must not cost the others of its node theirs. Any other error is the end
// of the stream.
func (s *Store) Apply(a *Agent, m *moriensv1.ReportRequest) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return a.last, ErrFrozen
	}
	if m.Sequence <= a.last {
		s.totals.Duplicates++
		return a.last, nil
	}
	if m.Sequence != a.last+1 {
		s.totals.Refused++
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
	case *moriensv1.ReportRequest_Note:
		p := s.processes[b.Note.Process]
		if p == nil {
			return fmt.Errorf("note of unknown process %016x", b.Note.Process)
		}
		p.Notes = append(p.Notes, b.Note.Text)
		return nil
	case *moriensv1.ReportRequest_MarkName:
		return s.addName(b.MarkName)
	case *moriensv1.ReportRequest_Marks:
		return s.addMarks(b.Marks)
	case *moriensv1.ReportRequest_Calls:
		return s.addCalls(b.Calls)
	case *moriensv1.ReportRequest_RingEnd:
		return s.endRing(b.RingEnd)
	case *moriensv1.ReportRequest_ProcessEnd:
		return s.endProcess(b.ProcessEnd)
	case *moriensv1.ReportRequest_ClockSample:
		a.Samples[b.ClockSample.Clock] = append(a.Samples[b.ClockSample.Clock], b.ClockSample)
		return nil
	case *moriensv1.ReportRequest_ClockExchange:
		return a.addExchange(b.ClockExchange)
	case *moriensv1.ReportRequest_Fault:
		a.Faults = append(a.Faults, b.Fault)
		return nil
	case *moriensv1.ReportRequest_Communicator:
		return s.addCommunicator(a, b.Communicator)
	case *moriensv1.ReportRequest_Member:
		return s.addMember(a, b.Member)
	case *moriensv1.ReportRequest_Transfers:
		return s.addTransfers(b.Transfers)
	case *moriensv1.ReportRequest_Collectives:
		return s.addCollectives(b.Collectives)
	case *moriensv1.ReportRequest_Gaps:
		return s.addGaps(b.Gaps)
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

func (a *Agent) addExchange(e *moriensv1.ClockExchange) error {
	if e.ReturnedTicks < e.SentTicks || e.RepliedTicks < e.ReceivedTicks {
		return fmt.Errorf("a clock exchange that ends before it begins: sent %d, received %d, replied %d, returned %d",
			e.SentTicks, e.ReceivedTicks, e.RepliedTicks, e.ReturnedTicks)
	}
	a.Exchanges[e.Clock] = append(a.Exchanges[e.Clock], e)
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
	s.totals.Processes++
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

func (s *Store) addCallPath(c *moriensv1.CallPath) error {
	p := s.processes[c.Process]
	if p == nil {
		return fmt.Errorf("call path of unknown process %016x", c.Process)
	}
	if _, known := p.local[c.Path]; known || c.Path == 0 {
		return fmt.Errorf("process %016x: call path %d is taken", c.Process, c.Path)
	}
	frames := make([]trace.Frame, len(c.Frames))
	for i, f := range c.Frames {
		frames[i] = frameOf(f)
	}
	p.local[c.Path] = localPath{frames: frames}
	return nil
}

func (s *Store) addCalls(c *moriensv1.Calls) error {
	r := s.rings[c.Ring]
	if r == nil {
		return fmt.Errorf("calls of unknown ring %016x", c.Ring)
	}
	ticks, err := r.check(c)
	if err != nil {
		return fmt.Errorf("ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	for i, local := range c.Path {
		if _, known := r.Process.local[local]; !known && local != 0 {
			return fmt.Errorf("ring %016x, call %d: call path %d is not defined", c.Ring, c.First+uint64(i), local)
		}
	}
	for i, local := range c.Path { // in place: the message is ours
		c.Path[i] = s.paths.number(r.Process, mpicall.ID(c.Function[i]), local)
	}
	r.Chunks = append(r.Chunks, Chunk{
		Origin: c.OriginTicks, Burst: c.BurstTicks, Call: c.CallTicks, Path: c.Path,
		NoBurst: c.NoBurst, Paused: c.Paused, Unfinished: c.Unfinished, PollsRow: c.PollsRow, Polls: c.Polls,
		Counts: columns(c.Counts), NoCounts: c.NoCounts,
	})
	r.ticks = ticks
	r.Calls += uint64(len(c.Path))
	s.totals.Calls += uint64(len(c.Path))
	for _, n := range c.Polls {
		s.totals.Calls += n - 1
	}
	s.totals.Bursts += uint64(len(c.Path) - len(c.NoBurst))
	return nil
}

func columns(counts []*moriensv1.Counts) [][]int64 {
	var list [][]int64
	for _, c := range counts {
		list = append(list, c.Value)
	}
	return list
}

// check judges a Calls message and returns the ring's ticks with it.
func (r *Ring) check(c *moriensv1.Calls) (ticks uint64, err error) {
	n := len(c.Function)
	switch {
	case n == 0:
		return 0, errors.New("no calls")
	case len(c.Path) != n || len(c.BurstTicks) != n || len(c.CallTicks) != n || len(c.NoBurst) > n:
		return 0, fmt.Errorf("columns of %d, %d, %d and %d rows", n, len(c.Path), len(c.BurstTicks), len(c.CallTicks))
	case r.End != nil:
		return 0, errors.New("the ring has ended")
	case c.First != r.Calls:
		return 0, fmt.Errorf("it follows call %d", int64(r.Calls)-1)
	case c.OriginTicks > maxTicks:
		return 0, errors.New("its ticks overflow")
	}
	if err := r.checkSparse(c); err != nil {
		return 0, err
	}
	sum := r.ticks
	for i := range n {
		if c.BurstTicks[i] > maxTicks-sum {
			return 0, errors.New("its ticks overflow")
		}
		sum += c.BurstTicks[i]
		if c.CallTicks[i] > maxTicks-sum {
			return 0, errors.New("its ticks overflow")
		}
		sum += c.CallTicks[i]
		if c.Function[i] > math.MaxUint16 || !mpicall.ID(c.Function[i]).Known() {
			return 0, fmt.Errorf("unknown MPI function %d", c.Function[i])
		}
	}
	if sum > maxTicks-c.OriginTicks {
		return 0, errors.New("its ticks overflow")
	}
	return sum, nil
}

// checkSparse judges the columns that do not have a value for every row.
func (r *Ring) checkSparse(c *moriensv1.Calls) error {
	n := len(c.Function)
	for _, rows := range []struct {
		name string
		rows []uint32
	}{{"no_burst", c.NoBurst}, {"paused", c.Paused}, {"polls_row", c.PollsRow}, {"no_counts", c.NoCounts}} {
		last := int64(-1)
		for _, row := range rows.rows {
			if int64(row) <= last || int(row) >= n {
				return fmt.Errorf("%s does not ascend within the rows", rows.name)
			}
			last = int64(row)
		}
	}
	for _, row := range c.Paused {
		if _, without := slices.BinarySearch(c.NoBurst, row); !without {
			return fmt.Errorf("row %d is paused and has a burst", row)
		}
	}
	if len(c.Polls) != len(c.PollsRow) {
		return fmt.Errorf("%d runs of polls have %d numbers", len(c.PollsRow), len(c.Polls))
	}
	for _, polls := range c.Polls {
		if polls < 2 || polls > maxPolls {
			return fmt.Errorf("a run of %d polls", polls)
		}
	}
	if events := len(r.Process.Info.Events); len(c.Counts) != events {
		return fmt.Errorf("counts of %d events, the process has %d", len(c.Counts), events)
	}
	for _, column := range c.Counts {
		if len(column.Value) != n-len(c.NoCounts) {
			return fmt.Errorf("%d counts for %d rows without %d", len(column.Value), n, len(c.NoCounts))
		}
	}
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
	if e.Calls != r.Calls {
		return fmt.Errorf("ring %016x ends after %d calls, %d came", e.Ring, e.Calls, r.Calls)
	}
	if e.Marks != r.marks {
		return fmt.Errorf("ring %016x ends after %d marks, %d came", e.Ring, e.Marks, r.marks)
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
