package meter

import (
	"math"
	"slices"

	"moriens/analysis/efficiency"
	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Stretch is a part of the run's time.
type Stretch struct{ BeginNS, UntilNS int64 }

// Agree is the stretch that the threads of all collectors have reported of: from the begin of main of the world that
// was first, to its end. before is the stretch agreed on before: it never becomes shorter. False: it has not begun.
func Agree(before Stretch, all ...Report) (s Stretch, ended, known bool) {
	worlds := make(map[string]*World)
	until, latest := int64(never), int64(math.MinInt64)
	for i := range all {
		until, latest = min(until, all[i].UntilNS), max(latest, all[i].LatestNS)
		for _, w := range all[i].Worlds {
			own := worlds[w.Name]
			if own == nil {
				worlds[w.Name] = &w
				continue
			}
			if w.BeginNS != never && (own.BeginNS == never || w.BeginNS > own.BeginNS) {
				own.BeginNS = w.BeginNS
			}
			own.FirstNS, own.EndNS = min(own.FirstNS, w.FirstNS), min(own.EndNS, w.EndNS)
		}
	}
	var first *World
	for _, w := range worlds {
		if first == nil || w.FirstNS < first.FirstNS || w.FirstNS == first.FirstNS && w.Name < first.Name {
			first = w
		}
	}
	if first == nil {
		return Stretch{}, false, false
	}
	s.BeginNS = first.BeginNS
	if s.BeginNS == never {
		s.BeginNS = first.FirstNS
	}
	if ended = until == never; ended {
		until = latest
	}
	if first.EndNS <= until {
		until, ended = first.EndNS, true
	}
	s.UntilNS = until
	if s.BeginNS == before.BeginNS && !ended {
		s.UntilNS = max(s.UntilNS, before.UntilNS)
	}
	return s, ended, s.UntilNS > s.BeginNS
}

// To adds up what the threads that were looked at did in a stretch.
func (m *Meter) To(s Stretch) *efficiency.Recent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished {
		return nil
	}
	again := s.BeginNS != m.stretch.BeginNS || s.UntilNS < m.stretch.UntilNS
	m.stretch = s
	r := efficiency.NewRecent(s.BeginNS, s.UntilNS)
	for i := range m.views {
		v := &m.views[i]
		l := m.locations[v.Ring]
		if l == nil || !l.looked {
			continue
		}
		line := lineOf(v)
		if again || !l.tracked {
			l.restart(line, s.BeginNS)
		}
		l.track.Fit(line)
		l.to(v, line.TicksAt(s.UntilNS), &m.reader)
		r.Add(v.Node, &l.track)
	}
	return r
}

// restart has all that is still there added again.
func (l *location) restart(line efficiency.Line, beginNS int64) {
	l.track.Begin(line, beginNS)
	l.tracked, l.at = true, l.first
	l.chunks, l.row, l.noBurst, l.opened = 0, 0, 0, false
	if l.begun.Until > 0 { // of what is added only the sum is left
		l.sums = slices.Insert(l.sums, 0, l.begun)
		l.begun = store.Sums{}
	}
}

// to adds what the thread did up to a tick.
func (l *location) to(v *store.StandingView, end uint64, reader *store.Reader) {
	if v.OnNode {
		l.toSums(end)
	} else if !l.toCalls(v, end, reader) {
		return
	}
	if !holds(v, l.at) {
		return
	}
	s := &v.Standing
	switch {
	case s.State == moriensv1.Standing_STATE_INSIDE && s.Enter >= l.at:
		l.track.Add(efficiency.Computing, l.at, min(s.Enter, s.Ticks, end))
		l.track.Add(efficiency.MPI, s.Enter, min(s.Ticks, end))
	case s.State == moriensv1.Standing_STATE_OUTSIDE:
		at := l.at
		if s.Enter >= at && s.Exit >= s.Enter {
			l.track.Add(efficiency.Computing, at, min(s.Enter, s.Ticks, end))
			l.track.Add(efficiency.MPI, s.Enter, min(s.Exit, s.Ticks, end))
			at = s.Exit
		}
		l.track.Add(efficiency.Computing, at, min(s.Ticks, end))
	}
}

