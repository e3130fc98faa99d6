package program

import (
	"slices"
)

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
	if yes, no, apart := sides(seen); apart {
		list = slices.DeleteFunc(expressions(yes, no), func(w *When) bool { return w.byTwo(len(yes), len(no)) })
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
	came, not, _ := sides(sum)
	list := expressions(came, not)
	// What has one trip on the one side of all others is a limit that no rank reaches.
	slices.SortStableFunc(list, func(a, b *When) int { return limits(b) - limits(a) })
	return list
}

// sides are the values for which something was executed, and those for which it was not; apart: none is both. Bit 0 of
// a value: it was executed, bit 1: it was not.
func sides(seen []uint8) (came, not []int64, apart bool) {
	apart = true
	for x, bits := range seen {
		switch bits {
		case 1:
			came = append(came, int64(x))
		case 2:
			not = append(not, int64(x))
		case 3:
			apart = false
		}
	}
	return came, not, apart
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

// byTwo reports whether a condition on a remainder follows from two trips alone, and they are not the first, second or
// last of each period: any two trips have a period.
func (w *When) byTwo(yes, no int) bool {
	if w.Kind == WhenEvery && yes == 2 || w.Kind == WhenNotEvery && no == 2 {
		return w.Offset > 1 && w.Offset < w.Period-1
	}
	return false
}

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
