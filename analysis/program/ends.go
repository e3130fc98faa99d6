package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"moriens/internal/units"
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
	case len(s.first) > 1:
		return units.Counted(len(ranks), "rank")
	}
	return units.Plural(len(ranks), "rank") + " " + listOf(ranks)
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

// unequal writes trips of two numbers: which ranks have the one, and that all others have the other one; "": there are
// more.
func (s *solver) unequal(by []RankSum) string {
	if len(by) != 2 {
		return ""
	}
	few, others := by[1], by[0]
	if len(others.Ranks) < len(few.Ranks) {
		few, others = others, few
	}
	if len(few.Ranks) == 1 && len(s.first) < 2 {
		return fmt.Sprintf("%d on rank %d, else %d", few.Count, few.Ranks[0], others.Count)
	}
	all := slices.Concat(few.Ranks, others.Ranks)
	slices.Sort(all)
	return fmt.Sprintf("%d if %s, else %d", few.Count, s.whichRanks(few.Ranks, all), others.Count)
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
		if fits {
			t.ByRank, t.Expression = sums(all), affine("rank", k, c)
			return
		}
		maps.Copy(all, made)
		maps.Copy(all, by)
	}
	t.ByRank = sums(all)
	t.Expression = cmp.Or(s.unequal(t.ByRank), fmt.Sprintf("%d..%d by rank", t.Least, t.Most))
}

// formula says the trips of each rank as slope times the rank, and an offset.
func (s *solver) formula(by map[int]int64) (slope, offset int64, ok bool) {
	ranks := sortedKeys(by)
	a, b := ranks[0], ranks[len(ranks)-1]
	if a == b || (by[b]-by[a])%int64(b-a) != 0 || len(s.first) > 1 { // ranks of several worlds have no number of their own
		return 0, 0, false
	}
	slope = (by[b] - by[a]) / int64(b-a)
	offset = by[a] - slope*int64(a)
	for r, v := range by {
		if v != slope*int64(r)+offset {
			return 0, 0, false
		}
	}
	return slope, offset, true
}
