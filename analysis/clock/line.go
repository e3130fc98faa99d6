package clock

import (
	"math"
	"sort"
)

// A Tie says how a node's clock is tied to the reference.
type Tie int

// The ways, from none.
const (
	Untied Tie = iota // no bounds lead to the reference: the node's own time stands
	OneWay            // bounds of one direction only: the nearest that keeps them
	TwoWay            // bounded from both sides
	Itself            // it is the reference
)

// A Line is a node's time as the reference would have it.
type Line struct {
	Tie Tie
	// OffsetNS is what has to be added to the node's time at the begin of its span, DriftPPM how much of its
	// length is, in millionths.
	OffsetNS int64
	DriftPPM float64
	// UncertaintyNS is how far a time of the node's span may be from the truth, at worst; +Inf where bounds do not say.
	UncertaintyNS float64
	// Bends is how often its rate changes.
	Bends int

	zeroNS int64 // the reference's base
	clock  coarse
	knots  []knot
	// How far the line may be wrong at every knot that there was, and how much more between two.
	begin, width float64
	wrong        []float64
	between      float64
}

// A knot is where a line may bend, what is to be added there, and how much more of each nanosecond from there to the
// next knot.
type knot struct{ x, lacks, slope float64 }

// At turns a time of the node's clock into the reference's.
func (l *Line) At(ns int64) int64 {
	if l.Tie == Itself || l.Tie == Untied {
		return ns
	}
	x := l.clock.at(ns)
	a := &l.knots[0]
	if last := len(l.knots) - 2; last > 0 {
		k := sort.Search(last, func(k int) bool { return x <= l.knots[k+1].x })
		a = &l.knots[k]
	}
	return l.zeroNS + int64(math.Round(x+a.lacks+a.slope*(x-a.x)))
}

// Uncertainty is how far from the truth At may be at a time within the span, in nanoseconds.
func (l *Line) Uncertainty(ns int64) float64 {
	switch l.Tie {
	case Itself:
		return 0
	case Untied, OneWay:
		return math.Inf(1)
	}
	k := min(max(int((l.clock.at(ns)-l.begin)/l.width), 0), len(l.wrong)-2)
	return max(l.wrong[k], l.wrong[k+1]) + l.between
}

// solution makes the lines.
func (s *solver) solution() *Solution {
	result := &Solution{Refused: s.refused, Contradicted: s.clashes}
	bends := s.bends()
	for i := range s.clocks {
		c := s.clocks[i]
		l := Line{clock: c, zeroNS: s.clocks[s.in.Reference].baseNS}
		switch {
		case i == s.in.Reference:
			l.Tie = Itself
		case s.root[i] != s.in.Reference:
			l.Tie = Untied
		case s.free[i]:
			l.Tie = OneWay
		default:
			l.Tie = TwoWay
		}
		if l.Tie == OneWay || l.Tie == TwoWay {
			s.trace(&l, i, bends)
		}
		l.describe(s.in.Spans[i])
		result.Lines = append(result.Lines, l)
	}
	return result
}

// trace draws a node's line through the middle of what is possible at the knots where lines bend.
func (s *solver) trace(l *Line, node int, bends []int) {
	l.begin, l.width = s.begin, s.width
	l.between = (s.fast[node] - s.slow[node]) * s.width / 4
	l.wrong = make([]float64, s.knots)
	for n, k := range bends {
		at := s.knot(node, k)
		// A node that goes straight on has no knot here.
		if m := len(l.knots); n > 1 && m > 1 && straight(l.knots[m-2], l.knots[m-1], at) {
			l.knots[m-1] = at
		} else {
			l.knots = append(l.knots, at)
		}
		if n == 0 {
			continue
		}
		for j := bends[n-1]; j <= k; j++ {
			lacks := s.between(node, bends[n-1], k, j)
			l.wrong[j] = max(s.high[j][node]-lacks, lacks-s.low[j][node])
		}
	}
	for k := range len(l.knots) - 1 {
		a, b := &l.knots[k], &l.knots[k+1]
		a.slope = (b.lacks - a.lacks) / (b.x - a.x)
	}
	l.Bends = len(l.knots) - 2
}

func straight(a, b, c knot) bool {
	return math.Abs(a.lacks+(c.lacks-a.lacks)*(b.x-a.x)/(c.x-a.x)-b.lacks) < .01
}

func (s *solver) knot(node, k int) knot {
	return knot{x: s.at(k), lacks: middle(s.low[k][node], s.high[k][node])}
}

// between is what a node's line lacks at knot k if it goes straight from knot a to knot b.
func (s *solver) between(node, a, b, k int) float64 {
	from, to := s.knot(node, a).lacks, s.knot(node, b).lacks
	return from + (to-from)*float64(k-a)/float64(b-a)
}

// bends chooses the knots at which lines may bend: as few as let every pair keep its bounds at all knots. The
// middles keep them at each knot by themselves, since what keeps differences is convex; lines between
// two of them are taken as far as they do too, and else bend at the worst.
func (s *solver) bends() []int {
	last := s.knots - 1
	list := []int{0}
	var divide func(a, b int)
	divide = func(a, b int) {
		worst, where := .5, -1
		for k := a + 1; k < b; k++ {
			for _, p := range s.pairs {
				d := s.between(p.b, a, b, k) - s.between(p.a, a, b, k)
				if broken := max(p.low[k]-d, d-p.high[k]); broken > worst {
					worst, where = broken, k
				}
			}
		}
		if where >= 0 {
			divide(a, where)
			divide(where, b)
			return
		}
		list = append(list, b)
	}
	divide(0, last)
	return list
}

// describe sums a line up over a span.
func (l *Line) describe(span Span) {
	begin, end := span.BeginNS, span.EndNS
	if end < begin {
		begin, end = l.clock.baseNS, l.clock.lastNS
	}
	l.OffsetNS = l.At(begin) - begin
	if end > begin {
		l.DriftPPM = 1e6 * float64(l.At(end)-end-l.OffsetNS) / float64(end-begin)
	}
	switch {
	case l.Tie == Itself:
	case l.Tie != TwoWay:
		l.UncertaintyNS = math.Inf(1)
	default:
		from, to := l.clock.at(begin), l.clock.at(end)
		for k, wrong := range l.wrong {
			if x := l.begin + l.width*float64(k); x > from-l.width && x < to+l.width {
				l.UncertaintyNS = max(l.UncertaintyNS, wrong+l.between)
			}
		}
	}
}
