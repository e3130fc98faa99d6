package collector

import (
	"log/slog"

	"moriens/collector/store"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// A clock is the counter that agents compare theirs with, of the kind that ranks on this host would use.
type clock struct {
	kind    uint32 // shmabi.Clock…
	clocks  ticks.Clocks
	samples []*moriensv1.ClockSample
}

func newClock(clocks ticks.Clocks, log *slog.Logger) *clock {
	c := &clock{kind: ticks.Usual(), clocks: clocks}
	if clocks == nil {
		c.clocks = ticks.System{}
	}
	c.sample(log)
	return c
}

func (c *clock) now() (uint64, error) { return c.clocks.Now(c.kind) }

// sample relates the counter to this host's clocks: at the run's begin and end, which is the longest baseline.
func (c *clock) sample(log *slog.Logger) {
	s, err := c.clocks.Take(c.kind)
	if err != nil {
		log.Warn("the collector's clock cannot be read", "error", err)
		return
	}
	c.samples = append(c.samples, &moriensv1.ClockSample{
		Clock: moriensv1.Clock(c.kind), Ticks: s.Ticks, MonotonicNs: s.MonotonicNS, RealtimeNs: s.RealtimeNS,
		UncertaintyNs: s.UncertaintyNS, Identity: s.Identity,
	})
}

// frozen hands over what was read.
func (c *clock) frozen() store.Clock {
	return store.Clock{Kind: moriensv1.Clock(c.kind), Samples: c.samples}
}
