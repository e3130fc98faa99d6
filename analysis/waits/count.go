package waits

import (
	"cmp"
	"slices"
)

// countOrdinals numbers the collectives of ranks whose numbers are not known, by communicator, in the order of time.
func countOrdinals(threads []Thread) {
	for first := 0; first < len(threads); {
		behind := first + 1
		for behind < len(threads) && threads[behind].World == threads[first].World && threads[behind].Rank == threads[first].Rank {
			behind++
		}
		countRank(threads[first:behind])
		first = behind
	}
}

// countRank numbers those of the threads of one rank.
func countRank(threads []Thread) {
	type entry struct {
		ns     int64
		thread int
		k      int
	}
	var list []entry
	for i := range threads {
		c := &threads[i].Collectives
		if c.Ordinal != nil || len(c.Call) == 0 {
			continue
		}
		c.Ordinal = make([]int64, len(c.Call))
		for k, row := range c.Call {
			list = append(list, entry{threads[i].EnterNS[row], i, k})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.ns, b.ns) })
	next := make(map[int32]int64)
	for _, e := range list {
		c := &threads[e.thread].Collectives
		c.Ordinal[e.k] = next[c.Comm[e.k]]
		next[c.Comm[e.k]]++
	}
}
