package program

import (
	"slices"
)

// A branch is units that come in the same executions, and what lies between them.
type branch struct {
	from, to int
	set, of  set // executions in which they come, of those that got to the first of them
}

func (x *branch) always() bool { return x.set.equal(x.of) }

func (x *unit) always() bool { return x.set.equal(x.of) }

func branchesOf(units []unit) (branches []branch) {
	for i := 0; i < len(units); {
		k := i + 1
		if !units[i].always() {
			last := i
			for n := i + 1; n < len(units) && units[n].set.within(units[i].set); n++ {
				if units[n].set.equal(units[i].set.and(units[n].of)) {
					last = n
				}
			}
			k = last + 1
		} else {
			for k < len(units) && units[k].always() {
				k++
			}
		}
		branches = append(branches, branch{i, k, units[i].set, units[i].of})
		i = k
	}
	return branches
}

// How well a rule says when something comes.
const (
	withoutRule = iota
	byList      // in trips that are listed
	byRule
)

func (s *solver) ruledIn(b int32, u, c set) int {
	switch r := s.rule(b, u, c); {
	case !r.known:
		return withoutRule
	case r.when != nil && r.when.Trips != nil:
		return byList
	}
	return byRule
}

// nested puts a branch into its neighbour where it comes in some of the executions of that, and has a rule for these
// only: what stands behind a continue, or in a condition in a condition.
func (s *solver) nested(b int32, list []branch) []branch {
	beside := func(i, k int) bool { return list[i].set.within(list[k].set) && !list[k].always() }
	near := false
	for i := 1; i < len(list); i++ {
		near = near || beside(i, i-1) || beside(i-1, i)
	}
	if !near {
		return list
	}
	how := make([]int, len(list))
	for i := range list {
		how[i] = s.ruledIn(b, list[i].of, list[i].set)
	}
	for _, known := range []bool{true, false} {
		for i := 0; i < len(list); i++ {
			if list[i].always() || known != (how[i] > withoutRule) {
				continue
			}
			from := i - s.reach(b, list[:i+1], how[:i+1], -1)
			to := i + s.reach(b, list[i:], how[i:], 1)
			if from == to {
				continue
			}
			list[i].from, list[i].to = list[from].from, list[to].to
			list = slices.Delete(slices.Delete(list, i+1, to+1), from, i)
			how = slices.Delete(slices.Delete(how, i+1, to+1), from, i)
			i = from
		}
	}
	return list
}

// reach says how many branches beside one, the last of a list or with step 1 the first, belong into it.
func (s *solver) reach(b int32, list []branch, how []int, step int) (reach int) {
	at := 0
	if step < 0 {
		at = len(list) - 1
	}
	outer := list[at].set
	least := how[at] // what has no rule has nothing in it by a list of trips alone
	inside := []set{outer}
	for n := 1; n < len(list); n++ {
		x, of := list[at+step*n].set, list[at+step*n].of
		if !x.within(outer) {
			break
		}
		best := how[at+step*n]
		for _, o := range inside {
			if best < byRule && x.within(o) {
				best = max(best, s.ruledIn(b, o.and(of), x))
			}
		}
		if best > how[at+step*n] && (best == byRule || least > withoutRule) {
			reach = n
		}
		if best > withoutRule {
			inside = append(inside, x)
		}
	}
	return reach
}
