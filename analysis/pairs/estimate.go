package pairs

import (
	"cmp"
	"math"
	"slices"
)

// A Late is a wait for the other side of a message of a window that was chosen by chance.
type Late struct {
	For    int32 // thread
	Kind   Kind  // Received: the sender was late; Sent: the receiver
	NS     int64
	Window uint64
	Halved uint8 // it counts 2^Halved times
}

// An Estimated is how long ranks waited. Windows are chosen independently of each other, one of w: if y is what lies in
// a window, the estimate is Σ w·y, and its variance is estimated by Σ w·(w−1)·y². One more window is added to that, of
// the largest weight of the run and the mean y²: of few windows those of large weight, which show how far the estimate
// may be off, are missing more often than not.
type Estimated struct {
	Rank, Peer int32
	Kind       Kind
	NS         int64
	VarNS2     float64
}

// ErrorNS is the standard error.
func (e *Estimated) ErrorNS() float64 { return math.Sqrt(e.VarNS2) }

// Estimates are those of pairs with waits, by rank, peer and kind, and of sums of them.
type Estimates struct {
	Pairs []Estimated
	Kinds [2]Estimated // by kind: of all ranks
	For   []Estimated  // by rank: of all waits for it, as a sender and as a receiver
}

// Of is that of a pair; without waits there is nothing to estimate.
func (e *Estimates) Of(rank, peer int32, kind Kind) Estimated {
	i, known := slices.BinarySearchFunc(e.Pairs, [3]int32{rank, peer, int32(kind)}, func(x Estimated, of [3]int32) int {
		return cmp.Or(cmp.Compare(x.Rank, of[0]), cmp.Compare(x.Peer, of[1]), cmp.Compare(x.Kind, Kind(of[2])))
	})
	if !known {
		return Estimated{Rank: rank, Peer: peer, Kind: kind}
	}
	return e.Pairs[i]
}

// A drawn is a wait, by ranks.
type drawn struct {
	rank, peer int32
	*Late
}

// Estimate says how good sums of waits are, which are by the thread that waited. Messages of the run are halved so
// often at most.
func Estimate(rankOf []int32, waits [][]Late, most uint8) (e Estimates) {
	var all []drawn
	for thread, list := range waits {
		for k := range list {
			all = append(all, drawn{rankOf[thread], rankOf[list[k].For], &list[k]})
		}
	}
	ranks := 0
	if n := len(rankOf); n > 0 {
		ranks = int(rankOf[n-1]) + 1
	}
	e.For = make([]Estimated, ranks)
	weight := math.Ldexp(1, int(most))
	each := func(compare func(a, b drawn) int, give func(first drawn, x Estimated)) {
		slices.SortFunc(all, func(a, b drawn) int { return cmp.Or(compare(a, b), cmp.Compare(a.Window, b.Window)) })
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && compare(all[from], all[to]) == 0 {
				to++
			}
			x := Estimated{Rank: all[from].rank, Peer: all[from].peer, Kind: all[from].Kind}
			x.add(all[from:to], weight)
			give(all[from], x)
			from = to
		}
	}
	each(func(a, b drawn) int { return cmp.Compare(a.Kind, b.Kind) }, func(d drawn, x Estimated) { e.Kinds[d.Kind] = x })
	each(func(a, b drawn) int { return cmp.Compare(a.peer, b.peer) }, func(d drawn, x Estimated) { e.For[d.peer] = x })
	each(func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.peer, b.peer), cmp.Compare(a.Kind, b.Kind))
	}, func(_ drawn, x Estimated) { e.Pairs = append(e.Pairs, x) })
	return e
}

// add adds waits, of which those of a window follow each other; most is the largest weight of the run. What begins in
// one window and ends in another has the weights of both: a window counts as the mean of what lies in it.
func (e *Estimated) add(list []drawn, most float64) {
	squares, windows := 0., 0.
	for from := 0; from < len(list); {
		y, z, to := 0., int64(0), from
		for ; to < len(list) && list[to].Window == list[from].Window; to++ {
			y += float64(list[to].NS)
			z += list[to].NS << list[to].Halved
		}
		e.NS += z
		e.VarNS2 += (float64(z) - y) * float64(z)
		squares += y * y
		windows++
		from = to
	}
	if windows > 0 {
		e.VarNS2 += most * (most - 1) * squares / windows
	}
}
