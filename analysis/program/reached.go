package program

import "slices"

// An execution is one of a body, of a group.
type execution struct {
	group  int
	number uint32
}

// unreached finds what sequences that were cut never got to: in each execution that was open at their end, what comes
// behind the item in which that was. Whether it would have been executed there is not known: no rule is broken by it.
func (s *solver) unreached() {
	s.never = make(map[int32][]execution)
	open := make(map[int32][]execution) // by body
	for g := range s.groups {
		t := &s.groups[g].Tree
		for k, item := range t.Open {
			e := execution{g, t.OpenIn[k]}
			b := s.lay.items[item].body
			open[b] = append(open[b], e)
			s.ends(e, item)
		}
	}
	for i := range s.never {
		if s.onlyIn(open[s.lay.items[i].body], i) {
			delete(s.never, i)
		}
	}
}

// onlyIn reports whether an item was executed in none of the executions of its body but those that were open where a
// sequence ended, though there are others: it is what ended the run, and those that did not get there did not.
func (s *solver) onlyIn(open []execution, i int32) bool {
	executions, came := -len(open), int64(0)
	for g := range s.groups {
		executions += int(s.groups[g].Tree.Executions[s.lay.items[i].body])
		came += s.groups[g].Tree.Came[i].len()
	}
	for _, e := range open {
		if s.groups[e.group].Tree.Came[i].has(e.number) {
			came--
		}
	}
	return executions > 0 && came == 0
}

// ends does so for one execution, which ended in an item.
func (s *solver) ends(e execution, open int32) {
	order := s.lay.orders[s.lay.items[open].body]
	came := func(i int32) bool { return s.groups[e.group].Tree.Came[i].has(e.number) }
	at := slices.Index(order, open)
	if slices.ContainsFunc(order[at+1:], came) { // not in this order
		at = -1
	}
	for _, i := range order[at+1:] {
		if !came(i) {
			s.never[i] = append(s.never[i], e)
		}
	}
}

// reached are those of some executions that got to an item.
func (s *solver) reached(u set, i int32) set {
	never := s.never[i]
	if len(never) == 0 {
		return u
	}
	r := slices.Clone(u)
	for k, e := range never {
		if k == 0 || never[k-1].group != e.group {
			r[e.group] = slices.Clone(u[e.group])
		}
		r[e.group][e.number/64] &^= 1 << (e.number % 64)
	}
	return r
}

// endsBefore says of which ranks, of those with executions in question, none got to a condition; "" = of none.
func (s *solver) endsBefore(u, of set) string {
	ranks := make(map[int]bool)
	for g := range u {
		if count(u[g]) > 0 && count(of[g]) == 0 {
			for _, t := range s.groups[g].Threads {
				ranks[s.rank(t)] = true
			}
		}
	}
	if len(ranks) == 0 {
		return ""
	}
	return "calls of " + s.these(sorted(ranks), false) + " end before it"
}
