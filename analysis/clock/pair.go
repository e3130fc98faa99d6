package clock

import "math"

// A pair is two nodes with bounds between them: on D, what the second's line lacks more than the first's.
type pair struct {
	a, b         int
	lower, upper []point // the tightest at each knot; a value of ∓Inf where there is none
	low, high    []float64
	slow, fast   float64 // bounds on the rate of D
	tilt         float64 // how much of that rate the lines have already, the second's less the first's
	wander       float64
	clashes      int
}

// A point says that D was at least, or at most, this much then.
type point struct{ x, value float64 }

func (p *pair) other(node int) int { return p.a + p.b - node }

// clear makes room for so many knots.
func (p *pair) clear(knots int) {
	p.lower, p.upper = make([]point, knots), make([]point, knots)
	for k := range knots {
		p.lower[k].value, p.upper[k].value = math.Inf(-1), math.Inf(1)
	}
	p.low, p.high = make([]float64, knots), make([]float64, knots)
	p.wander = firstWander
}

// stale is what a bound loses on its way to the knot where it counts.
const stale = 2 * firstWander

// atLeast adds a lower bound to a knot at x. The knot keeps the bound that is worth most there. Of two bounds of equal
// worth it keeps the earlier one, in whichever order they are added.
func (p *pair) atLeast(k int, x float64, at point) {
	if is := &p.lower[k]; tighterAt(at.value-stale*math.Abs(at.x-x), is.value-stale*math.Abs(is.x-x), at.x, is.x) {
		*is = at
	}
}

func (p *pair) atMost(k int, x float64, at point) {
	if is := &p.upper[k]; tighterAt(-at.value-stale*math.Abs(at.x-x), -is.value-stale*math.Abs(is.x-x), at.x, is.x) {
		*is = at
	}
}

// tighterAt reports whether a bound of some worth, of a time, counts rather than another.
func tighterAt(worth, otherWorth, x, otherX float64) bool {
	return worth > otherWorth || worth == otherWorth && x < otherX
}

// enclose derives from the points how D may run: its rate, and its least and greatest value at the knots. It
// allows for the least wander, from the pair's present one on, with which some course keeps all points.
func (p *pair) enclose(begin, width float64) {
	for !p.run(begin, width) && p.wander < maxRate {
		p.allowMore()
	}
	p.clashes = 0
	for k := range p.low {
		if p.low[k] > p.high[k] {
			p.low[k], p.high[k] = p.high[k], p.low[k]
			p.clashes++
		}
	}
}

// allowMore lets the pair's rate vary more, up to what clocks can do at all.
func (p *pair) allowMore() { p.wander = min(2*p.wander, maxRate) }

// limits are the rates of D that two clocks can have at all: it is not more than they can differ by, less what their
// lines have of that already.
func (p *pair) limits() (slowest, fastest float64) { return -2*maxRate - p.tilt, 2*maxRate - p.tilt }

// run reports whether the points can all be kept with the pair's wander.
func (p *pair) run(begin, width float64) bool {
	slow, fast := p.meanRate()
	// The rate is a constant within the wander; so is its mean over any time.
	possible := slow-p.wander <= fast+p.wander
	slowest, fastest := p.limits()
	p.slow, p.fast = max(slow-2*p.wander, slowest), min(fast+2*p.wander, fastest)
	if p.slow > p.fast {
		p.slow, p.fast = slowest, fastest
	}
	sweep(p.high, p.upper, begin, width, p.slow, p.fast)
	// The same upside down.
	mirrored := make([]point, len(p.lower))
	for k, at := range p.lower {
		mirrored[k] = point{at.x, -at.value}
	}
	sweep(p.low, mirrored, begin, width, -p.fast, -p.slow)
	for k := range p.low {
		p.low[k] = -p.low[k]
		possible = possible && p.low[k] <= p.high[k]
	}
	return possible
}

// sweep gives the greatest value at each knot of what is at most points and changes at a rate of slow to fast.
func sweep(high []float64, points []point, begin, width, slow, fast float64) {
	for k, at := range points {
		x := begin + float64(k)*width
		high[k] = at.value + max(fast*(x-at.x), slow*(x-at.x))
		if k > 0 {
			high[k] = min(high[k], high[k-1]+fast*width)
		}
	}
	for k := len(high) - 2; k >= 0; k-- {
		high[k] = min(high[k], high[k+1]-slow*width)
	}
}

// rateBlocks is among how many parts of the run the points are compared for the rate, all against all.
const rateBlocks = 48

// meanRate bounds the mean rate between any two points: from a lower bound to a later upper one D cannot have
// risen by more than their difference, and the other way round.
func (p *pair) meanRate() (slow, fast float64) {
	slow, fast = math.Inf(-1), math.Inf(1)
	lower := tightest(p.lower, func(a, b point) bool { return a.value > b.value })
	upper := tightest(p.upper, func(a, b point) bool { return a.value < b.value })
	for _, l := range lower {
		for _, u := range upper {
			switch rise := u.value - l.value; {
			case math.IsInf(rise, 0):
			case u.x > l.x:
				fast = min(fast, rise/(u.x-l.x))
			case u.x < l.x:
				slow = max(slow, rise/(u.x-l.x))
			}
		}
	}
	return slow, fast
}

func tightest(points []point, tighter func(a, b point) bool) []point {
	if len(points) <= rateBlocks {
		return points
	}
	best := make([]point, rateBlocks)
	for k, at := range points {
		block := k * rateBlocks / len(points)
		if k == 0 || block != (k-1)*rateBlocks/len(points) || tighter(at, best[block]) {
			best[block] = at
		}
	}
	return best
}
