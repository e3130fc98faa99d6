package clock

import (
	"math"
	"slices"
)

// center shifts the clocks by constants, so that they agree to within what they drift during the run.
func (s *solver) center() error {
	for _, p := range s.pairs {
		p.clear(1)
	}
	s.each(func(p *pair, send, recv float64, forward bool) {
		if forward {
			p.atLeast(0, 0, point{value: send - recv})
		} else {
			p.atMost(0, 0, point{value: recv - send})
		}
	})
	if err := s.sharePoints(func(int) float64 { return 0 }); err != nil {
		return err
	}
	reached := make([]bool, len(s.clocks))
	queue := slices.Clone(s.roots)
	for _, root := range s.roots {
		reached[root] = true
	}
	for ; len(queue) > 0; queue = queue[1:] {
		node := queue[0]
		for _, e := range s.graph.from(node) {
			p := s.pairs[e]
			next := p.other(node)
			if reached[next] {
				continue
			}
			reached[next] = true
			queue = append(queue, next)
			// What the line of next lacks, given the shifts so far, none of which is in the bounds.
			low, high := p.lower[0].value, p.upper[0].value
			if next == p.a {
				low, high = -high, -low
			}
			moved := s.clocks[node].shift - s.shiftBefore(node)
			s.clocks[next].shift += middle(low+moved, high+moved)
		}
	}
	return nil
}

// shiftBefore is a node's shift by its own clock.
func (s *solver) shiftBefore(node int) float64 {
	return float64(s.clocks[node].baseNS - s.clocks[s.in.Reference].baseNS)
}

// middle of an interval that may be open: there it is the value nearest to 0.
func middle(low, high float64) float64 {
	switch {
	case !math.IsInf(low, 0) && !math.IsInf(high, 0):
		return low + (high-low)/2
	case low > 0:
		return low
	case high < 0:
		return high
	}
	return 0
}

// extent is the part of the common axis that the run takes.
func (s *solver) extent() (begin, end float64) {
	begin, end = math.Inf(1), math.Inf(-1)
	for i := range s.clocks {
		c := &s.clocks[i]
		begin, end = min(begin, c.at(c.baseNS)), max(end, c.at(c.lastNS))
	}
	return begin, end
}

// stretches is into how many the run is cut in the end.
func (s *solver) stretches() int {
	begin, end := s.extent()
	most := max(maxCells/(len(s.pairs)+len(s.clocks)), fewStretches)
	return min(int(min(max((end-begin)/stretchNS, enoughStretches), maxStretches)), most)
}

// gather brings the bounds together: the tightest of each pair round each knot, on the common axis.
func (s *solver) gather(stretches int) error {
	begin, end := s.extent()
	if end <= begin {
		end, stretches = begin+1, 1
	}
	s.begin, s.width = begin, (end-begin)/float64(stretches)
	s.knots = stretches + 1
	for _, p := range s.pairs {
		p.clear(s.knots)
		p.tilt = s.clocks[p.b].scale - s.clocks[p.a].scale
	}
	s.each(func(p *pair, send, recv float64, forward bool) {
		sender, receiver := &s.clocks[p.a], &s.clocks[p.b]
		if !forward {
			sender, receiver = receiver, sender
		}
		// The bound holds for the sender's error then and the receiver's now. One of them is taken to the other's
		// time, the one that moves less on the way.
		x, loose := send, receiver.steady*math.Abs(recv-send)
		if sender.steady < receiver.steady {
			x, loose = recv, sender.steady*math.Abs(recv-send)
		}
		k := min(max(int((x-s.begin)/s.width+.5), 0), stretches)
		if forward {
			p.atLeast(k, s.at(k), point{x, send - recv - loose})
		} else {
			p.atMost(k, s.at(k), point{x, recv - send + loose})
		}
	})
	return s.sharePoints(s.at)
}

// at is where a knot lies on the common axis.
func (s *solver) at(k int) float64 { return s.begin + s.width*float64(k) }

// settle finds what each node's line may lack at each knot: the lengths of shortest paths through the pairs.
// Where bounds contradict each other round a circle of nodes its clocks are allowed to wander more; where they
// have got all there is, the pairs of the circle are widened until it closes. It reports whether it was let to.
func (s *solver) settle() bool {
	for _, p := range s.pairs {
		p.enclose(s.begin, s.width)
	}
	for {
		more := make(map[int32]bool)
		s.settleRates(more)
		s.low, s.high = make([][]float64, s.knots), make([][]float64, s.knots)
		s.clashes = 0
		for _, p := range s.pairs {
			s.clashes += p.clashes
		}
		for k := range s.low {
			if s.in.Stop != nil && s.in.Stop() {
				return false
			}
			s.settleKnot(k, more)
		}
		if len(more) == 0 {
			return true
		}
		for e := range more {
			s.pairs[e].allowMore()
			s.pairs[e].enclose(s.begin, s.width)
		}
	}
}

