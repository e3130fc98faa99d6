package period

// What a sequence lost or has too much, here and there, is mended before repetitions are sought, for those are exact.
// The mended sequence serves that search alone: what iterations hold is derived from the bursts as they are.
//
// A symbol follows another regularly if it does so nearly always; then it shows where a burst was replaced, added or
// lost. Only what is rare and irregular is touched: what comes once in a while by the clock may be what an outer loop
// does.

// regularly is how often a symbol must follow another for what differs to be damage: seven times in eight. More than
// one burst in eight being noise would be a clustering that failed.
const regularly = 7. / 8

type neighbours struct {
	next, previous []int32 // by symbol: which one is regularly after it, and before it; -1: none
	rare           []bool  // by symbol: it may be damage
}

// usualNeighbours counts what follows what, by majority votes (Boyer and Moore 1991) and a count of the winner.
func usualNeighbours(kinds []int32, symbols int) neighbours {
	n := neighbours{next: majority(kinds, symbols, 1), previous: majority(kinds, symbols, -1), rare: make([]bool, symbols)}
	count := make([]int32, symbols)
	last := make([]int32, symbols) // where it was, from 1
	gap := make([]int32, symbols)
	variation := make([]float64, symbols)
	for i, k := range kinds {
		here := int32(i + 1)
		if count[k] > 0 {
			g := here - last[k]
			if count[k] > 1 {
				d := float64(g-gap[k]) / float64(g+gap[k])
				variation[k] += d * d
			}
			gap[k] = g
		}
		last[k] = here
		count[k]++
	}
	for k, c := range count {
		// Two occurrences do not show whether it is periodic, and no loop has less than three trips.
		n.rare[k] = c < 3 || 3*variation[k]/float64(c-2) >= regularBelow && float64(c) < (1-regularly)*float64(len(kinds))
	}
	return n
}

// majority gives for each symbol the one that is regularly away tokens after it.
func majority(kinds []int32, symbols, away int) []int32 {
	leader := make([]int32, symbols)
	votes := make([]int32, symbols)
	total := make([]int32, symbols)
	begin, end := max(0, -away), len(kinds)-max(0, away)
	for i := begin; i < end; i++ {
		k, other := kinds[i], kinds[i+away]
		total[k]++
		switch {
		case votes[k] == 0:
			leader[k], votes[k] = other, 1
		case leader[k] == other:
			votes[k]++
		default:
			votes[k]--
		}
	}
	clear(votes)
	for i := begin; i < end; i++ {
		if k := kinds[i]; leader[k] == kinds[i+away] {
			votes[k]++
		}
	}
	for k := range leader {
		if total[k] < 3 || float64(votes[k]) < regularly*float64(total[k]) {
			leader[k] = -1
		}
	}
	return leader
}

// heal gives the sequence mended.
func (n neighbours) heal(t tokens) tokens {
	healed := tokens{kind: make([]int32, 0, len(t.kind)), at: make([]int32, 0, len(t.at))}
	add := func(k, at int32) {
		healed.kind = append(healed.kind, k)
		healed.at = append(healed.at, at)
	}
	for i, k := range t.kind {
		last := len(healed.kind) - 1
		if last < 0 {
			add(k, t.at[i])
			continue
		}
		expected := n.next[healed.kind[last]]
		if expected < 0 || expected == k {
			add(k, t.at[i])
			continue
		}
		following := int32(-1)
		if i+1 < len(t.kind) {
			following = t.kind[i+1]
		}
		switch {
		case n.rare[k] && following == expected: // one too much
		case n.rare[k] && following >= 0 && n.next[expected] == following: // another one in its place
			add(expected, t.at[i])
		case n.previous[k] == expected && n.next[expected] == k: // one lost
			add(expected, t.at[i])
			add(k, t.at[i])
		default:
			add(k, t.at[i])
		}
	}
	healed.at = append(healed.at, t.at[len(t.kind)])
	return healed
}
