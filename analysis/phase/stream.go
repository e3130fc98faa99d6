package phase

import (
	"cmp"
	"maps"
	"slices"
)

// A Stream sums up the phases of a thread a stretch of its time at a time, and keeps neither records nor intervals: its
// memory grows with paths and with phases that are open at one time. Paths are numbered in the order in which they are
// first there, as Lay numbers them. The zero value is a thread of which nothing is known yet.
type Stream struct {
	paths          Paths
	begun          bool
	beginNS, nowNS int64
	open           []openPhase // outermost first
	nest           Nest        // with those that lie too deep
	sums           map[int32]*Sum
	idle           map[int32]*Idle
	ahead          ahead
	over           readings // of the time that Over has ended
}

type openPhase struct {
	name    uint32
	beginNS int64
	path    int32
	part    bool  // of the instance of the one round it
	held    int64 // ns of the time that is ahead in which it was the innermost
}

// A Mark begins or ends a phase.
type Mark struct {
	NS   int64
	Name uint32
	End  bool
}

// Paths are those so far. They are not to be changed.
func (s *Stream) Paths() *Paths { return &s.paths }

// Begun is whether the thread's time has begun, and Now how far it is known.
func (s *Stream) Begun() bool { return s.begun }

// Now is described with Begun.
func (s *Stream) Now() int64 { return s.nowNS }

// Begin begins the thread's time, unless it has begun.
func (s *Stream) Begin(ns int64) {
	if !s.begun {
		s.begun, s.beginNS, s.nowNS = true, ns, ns
		s.sums, s.idle = make(map[int32]*Sum), make(map[int32]*Idle)
	}
}

// A Stretch is the part of a thread's time that follows what a Stream has.
type Stretch struct {
	// Intervals are the phases in the stretch, as far as they lie in it, those from before it and those that go on behind
	// it included.
	Intervals []Interval

	ended  []int32 // intervals that end in it
	origin []int64 // when each begins, also where that is before
	kept   []int32 // intervals that are open at its end, outermost first
	endNS  int64
}

// Stretch forms the intervals up to a moment. Marks are in the order of time; one that is not, or not in the stretch,
// counts as at the nearest moment at which it can be. A phase that is still open when one round it ends, ends there
// too; an end of what is not open is ignored. What lies deeper than MostDepth is part of the phase at that depth. Each
// stretch is to be taken in before the next one is formed, and no time may be ahead.
func (s *Stream) Stretch(marks []Mark, endNS int64) *Stretch {
	x := &Stretch{endNS: max(endNS, s.nowNS)}
	for k, p := range s.open {
		x.kept = append(x.kept, int32(k))
		x.origin = append(x.origin, p.beginNS)
		x.Intervals = append(x.Intervals, Interval{Name: p.name, Depth: int32(k), BeginNS: s.nowNS, EndNS: x.endNS, Number: -1})
	}
	ns := s.nowNS
	for _, m := range marks {
		ns = min(max(m.NS, ns), x.endNS)
		if !m.End {
			if !s.nest.Begin(m.Name) {
				continue
			}
			x.kept = append(x.kept, int32(len(x.Intervals)))
			x.origin = append(x.origin, ns)
			x.Intervals = append(x.Intervals, Interval{Name: m.Name, Depth: int32(len(x.kept) - 1), BeginNS: ns, EndNS: x.endNS, Number: -1})
			continue
		}
		k := s.nest.End(m.Name)
		if k < 0 || k >= len(x.kept) {
			continue
		}
		for _, i := range x.kept[k:] {
			x.Intervals[i].EndNS = ns
			x.ended = append(x.ended, i)
		}
		x.kept = x.kept[:k]
	}
	return x
}

// Take takes in the stretch that Stretch has formed, with what was done in it, and returns in which paths that lies.
// Records lie in the stretch as a whole.
func (s *Stream) Take(x *Stretch, r *Records) (Located, error) {
	s.Begin(min(s.nowNS, x.endNS))
	t, err := lay(s.paths, s.nowNS, x.endNS, x.Intervals)
	if err != nil {
		return Located{}, err
	}
	s.paths = t.own
	for _, sum := range t.Sums() {
		s.sum(sum.Path).ExclusiveNS += sum.ExclusiveNS
	}
	l := t.Locate(x.Intervals, r, nil)
	for i := range l.Idle {
		s.addIdle(&l.Idle[i])
	}
	was := s.open
	phaseOf := func(i int32) openPhase {
		if int(i) < len(was) { // it was open at the begin
			return was[i]
		}
		_, whole := t.Number(i)
		return openPhase{name: x.Intervals[i].Name, beginNS: x.origin[i], path: t.Path[i], part: !whole}
	}
	for _, i := range x.ended {
		s.leave(phaseOf(i), x.Intervals[i].EndNS)
	}
	s.open = nil
	for _, i := range x.kept {
		s.open = append(s.open, phaseOf(i))
	}
	s.nowNS = t.EndNS
	return l, nil
}

