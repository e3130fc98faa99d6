package program

import (
	"iter"
	"slices"
	"sync"
)

// A rule says when an item comes, among the executions of a body that are asked about.
type rule struct {
	always bool
	ranks  []int // nil = all of those that execute the body
	text   string
	when   *When
	words  string
	known  bool
}

// most variables that are tried: those of the innermost loops.
const mostVariables = 4

// Names of what is no trip of a loop.
const (
	numberOfExecutions = "n" // of the function or of the loop's body, so far
	depthOfRecursion   = "depth"
)

// An index is the number of a trip, from 0, or another number, of each execution of a body, by group.
type index struct {
	name   string
	values [][]uint32 // nil in groups that have none
	last   [][]uint32 // of a loop the trips of the entry less one
}

// variables are those of the executions of a body: the trips of the loops round it, the innermost first.
func (s *solver) variables(b int32) []index {
	if list, ok := s.vars[b]; ok {
		return list
	}
	x := &s.lay.bodies[b]
	var list []index
	recursive := s.lay.contexts[x.context].recursive
	if x.entry >= 0 && !(recursive && x.loop < 0) {
		outer := s.lay.items[x.entry].body
		var round []index
		if !recursive {
			round = s.variables(outer)
		}
		list = s.inherit(b, x.entry, round)
	}
	if len(list) > mostVariables {
		list = list[:mostVariables]
	}
	s.vars[b] = list
	return list
}

// inherit makes the variables of a body from those of the one round it.
func (s *solver) inherit(b, entry int32, round []index) []index {
	loop := s.lay.bodies[b].loop >= 0
	own := index{name: s.names[b]}
	list := make([]index, len(round))
	for k := range round {
		list[k] = index{name: round[k].name, values: make([][]uint32, len(s.groups)), last: make([][]uint32, len(s.groups))}
	}
	said := sync.OnceValue(func() *Trips { return s.trips(entry) })
	own.values, own.last = make([][]uint32, len(s.groups)), make([][]uint32, len(s.groups))
	for g := range s.groups {
		t := &s.groups[g].Tree
		n := t.Executions[b]
		if n == 0 {
			continue
		}
		for k := range list {
			if round[k].values[g] != nil {
				list[k].values[g] = make([]uint32, 0, n)
			}
			if round[k].last[g] != nil {
				list[k].last[g] = make([]uint32, 0, n)
			}
		}
		i := 0
		t.Came[entry].all(func(e uint32) bool {
			times := uint32(1)
			if loop {
				times = t.Trips[entry].at(i)
				for trip := range times {
					own.values[g] = append(own.values[g], trip)
					own.last[g] = append(own.last[g], times-1)
				}
				if s.open[g][b] && i == t.Trips[entry].len()-1 {
					own.last[g][len(own.last[g])-1] = s.lastTrip(g, entry, e, round, said())
				}
			}
			i++
			for k := range list {
				for range times {
					if list[k].values[g] != nil {
						list[k].values[g] = append(list[k].values[g], round[k].values[g][e])
					}
					if list[k].last[g] != nil {
						list[k].last[g] = append(list[k].last[g], round[k].last[g][e])
					}
				}
			}
			return true
		})
	}
	if loop && own.name != "" {
		list = slices.Insert(list, 0, own)
	}
	return list
}

// more are the variables of a body with those that are tried last: the depth in a recursion, and how many executions
// there were before.
func (s *solver) more(b int32) []index {
	list := slices.Clone(s.variables(b))
	x := &s.lay.bodies[b]
	if s.lay.contexts[x.context].recursive && x.loop < 0 {
		depth := index{name: depthOfRecursion, values: make([][]uint32, len(s.groups))}
		for g := range s.groups {
			for _, d := range s.groups[g].Tree.Depths[b] {
				depth.values[g] = append(depth.values[g], uint32(d))
			}
		}
		list = append(list, depth)
	}
	if s.atLeast[b] || s.counted[b] || s.abridged()[int(s.lay.contexts[x.context].function)] {
		return list // how often it was executed before is not known
	}
	n := index{name: numberOfExecutions, values: make([][]uint32, len(s.groups))}
	for g := range s.groups {
		n.values[g] = make([]uint32, s.groups[g].Tree.Executions[b])
		for k := range n.values[g] {
			n.values[g][k] = uint32(k)
		}
	}
	return append(list, n)
}

