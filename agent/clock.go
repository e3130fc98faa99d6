package agent

import (
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// A second sample soon after the first tells the counter's rate well enough to show progress; the
	// end of the run uses the longest baseline.
	sampleFirst = 100 * time.Millisecond
	sampleLast  = time.Minute
)

// A sampler reads one of the node's tick counters together with its clocks, ever more seldom.
type sampler struct {
	clock  uint32 // shmabi.Clock…
	next   time.Time
	pause  time.Duration
	failed bool
}

func (s *sampler) due() bool { return !s.failed && !time.Now().Before(s.next) }

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
	n.up.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
		Clock: moriensv1.Clock(s.clock), Ticks: reading.Ticks, MonotonicNs: reading.MonotonicNS,
		RealtimeNs: reading.RealtimeNS, UncertaintyNs: reading.UncertaintyNS,
	}}})
}