// settleRates does for the rates what settleKnot does for a moment.
func (s *solver) settleRates(more map[int32]bool) {
	for {
		var cycle *circle
		s.slow, s.fast, _, cycle = s.bracket(func(p *pair) float64 { return p.slow }, func(p *pair) float64 { return p.fast }, 1e-15)
		if cycle == nil {
			return
		}
		for _, e := range cycle.pairs {
			p := s.pairs[e]
			if p.wander < maxRate {
				more[e] = true
			}
			p.slow, p.fast = p.limits()
		}
	}
}

func (s *solver) settleKnot(k int, more map[int32]bool) {
	widened := make(map[int32]float64)
	for {
		var cycle *circle
		s.low[k], s.high[k], s.free, cycle = s.bracket(
			func(p *pair) float64 { return p.low[k] }, func(p *pair) float64 { return p.high[k] }, 1)
		if cycle == nil {
			return
		}
		wander := false
		for _, e := range cycle.pairs {
			if s.pairs[e].wander < maxRate {
				more[e], wander = true, true
			}
		}
		if wander {
			// All of this is done again, but what is not touched must be there.
			s.low[k], s.high[k] = make([]float64, len(s.clocks)), make([]float64, len(s.clocks))
			return
		}
		// Each of them may be the one that is wrong. A pair on several circles gets each time more, so that there is an end.
		for _, e := range cycle.pairs {
			p := s.pairs[e]
			if widened[e] == 0 {
				s.clashes++
			}
			widened[e] = max(-cycle.length, 2*widened[e])
			p.low[k] -= widened[e]
			p.high[k] += widened[e]
		}
	}
}

// bracket solves a system of differences: every pair's second node has at least low and at most high more
// than its first. It gives the least and the greatest value of each node, the roots having 0, and which nodes are not
// bounded on both sides; of those the values nearest to 0 are taken, one after the other. Where no
// values can keep all differences it gives a cycle that shows it.
func (s *solver) bracket(low, high func(p *pair) float64, unit float64) (least, most []float64, free []bool, cycle *circle) {
	n := len(s.clocks)
	most, least = make([]float64, n), make([]float64, n)
	for i := range n {
		most[i], least[i] = math.Inf(1), math.Inf(1) // least is negated until the end
	}
	negativeLow := func(p *pair) float64 { return -low(p) }
	spread := func(from []int) *circle {
		if c := s.graph.shorten(most, from, high, negativeLow, unit); c != nil {
			return c
		}
		return s.graph.shorten(least, from, negativeLow, high, unit)
	}
	for _, root := range s.roots {
		most[root], least[root] = 0, 0
	}
	if cycle = spread(s.roots); cycle != nil {
		return least, most, nil, cycle
	}
	free = make([]bool, n)
	for i := range n {
		free[i] = math.IsInf(most[i], 1) || math.IsInf(least[i], 1)
	}
	for i := range n {
		if math.IsInf(most[i], 1) || math.IsInf(least[i], 1) {
			most[i] = middle(-least[i], most[i])
			least[i] = -most[i]
			if cycle = spread([]int{i}); cycle != nil {
				return least, most, nil, cycle
			}
		}
	}
	for i := range n {
		least[i] = -least[i]
	}
	return least, most, free, nil
}

// refine adds a straight line through the middle of what settle has found to the clocks. No line is steeper than a
// clock can be: if a run is too short to determine its rate, the passes would otherwise add up to a steeper one.
func (s *solver) refine() {
	last := s.knots - 1
	length := s.width * float64(last)
	for i := range s.clocks {
		c := &s.clocks[i]
		first := middle(s.low[0][i], s.high[0][i])
		rate := (middle(s.low[last][i], s.high[last][i]) - first) / length
		rate = min(max(rate, s.slow[i]), s.fast[i])
		rate = min(max(rate, (1-2*maxRate)/c.scale-1), (1+2*maxRate)/c.scale-1)
		c.shift += first + rate*(c.shift-s.begin)
		c.scale *= 1 + rate
		if s.root[i] != i {
			// A hundredth more for the axis, which has moved too.
			c.steady = 1.01 * min(max(rate-s.slow[i], s.fast[i]-rate), 2*maxRate+math.Abs(c.scale-1))
		}
	}
}
