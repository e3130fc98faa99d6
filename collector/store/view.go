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
	return s.totals
}

// Refuse counts a message that did not get as far as Apply.
func (s *Store) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Refused++
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
	Clock     Clock // the collector's
}

// A Clock is the counter that the agents' exchanges compare theirs with.
type Clock struct {
	Kind    moriensv1.Clock
	Samples []*moriensv1.ClockSample // in time order
}

// Freeze ends the run: from now on Apply refuses.
func (s *Store) Freeze() Frozen {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	f := Frozen{CallPaths: s.paths.placed(), MarkNames: s.names.list, Totals: s.totals}
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
