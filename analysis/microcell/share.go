package microcell

import (
	"math/big"
	"math/bits"
	"slices"

	"moriens/analysis/kinds"
	"moriens/analysis/moment"
)

// A ledger has the bursts of each unit, and so what bursts of a label come to: all of a unit where its bursts have one
// label, else a part by their lengths, as far as these are known. What all labels come to is what the units have.
type ledger struct {
	units  []Unit
	first  []int32 // by unit: where its bursts begin in order, and in the end how many there are
	order  []int32 // bursts by unit
	timeNS []int64 // by burst: its length, so that those of a unit's bursts are what the unit has
}

func newLedger(units []Unit, of []int32, step []uint16) *ledger {
	l := &ledger{units: units, first: make([]int32, len(units)+1), order: make([]int32, len(of)), timeNS: make([]int64, len(of))}
	for _, u := range of {
		l.first[u+1]++
	}
	for u := range units {
		l.first[u+1] += l.first[u]
	}
	at := slices.Clone(l.first)
	for i, u := range of {
		l.order[at[u]] = int32(i)
		at[u]++
	}
	for u := range units {
		bursts := l.order[l.first[u]:l.first[u+1]]
		left := units[u].timeNS()
		for _, i := range bursts {
			l.timeNS[i] = kinds.OfStep(int32(step[i]))
			left -= l.timeNS[i]
		}
		for k, i := range bursts {
			part := left / int64(len(bursts)-k)
			part = max(part, -l.timeNS[i])
			l.timeNS[i] += part
			left -= part
		}
	}
	return l
}

// A share is the bursts of a unit with one label.
type share struct {
	label    int32
	bursts   int64
	timeNS   uint64
	squares  float64
	first    int32 // burst
	heaviest bool  // of its unit
}

// each gives the labels of each unit's bursts, unit by unit.
func (l *ledger) each(label func(i int32) int32, do func(unit int32, shares []share)) {
	var shares []share
	at := make(map[int32]int) // of a unit with several
	for u := range l.units {
		bursts := l.order[l.first[u]:l.first[u+1]]
		if len(bursts) == 0 {
			continue
		}
		shares = shares[:0]
		clear(at)
		last := 0
		for _, i := range bursts {
			k := label(i)
			if len(shares) == 0 || shares[last].label != k {
				place, known := at[k]
				if !known {
					place = len(shares)
					at[k], shares = place, append(shares, share{label: k, first: i})
				}
				last = place
			}
			s := &shares[last]
			ns := float64(l.timeNS[i])
			s.bursts, s.timeNS, s.squares = s.bursts+1, s.timeNS+uint64(l.timeNS[i]), s.squares+ns*ns
		}
		most := 0
		for k := range shares {
			if shares[k].bursts > shares[most].bursts {
				most = k
			}
		}
		shares[most].heaviest = true
		do(int32(u), shares)
	}
}

// exacts shares the sums of a unit's durations, or of a counter, out to the labels of its bursts.
func exacts(whole *moment.Exact, shares []share, durations bool) []moment.Exact {
	if len(shares) == 1 {
		return []moment.Exact{*whole}
	}
	list := make([]moment.Exact, len(shares))
	left, most := *whole, 0
	for k := range shares {
		s := &shares[k]
		if s.heaviest {
			most = k
			continue
		}
		part, square := portionOf(s, shares, durations)
		e := &list[k]
		e.N = s.bursts
		if whole.N != sumOf(shares) {
			e.N = int64(part * float64(whole.N))
		}
		if portion(e.Total[:], whole.Total[:], part); durations {
			e.Total = [2]uint64{s.timeNS}
		}
		portion(e.Squares[:], whole.Squares[:], square)
		left.N -= e.N
		less(left.Total[:], e.Total[:])
		less(left.Squares[:], e.Squares[:])
	}
	list[most] = left
	return list
}

func sumOf(shares []share) (n int64) {
	for k := range shares {
		n += shares[k].bursts
	}
	return n
}

// portionOf is the part of a unit's sum, and of that of its squares, that some of its bursts have: of durations by
// their lengths, of counts by their number.
func portionOf(s *share, shares []share, durations bool) (part, square float64) {
	if !durations {
		part = float64(s.bursts) / float64(sumOf(shares))
		return part, part
	}
	timeNS, squares := 0., 0.
	for k := range shares {
		timeNS, squares = timeNS+float64(shares[k].timeNS), squares+shares[k].squares
	}
	return float64(s.timeNS) / max(timeNS, 1), s.squares / max(squares, 1)
}

// portionBits is how exactly portions are taken.
const portionBits = 53

// portion is a part, 0 to 1, of a number in words, the low one first.
func portion(to, of []uint64, part float64) {
	x := new(big.Int)
	for i := len(of) - 1; i >= 0; i-- {
		x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(of[i]))
	}
	x.Mul(x, big.NewInt(int64(part*(1<<portionBits)))).Rsh(x, portionBits)
	word := new(big.Int)
	for i := range to {
		to[i] = word.And(x, new(big.Int).SetUint64(1<<64-1)).Uint64()
		x.Rsh(x, 64)
	}
}

// less takes a number in words from another, which is no smaller.
func less(from, what []uint64) {
	borrow := uint64(0)
	for i := range from {
		from[i], borrow = bits.Sub64(from[i], what[i], borrow)
	}
}
