package program

import (
	"fmt"
	"maps"
	"slices"
)

// Sequences may end in the middle: a rank died, or left without MPI_Finalize. How often such a rank went round the loop
// in which that was is no number of trips, if others are known to have left it.

// left reports whether some thread is known to have left a loop.
func (s *solver) left(i int32) bool {
	inner := s.lay.items[i].inner
	for g := range s.groups {
		if n := s.groups[g].Tree.Trips[i].len(); n > 1 || n == 1 && !s.open[g][inner] {
			return true
		}
	}
	return false
}

// endsIn says of which ranks calls end in a loop; "" = of none.
func (s *solver) endsIn(i int32) string {
	ranks, there := make(map[int]bool), make(map[int]bool)
	for g := range s.groups {
		if s.groups[g].Tree.Trips[i].len() == 0 {
			continue
		}
		for _, t := range s.groups[g].Threads {
			there[s.rank(t)] = true
			if s.groups[g].Cut && s.open[g][s.lay.items[i].inner] {
				ranks[s.rank(t)] = true
			}
		}
	}
	if len(ranks) == 0 {
		return ""
	}
	return "calls of " + s.these(sorted(ranks), len(ranks) == len(there)) + " end in it"
}

// these names ranks.
func (s *solver) these(ranks []int, all bool) string {
	switch {
	case all && len(ranks) > 1:
		return "all ranks"
	}
	return s.shortly(ranks)
}

// ended says of which ranks the calls end before MPI_Finalize.
func (s *solver) ended() (why []string) {
	ranks := make(map[int]bool)
	for g := range s.groups {
		for _, t := range s.groups[g].Threads {
			if s.groups[g].Cut {
				ranks[s.rank(t)] = true
			}
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	list := sorted(ranks)
	return []string{fmt.Sprintf("Calls of %s end before MPI_Finalize: rules are of what they did until then.", s.these(list, len(list) == s.size))}
}

// lastTrip is the last trip of the entry of a loop in which a sequence of a group ended, in an execution of the body
// round it: the one that its trips say, or else the one in which it ended.
func (s *solver) lastTrip(g int, i int32, execution uint32, round []index, t *Trips) uint32 {
	x := &s.groups[g].Tree.Trips[i]
	entry := x.len() - 1
	made := int64(x.at(entry))
	trips := made
	switch t.Kind {
	case TripsConstant:
		trips = t.Most
	case TripsCycle:
		trips = t.Cycle[entry%len(t.Cycle)]
	case TripsLinear:
		for _, v := range round {
			if v.name == t.Linear.Variable && v.values[g] != nil {
				trips = t.Linear.Slope*int64(v.values[g][execution]) + t.Linear.Offset
			}
		}
	case TripsByRank:
		for _, by := range t.ByRank {
			if slices.Contains(by.Ranks, s.rank(s.groups[g].Threads[0])) {
				trips = by.Count
			}
		}
	}
	return uint32(max(trips, made) - 1)
}

// tripsOfRanks says the trips of each rank: in a formula, or as two numbers. Ranks that ended in the loop have those
// that the formula has, if they may, else as many as they made.
func (s *solver) tripsOfRanks(t *Trips, i int32, by map[int]int64) {
	made := make(map[int]int64)
	for g := range s.groups {
		if x := &s.groups[g].Tree.Trips[i]; x.len() > 0 {
			for _, thread := range s.groups[g].Threads {
				r := s.rank(thread)
				made[r] = max(made[r], int64(x.at(x.len()-1)))
			}
		}
	}
	all := maps.Clone(made)
	maps.Copy(all, by)
	if k, c, ok := s.formula(by); ok && (len(by) > 2 || len(by) == len(made)) { // a line goes through any two
		fits := true
		for r, n := range made {
			if _, known := by[r]; !known {
				all[r] = k*int64(r) + c
				fits = fits && all[r] >= n
			}
		}
		if !fits {
			all = maps.Clone(made)
			maps.Copy(all, by)
		}
	}
	t.ByRank = sums(all)
}
