package conclude

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/clock"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// describe says how the hosts' clocks were brought together, and what that did.
func (c *clocks) describe(m *rundir.Manifest) {
	for n, counter := range c.counters {
		for _, a := range counter.agents {
			if !counter.fitted {
				continue
			}
			d := rundir.Clock{
				Host: a.Hello.Host, Source: clockName(counter.kind), Clock: n, How: rundir.ClockReference, ReadingNS: counter.line.uncertaintyNS,
			}
			if c.lines != nil {
				l := &c.lines[n]
				d.How = c.how(n)
				d.OffsetNS, d.DriftPPM, d.UncertaintyNS = l.OffsetNS, rundir.Number(l.DriftPPM), rundir.Number(l.UncertaintyNS)
				d.Bends, d.Exchanges, d.Bounds = l.Bends, int(c.exchanged[n]), int(c.told[n])
			}
			m.Clocks = append(m.Clocks, d)
		}
	}
	slices.SortStableFunc(m.Clocks, func(a, b rundir.Clock) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Source, b.Source))
	})
	m.Order = rundir.Order{
		CallsMoved: c.ordered.Late, LargestNS: c.ordered.LargestNS, TotalNS: c.ordered.TotalNS, OffNS: c.ordered.OffNS,
		Unordered: c.ordered.Unordered, Contradicted: c.contradicted, Refused: c.refused,
	}
	if c.contradicted > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("clocks contradict each other in %s, as when a clock is set during the run", units.Count(c.contradicted, "place")))
	}
}

// how says what tied a counter to the reference.
func (c *clocks) how(n int) string {
	switch l := &c.lines[n]; {
	case l.Tie == clock.Itself:
		return rundir.ClockReference
	case l.Tie == clock.Untied:
		return rundir.ClockOwn
	case l.Tie == clock.OneWay:
		return rundir.ClockOneWay
	case c.told[n] > 0:
		return rundir.ClockMessages
	}
	return rundir.ClockExchange
}

func clockName(c moriensv1.Clock) string {
	switch c {
	case moriensv1.Clock_CLOCK_TSC:
		return "tsc"
	case moriensv1.Clock_CLOCK_CNTVCT:
		return "cntvct"
	case moriensv1.Clock_CLOCK_MONOTONIC_RAW:
		return "monotonic_raw"
	}
	return c.String()
}
