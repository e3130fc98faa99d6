package rebuild

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/clock"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// A ClockReport says how the hosts' clocks were brought together, and what that did.
type ClockReport struct {
	Clocks     []rundir.Clock
	Order      rundir.Order
	ClockNotes []string
}

// describe says how the hosts' clocks were brought together, and what that did.
func (s *commonTime) describe(ordered clock.Ordered) (r ClockReport) {
	for n, counter := range s.clocks.counters {
		for _, a := range counter.agents {
			if !counter.fitted {
				continue
			}
			d := rundir.Clock{
				Host: a.Hello.Host, Source: clockName(counter.kind), Clock: n, How: rundir.ClockReference, ReadingNS: counter.line.uncertaintyNS,
			}
			if s.lines != nil {
				l := &s.lines[n]
				d.How = s.how(n)
				d.OffsetNS, d.DriftPPM, d.UncertaintyNS = l.OffsetNS, rundir.Number(l.DriftPPM), rundir.Number(l.UncertaintyNS)
				d.Bends, d.Exchanges, d.Bounds = l.Bends, int(s.exchanged[n]), int(s.messages[n])
			}
			r.Clocks = append(r.Clocks, d)
		}
	}
	slices.SortStableFunc(r.Clocks, func(a, b rundir.Clock) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Source, b.Source))
	})
	r.Order = rundir.Order{
		CallsMoved: ordered.Late, LargestNS: ordered.LargestNS, TotalNS: ordered.TotalNS, OffNS: ordered.OffNS,
		Unordered: ordered.Unordered, Contradicted: s.contradicted, Refused: s.refused,
	}
	if s.contradicted > 0 {
		r.ClockNotes = append(r.ClockNotes, fmt.Sprintf("clocks contradict each other in %s, as when a clock is set during the run", units.Count(s.contradicted, "place")))
	}
	return r
}

// how says what tied a counter to the reference.
func (s *commonTime) how(n int) string {
	switch l := &s.lines[n]; {
	case l.Tie == clock.Itself:
		return rundir.ClockReference
	case l.Tie == clock.Untied:
		return rundir.ClockOwn
	case l.Tie == clock.OneWay:
		return rundir.ClockOneWay
	case s.messages[n] > 0:
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
