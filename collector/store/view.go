package store

import (
	"cmp"
	"slices"

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
}

// Rings returns a view of every ring, in the order in which they came.
func (s *Store) Rings() []RingView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	views := make([]RingView, len(s.ringOrder))
	for i, r := range s.ringOrder {
		views[i] = RingView{Ring: r, Chunks: r.Chunks, NSPerTick: r.Process.nsPerTick()}
	}
	return views
}

// nsPerTick takes the longest baseline there is.
func (p *Process) nsPerTick() float64 {
	samples := p.Agent.Samples[p.Info.Clock]
	if len(samples) < 2 {
		return 0
	}
	first, last := samples[0], samples[len(samples)-1]
	if last.Ticks <= first.Ticks || last.MonotonicNs <= first.MonotonicNs {
		return 0
	}
	return float64(last.MonotonicNs-first.MonotonicNs) / float64(last.Ticks-first.Ticks)
}

// A Frozen is all that came, once nothing more can come.
type Frozen struct {
	Agents    []*Agent   // by host, then id
	Processes []*Process // by id
	CallPaths []trace.CallPath
	MarkNames []string // of phases and events; 0 is unknown
	Totals    Totals
	Clocks    []Clock // the collector's, in time order: one, unless it was started again on another host
	Collector Collector
}

// A Clock is a counter that the agents' exchanges compare theirs with.
type Clock struct {
	Kind    moriensv1.Clock
	Samples []*moriensv1.ClockSample // in time order
}

// A Collector is what became of the run's collector.
type Collector struct {
	Restarts int
	CutBytes uint64 // that a collector which was killed had not finished to write, and nothing had acknowledged
}

// AddClock takes a reading of the collector's counter and returns the number of that clock.
func (s *Store) AddClock(sample *moriensv1.ClockSample) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.clocks) - 1
	if last >= 0 {
		c := &s.clocks[last]
		if c.Kind == sample.Clock && c.Samples[0].Identity == sample.Identity && sample.Identity != "" {
			c.Samples = append(c.Samples, sample)
			return uint32(last)
		}
	}
	s.clocks = append(s.clocks, Clock{Kind: sample.Clock, Samples: []*moriensv1.ClockSample{sample}})
	return uint32(last + 1)
}

// Freeze ends the run: from now on Apply refuses.
func (s *Store) Freeze() Frozen {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	f := Frozen{CallPaths: s.paths.placed(), MarkNames: s.names.list, Totals: s.sum(), Clocks: s.clocks}
	for _, a := range s.agents {
		f.Agents = append(f.Agents, a)
	}
	slices.SortFunc(f.Agents, func(a, b *Agent) int {
		return cmp.Or(cmp.Compare(a.Hello.Host, b.Hello.Host), cmp.Compare(a.Hello.Agent, b.Hello.Agent))
	})
	for _, p := range s.processes {
		f.Processes = append(f.Processes, p)
	}
	slices.SortFunc(f.Processes, func(a, b *Process) int { return cmp.Compare(a.Info.Process, b.Info.Process) })
	return f
}
