package live

import (
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/trace"
)

// A merger is what the first of several collectors has of the others. The zero merger is that of the only one.
type merger struct {
	generation int   // of the clustering, from 1
	epochs     []int // of what others have reported for it, by rank; 0: nothing yet
	threadsOf  []int // by rank

	// With Live.mu held.
	pending []incoming
	terms   Terms
}

type incoming struct {
	rank  int
	share *Share
}

// restart has the others send everything again.
func (m *merger) restart() {
	m.generation++
	clear(m.epochs)
}

// threads is how many the others have.
func (m *merger) threads() (n int) {
	for _, threads := range m.threadsOf {
		n += threads
	}
	return n
}

// Merge takes what another collector has reported. It does not wait: the next clustering includes it.
func (l *Live) Merge(rank int, s *Share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merger.pending = append(l.merger.pending, incoming{rank, s})
}

// Terms are what the first collector needs from the others now.
func (l *Live) Terms() Terms {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.merger.terms
}

// propose makes the terms those of the clustering as it is.
func (l *Live) propose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merger.terms = Terms{Generation: l.merger.generation, Counters: slices.Clone(l.feed.bursts.CounterNames), Follow: l.follower != nil}
}

// absorb adds what others have reported, as far as it is for this clustering.
func (l *Live) absorb() {
	m := &l.merger
	l.mu.Lock()
	pending := m.pending
	m.pending = nil
	l.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	l.followMu.Lock()
	defer l.followMu.Unlock()
	for _, t := range pending {
		l.feed.columns(t.share.Counters)
	}
	l.choose()
	for _, t := range pending {
		s := t.share
		m.threadsOf[t.rank] = s.Threads
		switch {
		case s.Generation != m.generation || s.Axes != axes(&l.chosen):
			continue // its replacement follows
		case m.epochs[t.rank] != 0 && m.epochs[t.rank] != s.Epoch:
			l.restart() // it sends again what is here
			return
		}
		m.epochs[t.rank] = s.Epoch
		l.merge(s)
		l.grown = l.grown || s.Bursts > 0
	}
	if l.follower != nil {
		l.follower.settle(false)
	}
}

// place is the number of the place of a call path of another collector.
func (l *Live) place(p trace.CallPath) uint32 {
	number := l.store.Number(p)
	return l.store.Places()[number]
}

// merge adds a share.
func (l *Live) merge(s *Share) {
	l.durations.Merge(&s.Durations)
	l.bursts += s.Bursts
	groups := make([]*group, len(s.Groups))
	for i, g := range s.Groups {
		var of calls
		if l.chosen.By == grouping.ByCalls {
			of = calls{l.place(g.Before), l.place(g.After)}
		}
		groups[i] = l.group(of)
	}
	dims := len(l.chosen.Dims)
	for i, group := range s.Group {
		l.put(groups[group], s.Coords[i*dims:(i+1)*dims], amount{s.Sampled[i], stand{s.Count[i], s.TimeNS[i]}})
	}
	if l.follower != nil {
		l.follower.putLent(s, groups, l.feed.bursts.CounterNames)
	}
}

// lent is what another collector has reported about its threads. It waits for the clusters of its places.
type lent struct {
	share    *Share
	groups   []*group
	counters []int // the share's, in the order of the follower's; -1: it has none
}

// putLent has a share wait.
func (f *follower) putLent(s *Share, groups []*group, names []string) {
	if len(names) != len(f.names) {
		f.settle(true) // those that wait have fewer counters
		f.names = slices.Clone(names)
	}
	x := lent{share: s, groups: groups}
	for _, name := range f.names {
		x.counters = append(x.counters, slices.Index(s.Counters, name))
	}
	f.lent = append(f.lent, x)
}

// ids are the clusters of its places, 0 = of none, and whether all of those have been clustered.
func (x *lent) ids() (ids []int32, clustered bool) {
	clustered = true
	for i, group := range x.share.Group {
		g := x.groups[group]
		id, known := g.idAt(x.share.Coords[i*g.dims : (i+1)*g.dims])
		ids = append(ids, id)
		clustered = clustered && known
	}
	return ids, clustered
}

// settleLent puts what another collector has reported where it belongs.
func (f *follower) settleLent(s *Share, ids []int32, columns []int) {
	if !f.known && len(s.Bins) > 0 {
		f.known, f.zeroNS = true, s.FromNS
	}
	for bin, times := range s.Bins {
		from := s.FromNS + int64(bin)*s.BinNS - f.zeroNS
		for code, ns := range times {
			if place := code - CodeCluster; place >= 0 {
				code = CodeNoise
				if ids[place] != 0 {
					code = CodeCluster + ids[place]
				}
			}
			f.history.spread(code, from, from+s.BinNS, ns)
		}
	}
	for _, shared := range s.Latest {
		b := Burst{Thread: shared.Thread, Rank: shared.Rank, StartNS: max(0, shared.StartNS-f.zeroNS), DurationNS: shared.DurationNS, Cluster: -1}
		if id := ids[shared.Place]; id != 0 {
			b.Cluster = id
		}
		counters := make([]int64, len(columns))
		for i, column := range columns {
			counters[i] = space.NotRead
			if column >= 0 && column < len(shared.Counters) {
				counters[i] = shared.Counters[column]
			}
		}
		f.keep(b, counters)
	}
}
