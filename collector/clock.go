package collector

import (
	"errors"
	"log/slog"

	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// A clock is the counter that agents compare theirs with, of the kind that ranks on this host would use.
type clock struct {
	kind   uint32 // shmabi.Clock…
	clocks ticks.Clocks
	known  bool // the journal has a sample of the counter
	// identity is that of the sample; empty where it is not known.
	identity string
}

func newClock(clocks ticks.Clocks) *clock {
	if clocks == nil {
		clocks = ticks.System{}
	}
	return &clock{kind: ticks.Usual(), clocks: clocks}
}

// now reads the counter.
func (c *clock) now() (ticks uint64, err error) {
	if !c.known {
		return 0, errors.New("the collector's clock could not be read when it started")
	}
	return c.clocks.Now(c.kind)
}

// sample relates the counter to this host's clocks: at a collector's begin and end, which is the longest baseline. It
// is nil where the counter cannot be read.
func (c *clock) sample(log *slog.Logger) *moriensv1.ClockSample {
	s, err := c.clocks.Take(c.kind)
	if err != nil {
		log.Warn("the collector's clock cannot be read", "error", err)
		return nil
	}
	return &moriensv1.ClockSample{
		Clock: moriensv1.Clock(c.kind), Ticks: s.Ticks, MonotonicNs: s.MonotonicNS, RealtimeNs: s.RealtimeNS,
		UncertaintyNs: s.UncertaintyNS, Identity: s.Identity,
	}
}