// What a group did in the executions in question.
const (
	no = iota
	some
	yes
)

// rule finds when an item comes: u are the executions in question, c those of them in which it was executed.
func (s *solver) rule(b int32, u, c set) rule {
	if c.equal(u) {
		return rule{always: true, known: true}
	}
	state := make([]int, len(s.groups)) // -1: the group does not come here
	rankState := make(map[int]int)
	mixed := false
	for g := range s.groups {
		n, m := count(u[g]), count(c[g])
		switch {
		case n == 0:
			state[g] = -1
			continue
		case m == 0:
			state[g] = no
		case m == n:
			state[g] = yes
		default:
			state[g] = some
		}
		for _, t := range s.groups[g].Threads {
			r := s.rank(t)
			if old, ok := rankState[r]; ok && old != state[g] {
				mixed = true // threads of a rank differ
			}
			rankState[r] = state[g]
		}
	}
	if !mixed && !slices.Contains(state, some) {
		var of, in []int
		for r, x := range rankState {
			of = append(of, r)
			if x == yes {
				in = append(in, r)
			}
		}
		slices.Sort(of)
		slices.Sort(in)
		return rule{ranks: in, text: s.whichRanks(in, of), known: true}
	}
	if mixed {
		return rule{}
	}
	for v, w := range s.candidates(b, u, c, state) {
		in, of, fits := s.onRanks(v, w, u, c, state)
		if !fits {
			continue
		}
		r := rule{when: w, words: w.text(s.size), known: true}
		if len(in) < len(of) {
			r.ranks, r.text = in, s.whichRanks(in, of)
		}
		return r
	}
	return rule{}
}

// onRanks are the ranks on which a condition holds, of those that come here: not those on which it would, but nothing
// was executed. fits = false: it is broken on a rank that executed something.
func (s *solver) onRanks(v index, w *When, u, c set, state []int) (in, of []int, fits bool) {
	for g := range s.groups {
		if state[g] < 0 {
			continue
		}
		on := false
		for k, t := range s.groups[g].Threads {
			r := s.rank(t)
			if k == 0 || w.Rank != 0 {
				on = w.fits(v, g, u[g], c[g], int64(r))
			}
			if !on && state[g] != no {
				return nil, nil, false
			}
			of = append(of, r)
			if on {
				in = append(in, r)
			}
		}
	}
	slices.Sort(of)
	slices.Sort(in)
	return slices.Compact(in), slices.Compact(of), true
}

// candidates are the conditions that hold in all groups that executed the item sometimes, those on the innermost loop
// first, those that follow the rank too last; then those that hold in groups that executed it always, or never, as
// well.
func (s *solver) candidates(b int32, u, c set, state []int) iter.Seq2[index, *When] {
	return func(yield func(index, *When) bool) {
		variables := s.more(b)
		of := [][]int{state}
		if all := slices.Clone(state); slices.Contains(all, yes) || slices.Contains(all, no) {
			for g := range all {
				all[g] = min(all[g], some)
				if all[g] == no {
					all[g] = some
				}
			}
			of = append(of, all)
		}
		for _, state := range of {
			for _, fit := range []func(index, set, set, []int) []*When{s.fit, s.fitByRank} {
				for _, v := range variables {
					for _, w := range fit(v, u, c, state) {
						if !yield(v, w) {
							return
						}
					}
				}
			}
		}
	}
}

// A list of trips has so many at most, and they are at most this part of all trips: else it says nothing. One that is
// short says what it does anyway, if it has less than half of them.
const (
	longestList = 8
	partOfTrips = 3
	shortList   = 3
)
