package placement

import (
	"cmp"
	"slices"
)

// A mover improves a bisection by moving vertices.
type mover struct {
	g     *graph
	side  []int8
	cut   int64 // weight between the sides
	left  int32 // ranks on side 0
	want  int32 // that there should be
	slack int32 // by how many it may be off: with vertices that stand for several it cannot always be met
	queue [2]*queue
}

func newMover(g *graph, side []int8, want int32) *mover {
	m := &mover{g: g, side: side, want: want, slack: slices.Max(g.size) - 1}
	for v := range side {
		if side[v] == 0 {
			m.left += g.size[v]
		}
		for k := g.first[v]; k < g.first[v+1]; k++ {
			if side[g.to[k]] > side[v] {
				m.cut += g.weight[k]
			}
		}
	}
	m.queue = [2]*queue{newQueue(len(side)), newQueue(len(side))}
	return m
}

// off is by how many ranks, beyond the slack, the sides are not as they should be.
func (m *mover) off() int32 { return max(max(m.left-m.want, m.want-m.left)-m.slack, 0) }

// improve does passes until one brings nothing.
func (m *mover) improve() {
	for m.pass() {
	}
}

// pass moves every vertex once at most, that first that gains most, from the side that has too many ranks. Then it
// takes back the moves after which it was not best. It reports whether it found better.
func (m *mover) pass() bool {
	for v := range m.side {
		gain := int64(0)
		for k := m.g.first[v]; k < m.g.first[v+1]; k++ {
			if m.side[m.g.to[k]] == m.side[v] {
				gain -= m.g.weight[k]
			} else {
				gain += m.g.weight[k]
			}
		}
		m.queue[m.side[v]].set(int32(v), gain)
	}
	var moved []int32
	best, bestOff, bestLeft, bestAt := m.cut, m.off(), m.left, 0
	patience := max(64, len(m.side)/8)
	for {
		v, ok := m.next()
		if !ok || len(moved)-bestAt > patience && m.off() == 0 {
			break
		}
		m.move(v)
		moved = append(moved, v)
		if off := m.off(); off < bestOff || off == bestOff && m.cut < best {
			best, bestOff, bestLeft, bestAt = m.cut, off, m.left, len(moved)
		}
	}
	for _, v := range moved[bestAt:] {
		m.side[v] = 1 - m.side[v]
	}
	for _, q := range m.queue {
		q.clear()
	}
	m.cut, m.left = best, bestLeft
	return bestAt > 0
}

// move moves a vertex, which leaves its queue.
func (m *mover) move(v int32) {
	from := m.side[v]
	m.cut -= m.queue[from].gain[v]
	m.queue[from].remove(v)
	m.side[v] = 1 - from
	m.left += m.g.size[v] * int32(2*from-1)
	for k := m.g.first[v]; k < m.g.first[v+1]; k++ {
		u := m.g.to[k]
		if q := m.queue[m.side[u]]; q.has(u) {
			change := 2 * m.g.weight[k]
			if m.side[u] != from {
				change = -change
			}
			q.set(u, q.gain[u]+change)
		}
	}
}

// next is the vertex to move: of the side that has too many; if neither has, the one that gains more.
func (m *mover) next() (int32, bool) {
	from := 0
	a, okA := m.queue[0].top()
	b, okB := m.queue[1].top()
	switch {
	case m.left > m.want:
	case m.left < m.want:
		from = 1
	case !okA || okB && m.queue[1].gain[b] > m.queue[0].gain[a]:
		from = 1
	}
	if from == 0 {
		return a, okA
	}
	return b, okB
}

// worthARound is the part of the weight between hosts that a round of exchange must save for another to follow.
const worthARound = 1. / 1000

// exchange improves every two hosts that send each other anything, those that send most first, round after round. Two
// that were improved before are taken again once one of them has other ranks.
func (g *graph) exchange(of []int32, hosts int) {
	number := make([]int32, g.vertices())
	changed := make([]int, hosts)   // by host: the step that changed it last
	tried := make(map[[2]int32]int) // by hosts: the step that tried to improve them last
	for step, saved := 1, true; saved; {
		saved = false
		on := make([][]int32, hosts)
		for v, host := range of {
			on[host] = append(on[host], int32(v))
		}
		all, gain := int64(0), int64(0)
		for _, p := range g.traffic(of) {
			all += p.weight
			a, b := p.hosts[0], p.hosts[1]
			if last := tried[p.hosts]; last > max(changed[a], changed[b]) {
				continue
			}
			step++
			tried[p.hosts] = step
			vertices := slices.Concat(on[a], on[b])
			slices.Sort(vertices)
			side := make([]int8, len(vertices))
			for i, v := range vertices {
				if of[v] == b {
					side[i] = 1
				}
			}
			m := newMover(g.part(vertices, number), side, int32(len(on[a])))
			before := m.cut
			if !m.pass() {
				continue
			}
			gain += before - m.cut
			changed[a], changed[b] = step, step
			on[a], on[b] = nil, nil
			for i, v := range vertices {
				of[v] = p.hosts[m.side[i]]
				on[of[v]] = append(on[of[v]], v)
			}
		}
		saved = float64(gain) > worthARound*float64(all)
	}
}

// A hostPair is two hosts, the lower first, and the weight between them.
type hostPair struct {
	hosts  [2]int32
	weight int64
}

// traffic lists the hosts that send each other anything, the heaviest first.
func (g *graph) traffic(of []int32) []hostPair {
	between := make(map[[2]int32]int64)
	for v, host := range of {
		for k := g.first[v]; k < g.first[v+1]; k++ {
			if other := of[g.to[k]]; other > host {
				between[[2]int32{host, other}] += g.weight[k]
			}
		}
	}
	pairs := make([]hostPair, 0, len(between))
	for hosts, weight := range between {
		pairs = append(pairs, hostPair{hosts, weight})
	}
	slices.SortFunc(pairs, func(a, b hostPair) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), slices.Compare(a.hosts[:], b.hosts[:]))
	})
	return pairs
}
