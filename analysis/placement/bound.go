package placement

import "slices"

// MostSaved bounds what any plan can save of what is between hosts at present, as a share of it, 0 to 1: each rank has
// at best those on its host that it sends most. Advise may find less, and takes far longer. Where all ranks send all
// others the same there is nothing to save, whatever the hosts. The edges and rooms are those of Advise.
func MostSaved(ranks int, edges []Edge, room, present []int32) (float64, error) {
	if err := check(ranks, edges, room, present); err != nil {
		return 0, err
	}
	now := Between(edges, present)
	if now == 0 {
		return 0, nil
	}
	first := make([]int, ranks+1)
	for _, e := range edges {
		first[e.A+1]++
		first[e.B+1]++
	}
	for r := range ranks {
		first[r+1] += first[r]
	}
	peers, next := make([]peer, 2*len(edges)), slices.Clone(first)
	for _, e := range edges {
		peers[next[e.A]] = peer{e.B, e.Weight}
		peers[next[e.B]] = peer{e.A, e.Weight}
		next[e.A]++
		next[e.B]++
	}
	beside := 0 // how many others are on the largest host
	for _, n := range room {
		beside = max(beside, int(n)-1)
	}
	seen, at := make([]int, ranks), make([]int, ranks) // by peer: for which rank it was seen last, plus 1, and where
	least := 0.
	var weights []float64
	for r := range ranks {
		weights = weights[:0]
		for _, p := range peers[first[r]:first[r+1]] {
			if seen[p.rank] == r+1 { // a pair may come several times
				weights[at[p.rank]] += p.weight
				continue
			}
			seen[p.rank], at[p.rank] = r+1, len(weights)
			weights = append(weights, p.weight)
		}
		slices.Sort(weights)
		for _, w := range weights[:max(0, len(weights)-beside)] {
			least += w / 2
		}
	}
	return min(max(0, 1-(1-rounding)*least/now), 1), nil
}

// rounding is what sums of weights may be off by.
const rounding = 1e-9

// What Advise does in a few seconds.
const (
	QuickRanks = 5000
	QuickEdges = 1_000_000
)

// Quick reports whether Advise takes a few seconds at most.
func Quick(ranks, edges int) bool { return ranks <= QuickRanks && edges <= QuickEdges }

// A peer is what a rank sends one other, as an edge has it.
type peer struct {
	rank   int32
	weight float64
}
