package program

import (
	"fmt"
	"iter"
	"slices"
	"strings"
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
	if s.atLeast[b] || s.counted[b] {
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
// first, those that follow the rank too last.
func (s *solver) candidates(b int32, u, c set, state []int) iter.Seq2[index, *When] {
	return func(yield func(index, *When) bool) {
		variables := s.more(b)
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

// fits says whether a condition holds in those of the executions in which the item was executed, and in no other, on a
// rank of a group.
func (w *When) fits(v index, g int, u, c []uint64, rank int64) bool {
	if v.values[g] == nil {
		return false
	}
	for n := range all(u) {
		last := uint32(0)
		if v.last != nil && v.last[g] != nil {
			last = v.last[g][n]
		}
		if w.holds(int64(v.values[g][n]), int64(last), rank) != has(c, n) {
			return false
		}
	}
	return true
}

// holds says whether a condition holds in a trip of so many, on a rank.
func (w *When) holds(x, last, rank int64) bool {
	x += w.Rank * rank
	switch w.Kind {
	case WhenEvery:
		return rest(x, w.Period) == w.Offset
	case WhenNotEvery:
		return rest(x, w.Period) != w.Offset
	case WhenAt, WhenDepth:
		return x == w.Trip || slices.Contains(w.Trips, x)
	case WhenNotAt:
		return x != w.Trip && !slices.Contains(w.Trips, x)
	case WhenFrom:
		return x >= w.Trip
	case WhenTo:
		return x <= w.Trip
	case WhenRange:
		return x >= w.First && x <= w.Last && (x-w.First)%w.Stride == 0
	case WhenLast:
		return x == last
	case WhenNotLast:
		return x != last
	}
	return false
}

// rest is the remainder that is not negative.
func rest(x, period int64) int64 { return (x%period + period) % period }

func (w *When) text(size int) string {
	v := w.Variable
	figure := func(x int64) string { return w.figure(x, size) }
	switch w.Kind {
	case WhenEvery:
		return w.remainder("==", size)
	case WhenNotEvery:
		return w.remainder("!=", size)
	case WhenAt, WhenDepth:
		if w.Trips != nil {
			return fmt.Sprintf("%s in %s", v, commas(w.Trips))
		}
		return fmt.Sprintf("%s == %s", v, figure(w.Trip))
	case WhenNotAt:
		if w.Trips != nil {
			return fmt.Sprintf("%s not in %s", v, commas(w.Trips))
		}
		return fmt.Sprintf("%s != %s", v, figure(w.Trip))
	case WhenFrom:
		return fmt.Sprintf("%s >= %s", v, figure(w.Trip))
	case WhenTo:
		return fmt.Sprintf("%s <= %s", v, figure(w.Trip))
	case WhenRange:
		if w.Stride > 1 {
			return fmt.Sprintf("%s in %s..%s:%d", v, figure(w.First), figure(w.Last), w.Stride)
		}
		return fmt.Sprintf("%s in %s..%s", v, figure(w.First), figure(w.Last))
	case WhenLast:
		return v + " is the last"
	case WhenNotLast:
		return v + " is not the last"
	}
	return ""
}

// figure is the trip at which the condition's figure is reached: on each rank another one where it follows the rank.
func (w *When) figure(x int64, size int) string {
	switch {
	case w.Rank == 0:
		return fmt.Sprint(x)
	case w.Rank == 1 && x == int64(size)-1 && size > 2:
		return "size-1-rank"
	}
	return affine("rank", -w.Rank, x)
}

// remainder is a condition on that of a trip.
func (w *When) remainder(is string, size int) string {
	period := fmt.Sprint(w.Period)
	if w.Rank != 0 && w.Period == int64(size) && size > 2 {
		period = "size"
	}
	switch {
	case w.Rank == 0:
		return fmt.Sprintf("%s %% %s %s %d", w.Variable, period, is, w.Offset)
	case w.Rank > 0:
		return fmt.Sprintf("(%s + rank) %% %s %s %d", w.Variable, period, is, w.Offset)
	case w.Offset == 0 && w.Period >= int64(size):
		return fmt.Sprintf("%s %% %s %s rank", w.Variable, period, is)
	case w.Offset == 0:
		return fmt.Sprintf("%s %% %s %s rank %% %s", w.Variable, period, is, period)
	}
	return fmt.Sprintf("%s %% %s %s (rank+%d) %% %s", w.Variable, period, is, w.Offset, period)
}

func commas(list []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// fit finds conditions on a variable that hold in all groups that executed the item sometimes, the simplest first.
func (s *solver) fit(v index, u, c set, state []int) (list []*When) {
	var seen []uint8 // by value: bit 0: it was executed, bit 1: it was not
	lastCame, lastNot := true, true
	for g := range s.groups {
		if state[g] != some {
			continue
		}
		if v.values[g] == nil {
			return nil
		}
		for n := range all(u[g]) {
			x := v.values[g][n]
			if int(x) >= len(seen) {
				seen = append(seen, make([]uint8, int(x)+1-len(seen))...)
			}
			came := has(c[g], n)
			if came {
				seen[x] |= 1
			} else {
				seen[x] |= 2
			}
			if v.last != nil && v.last[g] != nil {
				is := x == v.last[g][n]
				lastCame, lastNot = lastCame && is == came, lastNot && is != came
			} else {
				lastCame, lastNot = false, false
			}
		}
	}
	var yes, no []int64
	function := true
	for x, bits := range seen {
		switch bits {
		case 1:
			yes = append(yes, int64(x))
		case 2:
			no = append(no, int64(x))
		case 3:
			function = false
		}
	}
	if function {
		list = expressions(yes, no)
		if len(list) == 0 && v.name != numberOfExecutions {
			list = few(yes, no)
		}
	}
	if lastCame {
		list = append(list, &When{Kind: WhenLast})
	}
	if lastNot {
		list = append(list, &When{Kind: WhenNotLast})
	}
	for _, w := range list {
		w.Variable = v.name
		if v.name == depthOfRecursion && w.Kind == WhenAt && w.Trips == nil {
			w.Kind = WhenDepth
		}
	}
	return list
}

// fitByRank finds conditions on a variable plus, or minus, the rank, that hold on all ranks that executed the item:
// those of colours that alternate over ranks, of ranks in turn, of a front that goes from rank to rank.
func (s *solver) fitByRank(v index, u, c set, state []int) (list []*When) {
	if v.name == depthOfRecursion {
		return nil
	}
	seen := make([][]uint8, len(s.groups)) // by value: bit 0: it was executed, bit 1: it was not
	ranks := make(map[int64]bool)
	highest := int64(0)
	for g := range s.groups {
		if state[g] != some && state[g] != yes {
			continue
		}
		if v.values[g] == nil {
			return nil
		}
		for n := range all(u[g]) {
			x := int(v.values[g][n])
			if x >= len(seen[g]) {
				seen[g] = append(seen[g], make([]uint8, x+1-len(seen[g]))...)
			}
			if has(c[g], n) {
				seen[g][x] |= 1
			} else {
				seen[g][x] |= 2
			}
			if seen[g][x] == 3 {
				return nil
			}
		}
		for _, t := range s.groups[g].Threads {
			r := int64(s.rank(t))
			ranks[r], highest = true, max(highest, r)
		}
	}
	if len(ranks) < 2 {
		return nil
	}
	for _, sign := range []int64{1, -1} {
		above := int64(0) // is added, so that no value is negative
		if sign < 0 {
			above = highest
		}
		for _, w := range s.shifted(seen, sign, above) {
			w.Variable, w.Rank = v.name, sign
			switch w.Kind {
			case WhenEvery, WhenNotEvery:
				w.Offset = rest(w.Offset-above, w.Period)
			case WhenRange:
				w.First, w.Last = w.First-above, w.Last-above
			default:
				w.Trip -= above
			}
			list = append(list, w)
		}
	}
	return list
}

// shifted are the conditions on what was seen in each group, as the ranks shift it.
func (s *solver) shifted(seen [][]uint8, sign, above int64) []*When {
	var sum []uint8
	for g := range seen {
		if seen[g] == nil {
			continue
		}
		for _, t := range s.groups[g].Threads {
			shift := int(sign*int64(s.rank(t)) + above)
			if n := shift + len(seen[g]) - len(sum); n > 0 {
				sum = append(sum, make([]uint8, n)...)
			}
			for x, bits := range seen[g] {
				if sum[shift+x] |= bits; sum[shift+x] == 3 {
					return nil
				}
			}
		}
	}
	var came, not []int64
	for x, bits := range sum {
		switch bits {
		case 1:
			came = append(came, int64(x))
		case 2:
			not = append(not, int64(x))
		}
	}
	list := expressions(came, not)
	// What has one trip on the one side of all others is a limit that no rank reaches.
	slices.SortStableFunc(list, func(a, b *When) int { return limits(b) - limits(a) })
	return list
}

func limits(w *When) int {
	if w.Kind == WhenFrom || w.Kind == WhenTo {
		return 1
	}
	return 0
}

// expressions are conditions that hold for all of yes and for none of no, the simplest first; both are sorted.
func expressions(yes, no []int64) (list []*When) {
	if len(yes) == 0 || len(no) == 0 {
		return nil
	}
	first, last := yes[0], yes[len(yes)-1]
	if len(yes) == 1 {
		list = append(list, &When{Kind: WhenAt, Trip: first})
	}
	if len(no) == 1 {
		list = append(list, &When{Kind: WhenNotAt, Trip: no[0]})
	}
	if p := period(yes, no); p > 0 {
		list = append(list, &When{Kind: WhenEvery, Period: p, Offset: first % p})
	}
	if p := period(no, yes); p > 0 {
		list = append(list, &When{Kind: WhenNotEvery, Period: p, Offset: no[0] % p})
	}
	switch {
	case first > no[len(no)-1]:
		list = append(list, &When{Kind: WhenFrom, Trip: first})
	case last < no[0]:
		list = append(list, &When{Kind: WhenTo, Trip: last})
	}
	w := &When{Kind: WhenRange, First: first, Last: last, Stride: max(1, differences(yes))}
	if w.Stride == 1 || len(yes) > 2 {
		if !slices.ContainsFunc(no, func(x int64) bool { return w.holds(x, 0, 0) }) {
			list = append(list, w)
		}
	}
	return list
}

// A list of trips has so many at most, and they are at most this part of all trips: else it says nothing. One that is
// short says what it does anyway, if it has less than half of them.
const (
	longestList = 8
	partOfTrips = 3
	shortList   = 3
)

// few lists the trips of a condition that holds in few of them, or in all but a few.
func few(yes, no []int64) []*When {
	all := len(yes) + len(no)
	longest := max(min(longestList, all/partOfTrips), min(shortList, (all-1)/2))
	switch {
	case len(yes) == 0 || len(no) == 0:
	case len(yes) <= longest:
		return []*When{{Kind: WhenAt, Trip: yes[0], Trips: yes}}
	case len(no) <= longest:
		return []*When{{Kind: WhenNotAt, Trip: no[0], Trips: no}}
	}
	return nil
}

// differences is the greatest common divisor of those of neighbours.
func differences(list []int64) int64 {
	d := int64(0)
	for i := 1; i < len(list); i++ {
		for a, b := d, list[i]-list[i-1]; ; a, b = b, a%b {
			if b == 0 {
				d = a
				break
			}
		}
	}
	return d
}

// period is the least number by which all of yes have one rest, and none of no; 0: there is none.
func period(yes, no []int64) int64 {
	all := differences(yes)
	for p := int64(2); p <= all; p++ {
		if all%p != 0 {
			continue
		}
		rest, holds := yes[0]%p, true
		for _, x := range no {
			if x%p == rest {
				holds = false
				break
			}
		}
		if holds {
			return p
		}
	}
	return 0
}
