package agent

import (
	"context"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// A second sample soon after the first gives the counter's rate well enough to show progress; the
	// end of the run uses the longest baseline.
	sampleFirst = 100 * time.Millisecond
	sampleLast  = time.Minute
	// exchangeLast is the longest pause between two rounds of exchanges with the collector. Oscillators wander by
	// a millionth, so the offset is known to 10 us more than the round itself shows.
	exchangeLast = 10 * time.Second
	// exchangeGrace is how long the last round may take.
	exchangeGrace = 2 * time.Second
)

// A sampler reads one of the node's tick counters together with its clocks, ever more seldom, and compares
// it with the collector's.
type sampler struct {
	clock    uint32 // shmabi.Clock…
	next     time.Time
	pause    time.Duration
	exchange struct {
		next  time.Time
		pause time.Duration
	}
	failed bool
}

// readClocks does what is due.
func (n *Node) readClocks() {
	now := time.Now()
	n.sendExchanged()
	for _, s := range n.clocks {
		if !now.Before(s.next) {
			n.sample(s)
		}
		if e := &s.exchange; !s.failed && !now.Before(e.next) && n.exchange(s) {
			e.pause = min(max(2*e.pause, sampleFirst), exchangeLast)
			e.next = now.Add(e.pause)
		}
	}
}

// clocksIn is how long it is until something is due.
func (n *Node) clocksIn(now time.Time) time.Duration {
	next := now.Add(pollMax)
	for _, s := range n.clocks {
		if s.failed {
			continue
		}
		if s.next.Before(next) {
			next = s.next
		}
		// One that is due by now waits for the round before it.
		if e := s.exchange.next; e.After(now) && e.Before(next) {
			next = e
		}
	}
	return max(sampleFirst, next.Sub(now))
}

// lastClocks reads the clocks once more, at the end of the run.
func (n *Node) lastClocks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, exchangeGrace)
	defer cancel()
	for _, s := range n.clocks {
		n.sample(s)
		n.up.AwaitExchange(ctx)
		if !s.failed && n.exchange(s) {
			n.up.AwaitExchange(ctx)
		}
	}
	n.sendExchanged()
}

// sendExchanged sends what the exchanges have reported.
func (n *Node) sendExchanged() {
	for _, e := range n.up.Exchanged() {
		n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: e}})
	}
}

// addClock takes a clock that a process's ticks are of.
func (n *Node) addClock(clock uint32) {
	if n.clocks[clock] == nil {
		s := &sampler{clock: clock}
		n.clocks[clock] = s
		n.sample(s)
	}
}

// exchange begins a round of exchanges with the collector, if none is under way.
func (n *Node) exchange(s *sampler) bool {
	return n.up.Exchange(moriensv1.Clock(s.clock), func() (uint64, error) { return n.config.Clocks.Now(s.clock) })
}

// sample sends one reading.
func (n *Node) sample(s *sampler) {
	if s.failed {
		return
	}
	reading, err := n.config.Clocks.Take(s.clock)
	if err != nil {
		n.config.Log.Error("the ranks' clock cannot be read", "error", err)
		s.failed = true
		return
	}
	s.pause = min(max(2*s.pause, sampleFirst), sampleLast)
	s.next = time.Now().Add(s.pause)
	cpu, peak := n.use()
	state := n.out.node()
	state.CpuNs, state.PeakBytes = uint64(cpu), peak
	n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
		Clock: moriensv1.Clock(s.clock), Ticks: reading.Ticks, MonotonicNs: reading.MonotonicNS,
		RealtimeNs: reading.RealtimeNS, UncertaintyNs: reading.UncertaintyNS, Identity: reading.Identity,
		CpuNs: uint64(cpu),
	}}})
}
