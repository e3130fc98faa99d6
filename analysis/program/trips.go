package program

import (
	"fmt"
	"slices"

	"moriens/analysis/moment"
)

// trips says how often a loop went round.
func (s *solver) trips(i int32) *Trips {
	t := s.tripsOf(i)
	t.Expression = s.tripsText(t)
	return t
}

func (s *solver) tripsOf(i int32) *Trips {
	var sum moment.Sum
	var values []int64 // of entries of which the end is known
	t := &Trips{}
	b := s.lay.items[i].inner
	byRank, begun := make(map[int]int64), make(map[int]int64)
	constant, left := true, s.left(i)
	entries := 0
	for g := range s.groups {
		entries += s.groups[g].Tree.Trips[i].len()
	}
	values = slices.Grow(values, entries) // there may be millions
	longest := int64(0)                   // of entries of which the end is not known: they had so many at least
	for g := range s.groups {
		x := &s.groups[g].Tree.Trips[i]
		n := x.len()
		for k := range n {
			v := int64(x.at(k))
			for range s.groups[g].Threads {
				sum.Add(v)
			}
			if s.open[g][b] && k == n-1 && (n > 1 || left) {
				longest = max(longest, v) // it was cut
				for _, thread := range s.groups[g].Threads {
					begun[s.rank(thread)] = max(begun[s.rank(thread)], v)
				}
				continue
			}
			values = append(values, v)
			for _, thread := range s.groups[g].Threads {
				r := s.rank(thread)
				if old, ok := byRank[r]; ok && old != v {
					constant = false
				}
				byRank[r] = v
			}
		}
	}
	t.Entries, t.Total, t.Least, t.Most, t.Mean = sum.N, sum.Total, sum.Min, sum.Max, sum.Mean()
	for r, v := range byRank {
		constant = constant && v >= begun[r]
	}
	if len(values) > 0 && slices.Min(values) == slices.Max(values) && values[0] >= longest {
		t.Kind = TripsConstant
		return t
	}
	if constant {
		t.Kind = TripsByRank
		s.tripsOfRanks(t, i, byRank)
		return t
	}
	if c := s.cycle(i); c != nil {
		t.Kind, t.Cycle = TripsCycle, c
		return t
	}
	if e := s.linear(i); e != nil {
		t.Kind, t.Linear = TripsLinear, e
		return t
	}
	slices.Sort(values)
	t.Kind = TripsVaries
	for q := 1; q <= 3; q++ {
		t.Quartiles = append(t.Quartiles, float64(values[min(len(values)*q/4, len(values)-1)]))
	}
	return t
}

// sums puts ranks together that have the same number.
func sums(by map[int]int64) (list []RankSum) {
	at := make(map[int64]int)
	ranks := make(map[int]bool)
	for r := range by {
		ranks[r] = true
	}
	for _, r := range sorted(ranks) {
		k, ok := at[by[r]]
		if !ok {
			k = len(list)
			at[by[r]] = k
			list = append(list, RankSum{Count: by[r]})
		}
		list[k].Ranks = append(list[k].Ranks, r)
	}
	return list
}

// affine writes k·x + c.
func affine(x string, k, c int64) string {
	text := x
	switch k {
	case 1:
	case -1:
		if c != 0 {
			return fmt.Sprintf("%d-%s", c, x)
		}
		return "-" + x
	default:
		text = fmt.Sprintf("%d*%s", k, x)
	}
	switch {
	case c > 0:
		text += fmt.Sprintf("+%d", c)
	case c < 0:
		text += fmt.Sprint(c)
	}
	return text
}

// longestCycle is how many entries a cycle of trips may have.
const longestCycle = 12

// cycle are the trips of entries in turn, the same on all ranks, over two periods at least; nil: there is none.
func (s *solver) cycle(i int32) []int64 {
	for p := 2; p <= longestCycle; p++ {
		var c []int64
		holds, seen := true, 0
		begun := make(map[int]int64) // by number of an entry that was cut: it had so many trips at least
		for g := range s.groups {
			x := &s.groups[g].Tree.Trips[i]
			n := x.len()
			cut := n > 0 && s.open[g][s.lay.items[i].inner]
			if cut {
				n--
			}
			for k := 0; k < n && holds; k++ {
				v := int64(x.at(k))
				if len(c) < p && k == len(c) {
					c = append(c, v)
				}
				holds = k%p < len(c) && c[k%p] == v
			}
			seen = max(seen, n)
			if cut {
				begun[n] = max(begun[n], int64(x.at(n)))
			}
		}
		if !holds || len(c) < p || seen < 2*p {
			continue
		}
		for entry, trips := range begun {
			holds = holds && trips <= c[entry%p]
		}
		if holds {
			return c
		}
	}
	return nil
}

// linear says the trips as a formula of a trip of a loop round it.
func (s *solver) linear(i int32) *Linear {
	b := s.lay.items[i].body
	if s.lay.contexts[s.lay.bodies[b].context].recursive {
		return nil
	}
	for _, v := range s.variables(b) {
		var x0, y0, k int64
		n, holds := 0, true
		var begun [][2]int64 // of entries that were cut: the trip round them, and how many trips they had at least
		for g := range s.groups {
			t := &s.groups[g].Tree
			if v.values[g] == nil {
				continue
			}
			entry := 0
			last := t.Trips[i].len() - 1
			t.Came[i].all(func(e uint32) bool {
				x, y := int64(v.values[g][e]), int64(t.Trips[i].at(entry))
				cut := entry == last && s.open[g][s.lay.items[i].inner]
				entry++
				switch {
				case cut:
					begun = append(begun, [2]int64{x, y})
				case n == 0:
					x0, y0 = x, y
					n = 1
				case n == 1:
					if x == x0 {
						holds = y == y0
						break
					}
					holds = (y-y0)%(x-x0) == 0
					if holds {
						k, n = (y-y0)/(x-x0), 2
					}
				default:
					holds = y == y0+k*(x-x0)
					n++
				}
				return holds
			})
			if !holds {
				break
			}
		}
		short := func(e [2]int64) bool { return e[1] > y0+k*(e[0]-x0) }
		if holds && n > 2 && k != 0 && !slices.ContainsFunc(begun, short) {
			return &Linear{v.name, k, y0 - k*x0}
		}
	}
	return nil
}
