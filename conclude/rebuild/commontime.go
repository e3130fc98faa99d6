package rebuild

import (
	"slices"

	"moriens/analysis/clock"
	"moriens/internal/team"
)

// A commonTime turns the times of all counters into the run's.
type commonTime struct {
	clocks *clocks
	lines  []clock.Line // nil: there is one counter only, whose time is the run's, or they could not be compared

	exchanged, messages []int64 // by counter: bounds by exchanges, and by messages
	contradicted        int
	refused             int
}

// solve brings the counters to one time line by the exchanges of their agents with the collector and by traffic between
// threads. It is collective: of the latter each member of the team has some.
func (c *clocks) solve(t team.Team, of known, stop func() bool, workers int) (*commonTime, error) {
	s := &commonTime{clocks: c}
	if !c.severalClocks() {
		return s, nil
	}
	in := clock.Input{Reference: c.reference, Stop: stop, Team: t}
	for _, counter := range c.counters {
		in.Spans = append(in.Spans, clock.Span{
			BeginNS: max(counter.span.BeginNS, counter.window.BeginNS), EndNS: min(counter.span.EndNS, counter.window.EndNS),
		})
	}
	var exchanged []clock.Bound
	incredible := 0
	for b := range c.exchanges() {
		if c.credible(b.From, b.SendNS) && c.credible(b.To, b.RecvNS) {
			exchanged = append(exchanged, b)
		} else {
			incredible++
		}
	}
	bounds, refused := of.traffic.Bounds(of.threads, c.credible, workers)
	counts := append(c.count(bounds), int64(refused))
	if err := t.AllReduce(counts, team.Sum); err != nil {
		return s, err
	}
	in.Bounds = slices.Values(bounds)
	if t.Rank() == 0 { // all members know of the exchanges
		in.Bounds = slices.Values(slices.Concat(exchanged, bounds))
	}
	solution, err := clock.Solve(in)
	if err != nil {
		return s, err
	}
	s.lines, s.contradicted = solution.Lines, solution.Contradicted
	s.refused = solution.Refused + incredible + int(counts[len(c.counters)])
	s.exchanged, s.messages = c.count(exchanged), counts[:len(c.counters)]
	return s, nil
}

// at turns a time of a counter's line into the run's, as far as that is known.
func (s *commonTime) at(counter int, ns int64) int64 {
	if s.lines == nil {
		return ns
	}
	return s.lines[counter].At(ns)
}
