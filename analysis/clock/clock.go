// Package clock brings the clocks of a run's nodes to one time line.
//
// In come bounds: a message that one node sent at a time of its clock was received at a time of another's, and nothing
// is received before it is sent (Lamport, CACM 21(7), 1978). Messages both ways bound the difference of two clocks from
// both sides; exchanges between agents and collector, point-to-point messages and collectives all reduce to that. Out
// come, for every node, the function from its own time to that of the reference node, its maximum error, and whatever
// contradicts it. Order then moves what still arrives too early.
//
// Method: the offset and drift of each pair lie between the bounds of both directions (Duda, Harrus, Haddad, Bernard,
// ICDCS 1987); pairs are combined as difference constraints, whose solutions are shortest paths (Cormen et al.,
// Introduction to Algorithms, 24.4). Times are in nanoseconds. docs/clocks.md describes the whole.
//
// The package reads no clock; the same input gives the same answer.
package clock

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"moriens/internal/team"
)

const (
	// maxRate is how fast a node's calibrated clock may run against the true time: the kernel slews by at most
	// 500 millionths, and oscillators are within 100.
	maxRate = 1e-3
	// firstWander is how much the rate of two clocks against each other is taken to vary during a run, before
	// bounds say that it varies more: what temperature does to a computer's oscillator (Murdoch, CCS 2006).
	firstWander = 1e-6
	// stretchNS is the aimed length of the stretches in which the bounds are brought together. Within one a wander of
	// firstWander moves a clock by a microsecond at most.
	stretchNS = 1e9
	// A run is cut into no less than fewStretches, if it is not of no length, and if the memory for all nodes and pairs
	// allows in no less than enoughStretches and no more than maxStretches.
	fewStretches, enoughStretches, maxStretches = 16, 64, 4096
	maxCells                                    = 4 << 20
	// coarsePasses bring clocks that differ by anything to within what the last pass can resolve: each one
	// takes the drift times the offset that the one before has left.
	coarsePasses = 3
	// maxStampNS bounds what a stamp may be, so that no difference overflows: 146 years from the epoch.
	maxStampNS = 1 << 62
)

// A Bound is a message in the widest sense: node To cannot have it before node From sends it. Each time is by
// the node's own clock.
type Bound struct {
	From, To       int
	SendNS, RecvNS int64
}

// A Span is the time of a node's clock within which its times will be asked for; none where it ends before it begins.
type Span struct{ BeginNS, EndNS int64 }

// An Input says what is known. Bounds is gone through several times and must give the same each time.
type Input struct {
	Reference int // whose time the others are brought to
	Spans     []Span
	Bounds    iter.Seq[Bound]
	Stop      func() bool // asked now and then; true ends it with ErrStopped. nil = never. In a team it says the same at all members
	// Team has members that each know some of the bounds; all else that is known they have in common. Solve is collective
	// then, and its answer that of all bounds, at each of them. nil = one has all.
	Team team.Team
}

// ErrStopped is what Solve returns where Input.Stop ended it.
var ErrStopped = errors.New("no time to compare them")

// A Solution has a Line for every node.
type Solution struct {
	Lines []Line
	// Refused counts bounds that say nothing: a node with itself, or a time out of all range.
	Refused int
	// Contradicted counts pairs of nodes, each in each stretch of the run, whose bounds no pair of steady
	// clocks can keep. There the middle is taken, and the uncertainty spans both.
	Contradicted int
}

