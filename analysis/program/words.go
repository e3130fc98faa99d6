package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Texts are made of forms alone, so that a program that is read can be asked whether it says what its figures do.

// tripsText is what stands behind 1.. of a loop with such trips.
func (s *numbering) tripsText(t *Trips) string {
	switch {
	case t.Kind == TripsConstant:
		return fmt.Sprint(t.Most)
	case t.Kind == TripsCycle:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Cycle), " ", ","), "[]") + " in turn"
	case t.Kind == TripsLinear && t.Linear != nil:
		return affine(t.Linear.Variable, t.Linear.Slope, t.Linear.Offset)
	case t.Kind == TripsByRank:
		by := make(map[int]int64)
		for _, x := range t.ByRank {
			for _, r := range x.Ranks {
				by[r] = x.Count
			}
		}
		if k, c, ok := s.formula(by); ok {
			return affine("rank", k, c)
		}
		return cmp.Or(s.unequal(t.ByRank), fmt.Sprintf("%d..%d by rank", t.Least, t.Most))
	}
	return fmt.Sprintf("%d..%d", t.Least, t.Most)
}

// unequal writes trips of two numbers: which ranks have the one, and that all others have the other one; "": there are
// more.
func (s *numbering) unequal(by []RankSum) string {
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

// formula says the trips of each rank as slope times the rank, and an offset.
func (s *numbering) formula(by map[int]int64) (slope, offset int64, ok bool) {
	ranks := sortedKeys(by)
	if len(ranks) == 0 {
		return 0, 0, false
	}
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

// ranksText says on which ranks, and threads, a condition holds, of the ranks that got there.
func (s *numbering) ranksText(n *Node, of []int) string {
	switch {
	case n.Ranks == nil:
		return ""
	case n.Threads != nil && len(n.OfThreads) > 0:
		return s.threadsText(n.Ranks, of, n.Threads, n.OfThreads)
	}
	return s.whichRanks(n.Ranks, of)
}

// ranksOf are the ranks of some executions; nil: all ranks of which there are calls.
func (s *solver) ranksOf(u set) RankList {
	ranks := make(map[int]bool)
	for g := range s.groups {
		if u != nil && count(u[g]) == 0 {
			continue
		}
		for _, t := range s.groups[g].Threads {
			ranks[s.rank(t)] = true
		}
	}
	return sorted(ranks)
}

// ofRanks are the ranks of which a program has calls.
func (p *Program) ofRanks() RankList {
	if p.OfRanks != nil {
		return p.OfRanks
	}
	all := make(RankList, p.Ranks)
	for r := range all {
		all[r] = r
	}
	return all
}

// withoutOfRanks leaves out which ranks got to a condition where these are those of what is round it.
func withoutOfRanks(list []*Node, round RankList) {
	for _, n := range list {
		if slices.Equal(n.OfRanks, round) {
			n.OfRanks = nil
		}
		inside := round
		if n.Ranks != nil {
			inside = n.Ranks
		}
		withoutOfRanks(n.Body, inside)
	}
}

// Texts says which text of a program is not what its figures say; "" = none.
func (p *Program) Texts() string {
	worlds := p.Worlds
	if worlds == nil {
		worlds = []int{p.Ranks}
	}
	w := wording{numberingOf(worlds)}
	return w.body(p.Body, p.ofRanks())
}

type wording struct{ numbering }

func (w *wording) body(list []*Node, round RankList) string {
	for i, n := range list {
		if differs := w.node(list, i, round); differs != "" {
			return fmt.Sprintf("line %d of the text %s", n.ID, differs)
		}
		inside := round
		if n.Ranks != nil {
			inside = n.Ranks
		}
		if differs := w.body(n.Body, inside); differs != "" {
			return differs
		}
	}
	return ""
}

func (w *wording) node(list []*Node, i int, round RankList) string {
	switch n := list[i]; n.Kind {
	case KindLoop:
		return differ("1.."+n.Trips.Expression, "1.."+w.tripsText(n.Trips))
	case KindIf:
		if n.RanksText == "" && n.WhenText == "" && closes(list, i) {
			return ""
		}
		of := round
		if n.OfRanks != nil {
			of = n.OfRanks
		}
		when := ""
		if n.When != nil {
			when = n.When.text(w.size)
		}
		return cmp.Or(differ(n.RanksText, w.ranksText(n, of)), differ(n.WhenText, when))
	case KindMPI:
		for _, p := range n.Peers {
			if !p.fits() {
				return fmt.Sprintf("has %q, which is no text of partners of the kind %s", p.Text, p.Kind)
			}
		}
	}
	return ""
}

func differ(said, is string) string {
	if said == is {
		return ""
	}
	return fmt.Sprintf("has %q, its figures say %q", said, is)
}

// closes reports whether an ELSE is the last one of those that together always hold: it needs no words.
func closes(list []*Node, i int) bool {
	if !list[i].Else || i+1 < len(list) && list[i+1].Else {
		return false
	}
	first := i
	held := int64(0)
	for ; first >= 0; first-- {
		held += list[first].Happened
		if !list[first].Else {
			break
		}
	}
	return first >= 0 && held == list[first].Of
}