// toCalls adds calls with the bursts before them, and reports whether all that have arrived are added. A chunk whose
// end is in the latest bin, as nearly all are, is added by its sums, whole or what is left of it.
func (l *location) toCalls(v *store.StandingView, end uint64, reader *store.Reader) bool {
	for ; l.chunks < len(v.Chunks); l.chunks, l.row, l.noBurst, l.opened = l.chunks+1, 0, 0, false {
		chunk := &v.Chunks[l.chunks]
		from, room := l.track.Room()
		if !l.opened {
			l.at, l.opened = chunk.Origin, true
			l.whole = l.at >= from
			l.before[efficiency.Computing], l.before[efficiency.MPI] = l.track.All()
		}
		if l.whole && chunk.End() <= min(room, end) {
			computing, mpi := l.track.All()
			l.at = chunk.End()
			l.track.Sum(l.at, chunk.Computing-(computing-l.before[efficiency.Computing]), chunk.MPI-(mpi-l.before[efficiency.MPI]))
			continue
		}
		if l.at >= end {
			return false
		}
		c := reader.Ticks(chunk)
		at, noBurst := l.at, c.NoBurst[l.noBurst:]
		row := l.row
		for ; row < len(c.Burst) && at < end; row++ {
			if from, room := l.track.Room(); at >= from {
				at, row, noBurst = l.sum(c, row, noBurst, at, min(room, end))
				if row == len(c.Burst) || at >= end {
					break
				}
			}
			enter := at + c.Burst[row]
			exit := enter + c.Call[row]
			without := len(noBurst) > 0 && int(noBurst[0]) == row
			if !without {
				l.track.Add(efficiency.Computing, at, min(enter, end))
			}
			if enter < end {
				l.track.Add(efficiency.MPI, enter, min(exit, end))
			}
			if exit > end {
				break // what is left of it follows
			}
			if without {
				noBurst = noBurst[1:]
			}
			at = exit
		}
		l.at, l.row, l.noBurst = at, row, len(c.NoBurst)-len(noBurst)
		if row < len(c.Burst) {
			return false
		}
	}
	return true
}

// sum adds the rows that are in the latest bin whole, as nearly all are, from one on. It returns the tick after them,
// the next row, and what of noBurst is of that and later ones.
func (l *location) sum(c *store.Calls, row int, noBurst []uint32, at, room uint64) (uint64, int, []uint32) {
	var computing, mpi uint64
	next := len(c.Burst)
	if len(noBurst) > 0 {
		next = int(noBurst[0])
	}
	calls := c.Call[:len(c.Burst)]
	for ; row < len(calls); row++ {
		burst, call := c.Burst[row], calls[row]
		exit := at + burst + call
		if exit > room {
			break
		}
		if row == next {
			burst, next, noBurst = 0, len(c.Burst), noBurst[1:]
			if len(noBurst) > 0 {
				next = int(noBurst[0])
			}
		}
		computing += burst
		mpi += call
		at = exit
	}
	l.track.Sum(at, computing, mpi)
	return at, row, noBurst
}

// toSums adds sums, each evenly over its time.
func (l *location) toSums(end uint64) {
	for len(l.sums) > 0 {
		x := l.sums[0]
		before := l.begun
		if x.Begin != before.Begin { // the first, or of an agent that was started again
			before = store.Sums{Begin: x.Begin, Until: x.Begin}
		}
		if x.Computing < before.Computing || x.MPI < before.MPI {
			before.Computing, before.MPI = x.Computing, x.MPI
		}
		l.track.Spread(before.Until, x.Until, x.Computing-before.Computing, x.MPI-before.MPI, end)
		if x.Until > end {
			return
		}
		l.begun, l.at = x, x.Until
		l.sums = l.sums[1:]
	}
}
