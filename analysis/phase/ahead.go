package phase

import "math"

// Marks may arrive long before it is known what the thread did between them: that it was a burst is known when the
// call behind it has been made. A Stream can take them in at once, so that they need not be kept. The time up to the
// latest of them is ahead: paths have it, and what was done in it follows when it is over.

// A Share is what a path has of a part of time.
type Share struct {
	Path int32
	NS   int64
	// Parts is how many parts that follow each other the time has there: each phase that begins or ends makes another one.
	Parts int64

	counted []int64 // by event: between the borders that were read
}

// ahead is time of which it is not known yet what was done in it.
type ahead struct {
	shares []Share // in the order in which it is first in their paths
	place  []int32 // by path: in shares, plus 1
	held   int64   // ns outside of all phases that are open
	// The phase, or the time outside of all, that was the first to have the most of it, and how much.
	most   int32 // its path
	mostNS int64

	readings readings
}

// readings are what was read at the borders of paths in time that is ahead: what the thread had counted by then since
// that time began.
type readings struct {
	here, next []int64 // where the time now is, and at nextNS behind that; nil: nothing was read there
	nextNS     int64
	latest     int32   // path in which the time was last, plus 1
	last       []int64 // by event: at the latest border
	borders    int
	broken     bool // one was not read
	events     []eventRead
}

// An eventRead is what the borders say of an event.
type eventRead struct{ rose, fell, missing bool }

// at notes what was read at a moment from nowNS on: of several at one moment the last one counts.
func (r *readings) at(ns, nowNS int64, counts []int64) {
	switch {
	case len(counts) == 0:
	case ns == nowNS:
		r.here = counts
	default:
		r.next, r.nextNS = counts, ns
	}
}

// pass lets time pass in a path up to a moment. from is what the path before it has, if that is another one.
func (r *readings) pass(path int32, toNS int64, from *Share) {
	if from != nil {
		r.borders++
		switch {
		case len(r.here) == 0 || len(r.last) > 0 && len(r.last) != len(r.here):
			r.broken = true
		case r.broken:
		default:
			if len(r.last) == 0 {
				r.last, r.events = make([]int64, len(r.here)), make([]eventRead, len(r.here))
			}
			if len(from.counted) == 0 {
				from.counted = make([]int64, len(r.here))
			}
			for k, v := range r.here {
				e := &r.events[k]
				if v == math.MinInt64 {
					e.missing = true
					continue
				}
				e.rose, e.fell = e.rose || v > r.last[k], e.fell || v < r.last[k]
				from.counted[k] += v - r.last[k]
				r.last[k] = v
			}
		}
	}
	r.latest, r.here = path+1, nil
	if len(r.next) > 0 && r.nextNS == toNS {
		r.here = r.next
	}
}

// Read gives each share of the time that Over has ended what of an event it has, of so much in all, as it was read at
// all borders of paths. False, and nothing is given: it was not, or what was read cannot be.
func (s *Stream) Read(event int, value int64, shares []Share, give func(share int, part int64)) bool {
	r := &s.over
	if r.broken || r.borders == 0 || event >= len(r.events) {
		return false
	}
	e, rest := r.events[event], value-r.last[event]
	if e.missing || value >= 0 && (e.fell || rest < 0) || value < 0 && (e.rose || rest > 0) {
		return false
	}
	for k := range shares {
		part := int64(0)
		if len(shares[k].counted) > 0 {
			part = shares[k].counted[event]
		}
		if shares[k].Path+1 == r.latest {
			part += rest
		}
		give(k, part)
	}
	return true
}

// Mark takes in a mark: one of a time before those that the Stream has counts as at the latest of these. counts are
// what was read there, by event; none: nothing was. The Stream keeps them.
func (s *Stream) Mark(m Mark, counts []int64) {
	s.Begin(m.NS)
	ns := max(m.NS, s.nowNS)
	s.ahead.readings.at(ns, s.nowNS, counts)
	if !m.End {
		if !s.nest.Begin(m.Name) {
			return
		}
		s.spend(ns)
		round := s.innermost()
		path := s.paths.child(round, m.Name)
		s.open = append(s.open, openPhase{name: m.Name, beginNS: ns, path: path, part: path == round})
		return
	}
	k := s.nest.End(m.Name)
	if k < 0 || k >= len(s.open) {
		return
	}
	s.spend(ns)
	for _, p := range s.open[k:] {
		s.leave(p, ns)
	}
	s.open = s.open[:k]
}

// innermost is the path that the thread is in.
func (s *Stream) innermost() int32 {
	if n := len(s.open); n > 0 {
		return s.open[n-1].path
	}
	return 0
}

// spend lets time pass up to a moment, in which no phase begins or ends.
func (s *Stream) spend(toNS int64) {
	ns := toNS - s.nowNS
	if ns <= 0 {
		return
	}
	s.nowNS = toNS
	path, held := s.innermost(), &s.ahead.held
	if n := len(s.open); n > 0 {
		held = &s.open[n-1].held
	}
	s.sum(path).ExclusiveNS += ns
	a := &s.ahead
	if *held += ns; *held > a.mostNS {
		a.most, a.mostNS = path, *held
	}
	for int(path) >= len(a.place) {
		a.place = append(a.place, 0)
	}
	if a.place[path] == 0 {
		a.shares = append(a.shares, Share{Path: path})
		a.place[path] = int32(len(a.shares))
	}
	x := &a.shares[a.place[path]-1]
	x.NS, x.Parts = x.NS+ns, x.Parts+1
	var from *Share
	if latest := a.readings.latest; latest > 0 && latest != path+1 {
		from = &a.shares[a.place[latest-1]-1]
	}
	a.readings.pass(path, toNS, from)
}

// Over ends the time that is ahead at a moment, and returns which paths have how much of it, and the one in which a
// burst of all of it counts: that of the phase that has most of it, as trace.LocatePhases has it; the one at the end if
// it is empty. The shares last until the next mark.
func (s *Stream) Over(endNS int64) (shares []Share, counts int32) {
	s.Begin(endNS)
	s.spend(endNS)
	a := &s.ahead
	shares, counts = a.shares, a.most
	if a.mostNS == 0 {
		counts = s.innermost()
	}
	for i := range s.open {
		s.open[i].held = 0
	}
	for _, x := range shares {
		a.place[x.Path] = 0
	}
	a.shares, a.held, a.most, a.mostNS = a.shares[:0], 0, 0, 0
	s.over, a.readings = a.readings, readings{}
	return shares, counts
}

// Without says that a part of time that is over has no record.
func (s *Stream) Without(shares []Share, what What) {
	for _, x := range shares {
		idle := Idle{Path: x.Path}
		switch what {
		case Paused:
			idle.PausedNS, idle.PausedParts = x.NS, x.Parts
		case Unrecorded:
			idle.UnrecordedNS, idle.UnrecordedParts = x.NS, x.Parts
		}
		s.addIdle(&idle)
	}
}
