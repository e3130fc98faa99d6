package period

import "slices"

// takePlaces is the share of a thread's bursts up to which symbols may stand for each other. Where more than every
// fourth burst is now this and now that, as with tasks that come in any order, iterations would be alike only in what
// matters least.
const takePlaces = 1. / 4

// either gives the sequence with symbols made one that take each other's place: they come after the same symbol and
// before the same one, now this and now that, as where a cluster was cut in two through the middle of what is one burst
// of the program. nil: there are none, or too many.
//
// It is for sequences that repeat little as they are. Where the one comes for a while and then the other, that is a
// change of phase, and both remain.
func either(t tokens, symbols int) []int32 {
	one := make([]int32, symbols) // by symbol: the first of those that it is one with
	for k := range one {
		one[k] = int32(k)
	}
	kinds := slices.Clone(t.kind)
	changed := false
	for more := true; more; { // what is one now may be the regular neighbour of others
		more = false
		for _, group := range samePlaces(kinds, symbols) {
			if !mixed(kinds, group) {
				continue
			}
			for _, k := range group[1:] {
				one[k] = group[0]
			}
			more, changed = true, true
		}
		if more {
			for i, k := range kinds {
				kinds[i] = one[k]
			}
		}
	}
	if !changed {
		return nil
	}
	joint := make([]bool, symbols)
	for i, k := range t.kind {
		if kinds[i] != k {
			joint[kinds[i]] = true
		}
	}
	bursts := 0
	for _, k := range kinds {
		bursts += truth(joint[k])
	}
	if float64(bursts) > takePlaces*float64(len(kinds)) {
		return nil
	}
	return kinds
}

// samePlaces gives the symbols, two and more each, that have the same regular neighbours, or the same on one side and
// none on the other; ascending.
func samePlaces(kinds []int32, symbols int) [][]int32 {
	next, previous := majority(kinds, symbols, 1), majority(kinds, symbols, -1)
	type neighbours struct{ previous, next int32 }
	at := make(map[neighbours]int)
	var groups [][]int32
	for k := range int32(symbols) {
		n := neighbours{previous[k], next[k]}
		if n.previous < 0 && n.next < 0 {
			continue
		}
		i, ok := at[n]
		if !ok {
			i = len(groups)
			at[n] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], k)
	}
	several := groups[:0]
	for _, g := range groups {
		if len(g) > 1 {
			several = append(several, g)
		}
	}
	return several
}

// mixed reports whether the symbols take turns often: for two times that one of the rarer ones comes there is at least
// one change to it.
func mixed(kinds []int32, group []int32) bool {
	in := make(map[int32]int, len(group))
	for _, k := range group {
		in[k] = 0
	}
	last := int32(-1)
	changes, total, most := 0, 0, 0
	for _, k := range kinds {
		n, ok := in[k]
		if !ok {
			continue
		}
		in[k] = n + 1
		most = max(most, n+1)
		total++
		changes += truth(last >= 0 && last != k)
		last = k
	}
	rarer := total - most
	return changes > 2 && 2*changes >= rarer
}