// Solve finds the clocks. Nodes that no bounds tie to the reference keep their own time; a Line says so.
func Solve(in Input) (*Solution, error) {
	s := &solver{in: in, clocks: make([]coarse, len(in.Spans))}
	if s.in.Team == nil {
		s.in.Team = team.Solo{}
	}
	if in.Reference < 0 || in.Reference >= len(in.Spans) {
		return nil, fmt.Errorf("clock: reference node %d of %d", in.Reference, len(in.Spans))
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	if err := s.center(); err != nil {
		return nil, err
	}
	for range coarsePasses {
		if err := s.gather(fewStretches); err != nil {
			return nil, err
		}
		if !s.settle() {
			return nil, ErrStopped
		}
		s.refine()
	}
	if err := s.gather(s.stretches()); err != nil {
		return nil, err
	}
	if !s.settle() {
		return nil, ErrStopped
	}
	return s.solution(), nil
}

// A coarse clock is a straight line: x, in nanoseconds since the reference node's base, of a node's own time.
type coarse struct {
	baseNS int64 // the node's earliest stamp
	lastNS int64 // and its latest
	shift  float64
	scale  float64
	// steady bounds the rate of what this line leaves of the clock's error.
	steady float64
}

func (c *coarse) at(ns int64) float64 { return c.shift + c.scale*float64(ns-c.baseNS) }

// A solver holds the state of the passes.
type solver struct {
	in      Input
	clocks  []coarse
	index   map[pairKey]int
	pairs   []*pair
	graph   *graph
	roots   []int // of each connected part its reference: what the run's is, or the lowest node
	root    []int // of each node
	refused int
	begin   float64 // of the first knot, on the common axis
	width   float64 // of a stretch, from knot to knot
	knots   int
	low     [][]float64 // by knot and node: the least and the most that its line lacks
	high    [][]float64
	slow    []float64 // by node: the same for its rate
	fast    []float64
	free    []bool // nodes that are not bounded in one of the directions
	clashes int
}

type pairKey struct{ a, b int32 }

// usable reports whether a bound says anything; it fails where it names a node that is not there.
func (s *solver) usable(b Bound) (bool, error) {
	n := len(s.in.Spans)
	if b.From < 0 || b.From >= n || b.To < 0 || b.To >= n {
		return false, fmt.Errorf("clock: a bound from node %d to node %d of %d", b.From, b.To, n)
	}
	inRange := func(ns int64) bool { return ns > -maxStampNS && ns < maxStampNS }
	return b.From != b.To && inRange(b.SendNS) && inRange(b.RecvNS), nil
}

// find looks through the bounds for pairs, first stamps and connected parts.
func (s *solver) find() error {
	const none = math.MaxInt64
	for i, span := range s.in.Spans {
		s.clocks[i] = coarse{baseNS: none, lastNS: math.MinInt64, scale: 1, steady: maxRate}
		if span.EndNS >= span.BeginNS {
			if span.BeginNS <= -maxStampNS || span.EndNS >= maxStampNS {
				return fmt.Errorf("clock: node %d: a span of %d to %d ns", i, span.BeginNS, span.EndNS)
			}
			s.clocks[i].baseNS, s.clocks[i].lastNS = span.BeginNS, span.EndNS
		}
	}
	s.clocks[s.in.Reference].steady = 0
	s.index = make(map[pairKey]int)
	var failed error
	for b := range s.in.Bounds {
		ok, err := s.usable(b)
		if err != nil {
			failed = err
			break
		}
		if !ok {
			s.refused++
			continue
		}
		for _, end := range [2]struct {
			node int
			ns   int64
		}{{b.From, b.SendNS}, {b.To, b.RecvNS}} {
			c := &s.clocks[end.node]
			c.baseNS, c.lastNS = min(c.baseNS, end.ns), max(c.lastNS, end.ns)
		}
		s.index[keyOf(b)] = 0
	}
	if err := team.Agree(s.in.Team, failed); err != nil {
		return err
	}
	if err := s.shareNodes(); err != nil {
		return err
	}
	if err := s.sharePairs(); err != nil {
		return err
	}
	reference := &s.clocks[s.in.Reference]
	if reference.baseNS == none {
		reference.baseNS, reference.lastNS = 0, 0
	}
	for i := range s.clocks {
		c := &s.clocks[i]
		if c.baseNS == none {
			c.baseNS, c.lastNS = reference.baseNS, reference.baseNS
		}
		c.shift = float64(c.baseNS - reference.baseNS) // as the nodes' own clocks have it
	}
	if len(s.clocks) > math.MaxInt32 {
		return errors.New("clock: too many nodes")
	}
	s.connect()
	return nil
}

func keyOf(b Bound) pairKey { return pairKey{int32(min(b.From, b.To)), int32(max(b.From, b.To))} }

// connect finds the connected parts and their roots.
func (s *solver) connect() {
	s.graph = newGraph(len(s.clocks), s.pairs)
	s.root = make([]int, len(s.clocks))
	for i := range s.root {
		s.root[i] = -1
	}
	spread := func(root int) {
		s.roots = append(s.roots, root)
		s.root[root] = root
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			for _, e := range s.graph.from(queue[0]) {
				if next := s.pairs[e].other(queue[0]); s.root[next] < 0 {
					s.root[next] = root
					queue = append(queue, next)
				}
			}
		}
	}
	spread(s.in.Reference)
	for i := range s.root {
		if s.root[i] < 0 {
			spread(i)
		}
	}
}

// each goes through the usable bounds: the pair, the stamps on the common axis, and whether the pair's first
// node sent it.
func (s *solver) each(do func(p *pair, send, recv float64, forward bool)) {
	last, lastKey := (*pair)(nil), pairKey{-1, -1}
	for b := range s.in.Bounds {
		if ok, err := s.usable(b); !ok || err != nil {
			continue
		}
		if key := keyOf(b); key != lastKey {
			last, lastKey = s.pairs[s.index[key]], key
		}
		do(last, s.clocks[b.From].at(b.SendNS), s.clocks[b.To].at(b.RecvNS), b.From < b.To)
	}
}
