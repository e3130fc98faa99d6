package store

import (
	"cmp"
	"slices"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// Totals returns the counts so far.
func (s *Store) Totals() Totals {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sum()
}

func (s *Store) sum() Totals {
	t := s.totals
	t.Duplicates += s.uncarried.Duplicates
	t.Refused += s.uncarried.Refused
	return t
}

// Function is the MPI function of a call path, by its number; empty where it is not known.
func (s *Store) Function(path uint32) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(path) >= len(s.paths.list) {
		return ""
	}
	return s.paths.list[path].Function
}

// FirstEvents gives, once, what the first process counts, when that has arrived.
func (s *Store) FirstEvents() <-chan []string { return s.first }

// Refuse counts a message that did not get as far as Apply.
func (s *Store) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncarried.Refused++
}

// Uncarried returns those counts so far.
func (s *Store) Uncarried() Uncarried {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.uncarried
}

// SetUncarried makes them what an earlier process had.
func (s *Store) SetUncarried(u Uncarried) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncarried = u
}

// A RingView is what a ring holds at one moment. Later calls do not change it.
type RingView struct {
	Ring      *Ring // for identity only
	Chunks    []Chunk
	NSPerTick float64 // as far as known now; 0 = not known yet
	// What the node's own clocks said first: at so many ticks so many ns since the epoch; and last. 0 where NSPerTick is.
	FirstTicks      uint64
	FirstNS, LastNS int64
}

// Rings returns a view of every ring, in order of arrival.
func (s *Store) Rings() []RingView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	views := make([]RingView, len(s.ringOrder))
	for i, r := range s.ringOrder {
		views[i] = r.view()
	}
	return views
}

// Ring returns the view of one of them, by order of arrival, and how many there are; nothing where there is none.
func (s *Store) Ring(i int) (v RingView, rings int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if i < len(s.ringOrder) {
		v = s.ringOrder[i].view()
	}
	return v, len(s.ringOrder)
}

func (r *Ring) view() RingView {
	v := RingView{Ring: r, Chunks: r.Chunks}
	v.fit(r.Process.Agent.Samples[r.Process.Info.Clock])
	return v
}

// fit takes the longest baseline there is.
func (v *RingView) fit(samples []*moriensv1.ClockSample) {
	if len(samples) < 2 {
		return
	}
	first, last := samples[0], samples[len(samples)-1]
	if last.Ticks <= first.Ticks || last.MonotonicNs <= first.MonotonicNs {
		return
	}
	v.NSPerTick = float64(last.MonotonicNs-first.MonotonicNs) / float64(last.Ticks-first.Ticks)
	v.FirstTicks, v.FirstNS, v.LastNS = first.Ticks, first.RealtimeNs, first.RealtimeNs+last.MonotonicNs-first.MonotonicNs
}

// A Frozen is all that arrived, once nothing more can arrive.
type Frozen struct {
	Agents    []*Agent             // by host, then id
	Processes []*Process           // by id
	CallPaths []trace.CallPath     // in an order of their own; 0 is unknown
	MarkNames []string             // of phases and events, likewise
	Code      []trace.CodeFunction // by module and entry
	Totals    Totals
	Clocks    []Clock // the collector's, by when they were read last: one, unless it was started again on another host, or there are several collectors
	Collector Collector
	Links     []*moriensv1.ShareLink // between counters of several collectors
	tables    tables
	member    int // of a team of collectors
	rings     map[uint64]*Ring
	store     *Store
	reader    *reader               // of Details; nil until it is needed
	fetched   map[*Ring][]Transfers // with what arrived unasked; a ring that is not in it has that alone
}

// Take gives a ring's chunks, in time order, and forgets them: the caller reads them, and lets go of one after the
// other, because it needs the memory.
func (f *Frozen) Take(r *Ring) []Chunk {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	chunks := slices.Clone(r.Chunks) // a view may have the others
	r.Chunks = nil
	return chunks
}

// Drop forgets the collectives of a ring, which the caller has converted.
func (f *Frozen) Drop(r *Ring) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	r.Collectives = nil
}

// A Clock is a counter that the agents' exchanges compare theirs with.
type Clock struct {
	Kind    moriensv1.Clock
	Samples []*moriensv1.ClockSample // in time order
}

// A Collector is the state of the run's collector.
type Collector struct {
	Restarts int
	CutBytes uint64        // that a collector which was killed had not finished to write, and nothing had acknowledged
	CPU      time.Duration // processor time of its process until the run ended, of all its lives; 0 = not known
}

// AddClock takes a reading of the collector's counter and returns the number of that clock.
func (s *Store) AddClock(sample *moriensv1.ClockSample) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.clocks) - 1
	if last >= 0 {
		c := &s.clocks[last]
		if c.Kind == sample.Clock && c.Samples[0].Identity == sample.Identity && sample.Identity != "" {
			c.add(sample)
			return uint32(last)
		}
	}
	s.clocks = append(s.clocks, Clock{Kind: sample.Clock, Samples: []*moriensv1.ClockSample{sample}})
	return uint32(last + 1)
}

// AddSample takes one more reading of a counter that has a number.
func (s *Store) AddSample(number uint32, sample *moriensv1.ClockSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clocks[number].add(sample)
}

// add puts a sample in its place, once: several journals of a collector bring the same ones, and others in no order.
func (c *Clock) add(sample *moriensv1.ClockSample) {
	at, there := slices.BinarySearchFunc(c.Samples, sample, func(a, b *moriensv1.ClockSample) int {
		return cmp.Or(cmp.Compare(a.MonotonicNs, b.MonotonicNs), cmp.Compare(a.Ticks, b.Ticks))
	})
	if !there {
		c.Samples = slices.Insert(c.Samples, at, sample)
	}
}

// Freeze ends the run: from now on Apply refuses.
func (s *Store) Freeze() Frozen {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	f := Frozen{Totals: s.sum(), rings: s.rings, store: s}
	f.arrange([]holding{{paths: s.paths.list, places: s.paths.places, names: s.names.list, clocks: s.clocks, codes: s.codes}})
	for _, a := range s.agents {
		a.Member = 0
		f.Agents = append(f.Agents, a)
	}
	for _, p := range s.processes {
		f.Processes = append(f.Processes, p)
	}
	f.sort()
	return f
}

// sort puts agents and processes in their order.
func (f *Frozen) sort() {
	slices.SortFunc(f.Agents, func(a, b *Agent) int {
		return cmp.Or(cmp.Compare(a.Hello.Host, b.Hello.Host), cmp.Compare(a.Hello.Agent, b.Hello.Agent))
	})
	slices.SortFunc(f.Processes, func(a, b *Process) int { return cmp.Compare(a.Info.Process, b.Info.Process) })
}
