package represent

import (
	"cmp"
	"math"
	"slices"

	"moriens/internal/team"
)

// gather returns what all members have, by rank.
func gather[T team.Plain](c team.Panicking, own []T) [][]T {
	if c.Size() == 1 {
		return [][]T{own}
	}
	return team.Must(team.Gather(c, own))
}

// byThread returns the lists of all threads, by thread.
func byThread[T team.Plain](c team.Panicking, lists [][]T) [][]T {
	return team.Must(team.ByThread(c.Threads, lists))
}

// A spot is a burst of a thread.
type spot struct {
	thread int
	burst  int32
}

// beginsAt is when bursts begin.
func (r *Run) beginsAt(list []spot) []int64 {
	ns := make([]int64, len(list))
	for i, x := range list {
		if r.team.Mine(x.thread) {
			ns[i] = r.Threads[x.thread].BeginNS[x.burst]
		}
	}
	r.team.Reduce(team.Sum, ns)
	return ns
}

// A foremost is the burst with most of some time; of several the first one of the first thread.
type foremost struct {
	ns int64
	spot
}

func (l *foremost) take(o foremost) {
	if o.ns >= 0 && cmp.Or(cmp.Compare(o.ns, l.ns), cmp.Compare(l.thread, o.thread), cmp.Compare(l.burst, o.burst)) > 0 {
		*l = o
	}
}

// noneYet is before any of a time that is not negative.
var noneYet = foremost{ns: -1, spot: spot{thread: math.MaxInt}}

// foremostOf is the foremost of those that the members have for each of several things; noneYet where none has one.
func foremostOf(c team.Panicking, own []foremost) []foremost {
	var values []int64
	for _, x := range own {
		values = append(values, x.ns, int64(x.thread), int64(x.burst))
	}
	for _, list := range gather(c, values) {
		for i := range own {
			own[i].take(foremost{list[3*i], spot{int(list[3*i+1]), int32(list[3*i+2])}})
		}
	}
	return own
}

// addUp makes pieces and table those of all threads.
func (s *stretch) addUp(c team.Panicking) {
	n := len(s.pieces)
	begins, ends, sums := make([]int64, n), make([]int64, n), make([]int64, 2*n)
	for u, p := range s.pieces {
		begins[u], ends[u], sums[u], sums[n+u] = p.beginNS, p.endNS, p.timeNS, p.bursts
	}
	c.Reduce(team.Min, begins)
	c.Reduce(team.Max, ends)
	c.Reduce(team.Sum, sums)
	c.Reduce(team.Sum, s.timeNS)
	for u := range s.pieces {
		p := &s.pieces[u]
		if p.beginNS, p.endNS, p.timeNS, p.bursts = begins[u], ends[u], sums[u], sums[n+u]; p.bursts == 0 {
			p.beginNS, p.endNS = 0, 0
		}
	}
}

// uniteOddities adds up what members have of the same cluster in the same piece.
func uniteOddities(c team.Panicking, own []oddity) []oddity {
	if c.Size() == 1 {
		return own
	}
	var values []int64
	for _, o := range own {
		values = append(values, int64(o.piece), int64(o.kind), int64(o.cluster), int64(o.bursts), o.worstNS, int64(o.thread), int64(o.burst), o.ns)
	}
	type key struct {
		piece   int
		kind    oddKind
		cluster int32
	}
	places := make(map[key]int)
	var list []oddity
	for _, theirs := range gather(c, values) {
		for x := range slices.Chunk(theirs, 8) {
			o := oddity{int(x[0]), oddKind(x[1]), int32(x[2]), int(x[3]), x[4], int32(x[5]), int32(x[6]), x[7]}
			k := key{o.piece, o.kind, o.cluster}
			place, there := places[k]
			if !there {
				places[k] = len(list)
				list = append(list, o)
				continue
			}
			have := &list[place]
			bursts := have.bursts + o.bursts
			if o.worstNS > have.worstNS || o.worstNS == have.worstNS && o.thread < have.thread {
				*have = o
			}
			have.bursts = bursts
		}
	}
	slices.SortFunc(list, oddity.compare)
	return list
}