// Pass takes in a stretch without a mark, up to a moment, with what of it has no record, and returns the path in which
// all of it lies: it is Take at less cost.
func (s *Stream) Pass(endNS int64, without Idle) (path int32) {
	s.Begin(min(s.nowNS, endNS))
	s.sum(0)
	if n := len(s.open); n > 0 {
		path = s.open[n-1].path
	}
	endNS = max(endNS, s.nowNS)
	s.sum(path).ExclusiveNS += endNS - s.nowNS
	s.nowNS = endNS
	if without.PausedParts+without.UnrecordedParts > 0 {
		without.Path = path
		s.addIdle(&without)
	}
	return path
}

func (s *Stream) addIdle(more *Idle) {
	to := s.idle[more.Path]
	if to == nil {
		to = &Idle{Path: more.Path}
		s.idle[more.Path] = to
	}
	to.PausedNS, to.PausedParts = to.PausedNS+more.PausedNS, to.PausedParts+more.PausedParts
	to.UnrecordedNS, to.UnrecordedParts = to.UnrecordedNS+more.UnrecordedNS, to.UnrecordedParts+more.UnrecordedParts
}

func (s *Stream) sum(path int32) *Sum {
	if s.sums[path] == nil {
		s.sums[path] = &Sum{Path: path}
	}
	return s.sums[path]
}

// leave counts a phase that has ended.
func (s *Stream) leave(p openPhase, ns int64) {
	sum := s.sum(p.path)
	sum.Intervals++
	if !p.part {
		sum.Instances.Add(ns - p.beginNS)
	}
}

// Lead says that the program began so much earlier, without a phase or a record.
func (s *Stream) Lead(ns int64) {
	if !s.begun || ns <= 0 {
		return
	}
	s.beginNS -= ns
	s.sum(0).ExclusiveNS += ns
	if s.idle[0] == nil {
		s.idle[0] = new(Idle)
	}
	s.idle[0].UnrecordedNS += ns
	s.idle[0].UnrecordedParts++
}

// Clone is a Stream that continues by itself.
func (s *Stream) Clone() *Stream {
	c := *s
	c.paths.nodes, c.paths.children = slices.Clone(s.paths.nodes), maps.Clone(s.paths.children)
	c.open = slices.Clone(s.open)
	c.nest.names, c.nest.deep = slices.Clone(s.nest.names), maps.Clone(s.nest.deep)
	c.ahead.shares, c.ahead.place = slices.Clone(s.ahead.shares), slices.Clone(s.ahead.place)
	for k := range c.ahead.shares {
		c.ahead.shares[k].counted = slices.Clone(c.ahead.shares[k].counted)
	}
	c.ahead.readings.last, c.ahead.readings.events = slices.Clone(s.ahead.readings.last), slices.Clone(s.ahead.readings.events)
	c.sums, c.idle = make(map[int32]*Sum), make(map[int32]*Idle)
	for path, sum := range s.sums {
		own := *sum
		c.sums[path] = &own
	}
	for path, idle := range s.idle {
		own := *idle
		c.idle[path] = &own
	}
	return &c
}

// Close ends the thread's time, with the phases that are open, and returns its sums by path, the program's first, and
// the time without records. Nothing can follow it.
func (s *Stream) Close() (sums []Sum, idle []Idle) {
	if !s.begun {
		return nil, nil
	}
	for _, p := range s.open {
		s.leave(p, s.nowNS)
	}
	s.open = nil
	program := s.sum(0)
	program.Intervals = 1
	program.Instances.Add(s.nowNS - s.beginNS)
	for _, sum := range s.sums {
		sums = append(sums, *sum)
	}
	for _, x := range s.idle {
		idle = append(idle, *x)
	}
	slices.SortFunc(sums, func(a, b Sum) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(idle, func(a, b Idle) int { return cmp.Compare(a.Path, b.Path) })
	return sums, idle
}

// Bytes is about what the Stream takes of memory.
func (s *Stream) Bytes() int64 {
	return int64(len(s.paths.nodes))*(8+48) + int64(cap(s.open))*32 + int64(cap(s.nest.names))*4 + int64(len(s.nest.deep))*24 + int64(len(s.sums))*136 + int64(len(s.idle))*88 +
		int64(cap(s.ahead.shares))*48 + int64(len(s.ahead.shares)*len(s.ahead.readings.last))*8 + int64(cap(s.ahead.place))*4
}
