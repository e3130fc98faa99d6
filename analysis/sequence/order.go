package sequence

import (
	"cmp"
	"slices"
	"sync/atomic"

	"moriens/internal/team"
)

// order puts the pieces of every segment into the order in which they are aligned: those that most threads have first,
// then the longest, then by their signs.
func (a *aligner) order(segments []segment) error {
	a.eachPiece(segments, func(next func() (*segment, *piece, bool)) {
		for _, x, ok := next(); ok; _, x, ok = next() {
			x.sign = a.signOf(x.labels)
		}
	})
	var tied atomic.Bool
	a.each(len(segments), func(next func() (int, bool)) {
		for s, ok := next(); ok; s, ok = next() {
			pieces := segments[s].pieces
			if len(pieces) < 2 {
				continue
			}
			slices.SortFunc(pieces, comparePieces)
			for i := range pieces[1:] {
				if comparePieces(pieces[i], pieces[i+1]) == 0 {
					tied.Store(true)
				}
			}
		}
	})
	if open, err := team.Any(a.Team, tied.Load()); err != nil || !open {
		return err
	}
	return a.settleAll(segments)
}

// settleAll has the members settle their segments one after the other, as these follow each other in the run.
func (a *aligner) settleAll(segments []segment) error {
	rank, last := make([]int32, a.Count), int32(0)
	for turn := range a.Team.Size() {
		var known []int32
		if turn == a.Team.Rank() {
			last = settle(segments, rank, last)
			known = append(rank, last)
		}
		all, err := team.Gather(a.Team, known)
		if err != nil {
			return err
		}
		rank, last = all[turn][:a.Count], all[turn][a.Count]
	}
	return nil
}

func comparePieces(x, y piece) int {
	return cmp.Or(cmp.Compare(y.threads, x.threads), cmp.Compare(len(y.labels), len(x.labels)), cmp.Compare(x.sign, y.sign))
}

// settle orders the pieces that signs leave unordered, because their labels could trade places: two clusters of one
// length that take turns. Any of the pieces that are alike would do. It takes the one whose labels have the smallest
// numbers, so that the choice does not depend on the order of threads. From then on its labels have the rank of their
// first place in what was taken. So one choice settles the others that depend on it, in later segments too. Whichever
// piece it was, the alignments are each other's image. last is the last rank so far; it returns the new last one.
func settle(segments []segment, rank []int32, last int32) int32 {
	for s := range segments {
		pieces := segments[s].pieces
		if len(pieces) < 2 {
			continue
		}
		sorted := 0 // up to here pieces are in the order of the ranks so far
		for i := range pieces {
			if i >= sorted {
				sorted = i + 1
				for sorted < len(pieces) && comparePieces(pieces[i], pieces[sorted]) == 0 {
					sorted++
				}
				slices.SortFunc(pieces[i:sorted], func(x, y piece) int {
					return cmp.Or(compareForms(x.labels, y.labels, rank), slices.Compare(x.labels, y.labels))
				})
			}
			before := last
			for _, label := range pieces[i].labels {
				if rank[label] == 0 {
					last++
					rank[label] = last
				}
			}
			if rest := pieces[i+1 : sorted]; last > before && slices.ContainsFunc(rest, func(x piece) bool {
				return slices.ContainsFunc(x.labels, func(label int32) bool { return rank[label] > before })
			}) {
				sorted = i + 1 // what is known of the rest has changed; they are still alike by sign
			}
		}
	}
	return last
}

// compareForms compares pieces of one length by what is known of their labels: the rank, or else where the piece has
// the label first.
func compareForms(x, y []int32, rank []int32) int {
	as := make(map[int32]int32) // label of x by label of y that has been in its places so far
	for i, label := range x {
		if known := cmp.Compare(rank[label], rank[y[i]]); known != 0 {
			return known
		}
		if rank[label] != 0 {
			continue
		}
		if other, seen := as[y[i]]; !seen || other != label {
			if first := cmp.Compare(slices.Index(x, label), slices.Index(y, y[i])); first != 0 {
				return first
			}
			as[y[i]] = label
		}
	}
	return 0
}
