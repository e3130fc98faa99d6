package loops

import (
	"maps"
	"slices"

	"moriens/analysis/moment"
)

// A measurement goes through what threads did with the parts of their sequence, and adds up the times at each place.
type measurement struct {
	*forest
	bodies map[int32][]times // by body and node of it
	rounds map[int32]int64   // by body
	thread *Thread
	at     int // burst
}

type times struct{ duration, gap moment.Sum }

func (t *times) add(th *Thread, burst int) {
	t.duration.Add(th.DurationNS[burst])
	t.gap.Add(th.GapNS[burst])
}

// counted are the times of symbols of which the number alone is kept.
type counted map[uint32]*times

func (m *measurement) take(to *times, bursts int64) {
	for range bursts {
		to.add(m.thread, m.at)
		m.at++
	}
}

// node goes through a node that is kept; to is for its symbol.
func (m *measurement) node(id int32, to *times) {
	n := &m.nodes[id]
	m.take(to, n.times)
	for _, t := range n.turns {
		for range t.Times {
			m.body(t.Body)
		}
	}
}

func (m *measurement) body(id int32) {
	m.rounds[id]++
	places := m.bodies[id]
	if places == nil {
		places = make([]times, len(m.forest.bodies[id]))
		m.bodies[id] = places
	}
	for k, n := range m.forest.bodies[id] {
		m.node(n, &places[k])
	}
}

// count goes through a node that is only counted.
func (m *measurement) count(id int32, to counted) {
	n := &m.nodes[id]
	if n.times > 0 {
		if to[n.symbol] == nil {
			to[n.symbol] = new(times)
		}
		m.take(to[n.symbol], n.times)
	}
	for _, t := range n.turns {
		for range t.Times {
			m.countBody(t.Body, to)
		}
	}
}

func (m *measurement) countBody(id int32, to counted) {
	for _, n := range m.forest.bodies[id] {
		m.count(n, to)
	}
}

// part goes through a part of the sequence.
func (m *measurement) part(l line, p part, own *times, rest counted) {
	switch {
	case p.exact:
		m.node(l.nodes[p.from], own)
	case p.bodies == nil:
		for _, id := range l.nodes[p.from:p.to] {
			m.count(id, rest)
		}
	default:
		for _, t := range m.nodes[l.nodes[p.from]].turns {
			for range t.Times {
				if p.bodies[t.Body] {
					m.body(t.Body)
				} else {
					m.countBody(t.Body, rest)
				}
			}
		}
	}
}

// counts are sorted by symbol; each says how often it is there on one thread of several that do the same.
func (c counted) counts(threads int64) []Count {
	var list []Count
	for _, symbol := range slices.Sorted(maps.Keys(c)) {
		t := c[symbol]
		list = append(list, Count{Symbol: symbol, Times: t.duration.N / threads, Duration: t.duration, Gap: t.gap})
	}
	return list
}
