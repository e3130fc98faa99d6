package period

import "slices"

// blockPieces is how many pieces in a row at most are compared with their own medians: counts may drift in the course
// of a run.
const blockPieces = 16

// An amount is time and bursts.
type amount struct{ ns, bursts int64 }

func (a *amount) add(ns, bursts int64) {
	a.ns += ns
	a.bursts += bursts
}

func (a *amount) addTimes(b amount, times int64) { a.add(b.ns*times, b.bursts*times) }

// shares are of time and of bursts.
type shares struct{ time, bursts float64 }

func shareOf(part, all amount) shares {
	return shares{float64(part.ns) / float64(max(1, all.ns)), float64(part.bursts) / float64(max(1, all.bursts))}
}

// A match says how much of pieces is as in most of them. The bursts with which pieces begin are apart, for all pieces
// have one.
type match struct {
	coverNS int64
	first   amount // with which pieces begin
	usual   amount // of first: of the symbol with which most others begin
	rest    amount // what pieces have
	lack    amount // what they have nothing of, but most pieces have
	near    amount // of rest: of symbols that occur as often as in most pieces, to 10 %
	same    amount // of rest: bursts that most pieces have too, one by one
}

func (m *match) amounts() []*amount {
	return []*amount{&m.first, &m.usual, &m.rest, &m.lack, &m.near, &m.same}
}

func (m *match) addTimes(o match, times int64) {
	m.coverNS += o.coverNS * times
	other := o.amounts()
	for k, a := range m.amounts() {
		a.addTimes(*other[k], times)
	}
}

// whole is what pieces have or lack.
func (m *match) whole() amount {
	return amount{m.rest.ns + m.lack.ns, m.rest.bursts + m.lack.bursts}
}

// pieces counts symbols by piece, a block of pieces at a time.
type pieces struct {
	counts  [][blockPieces]int32 // by symbol
	ns      [][blockPieces]int64
	seen    []int32 // by symbol: the last block that had it, from 1
	block   int32
	touched []uint32
}

func newPieces(symbols int) *pieces {
	return &pieces{counts: make([][blockPieces]int32, symbols), ns: make([][blockPieces]int64, symbols), seen: make([]int32, symbols)}
}

// match compares the pieces between neighbours of cuts.
func (p *pieces) match(symbols []uint32, durationNS []int64, cuts []int32) match {
	var m match
	n := len(cuts) - 1
	blocks := (n + blockPieces - 1) / blockPieces
	for b := range blocks {
		p.matchBlock(&m, symbols, durationNS, cuts[b*n/blocks:(b+1)*n/blocks+1])
	}
	return m
}

func (p *pieces) matchBlock(m *match, symbols []uint32, durationNS []int64, cuts []int32) {
	p.count(symbols, durationNS, cuts, 1)
	n := len(cuts) - 1
	before := m.rest.ns
	for _, begin := range cuts[:n] {
		ns := durationNS[begin]
		m.coverNS += ns
		m.first.add(ns, 1)
		if commonest(symbols, cuts[:n], symbols[begin]) {
			m.usual.add(ns, 1)
		}
	}
	for _, s := range p.touched {
		m.addSymbol(p.counts[s][:n], p.ns[s][:n])
	}
	m.coverNS += m.rest.ns - before
}

// count fills in the table of a block of pieces, without so many first bursts of each.
func (p *pieces) count(symbols []uint32, durationNS []int64, cuts []int32, without int32) {
	p.touched = p.touched[:0]
	if p.block++; p.block < 0 {
		clear(p.seen)
		p.block = 1
	}
	for k := range len(cuts) - 1 {
		for i := cuts[k] + without; i < cuts[k+1]; i++ {
			s := symbols[i]
			if p.seen[s] != p.block {
				p.seen[s] = p.block
				p.touched = append(p.touched, s)
				p.counts[s] = [blockPieces]int32{}
				p.ns[s] = [blockPieces]int64{}
			}
			p.counts[s][k]++
			p.ns[s][k] += durationNS[i]
		}
	}
}

// addSymbol adds what pieces have of one symbol.
func (m *match) addSymbol(counts []int32, ns []int64) {
	usual := medianCount(counts)
	all := amount{}
	for k, c := range counts {
		all.add(ns[k], int64(c))
	}
	m.rest.addTimes(all, 1)
	for k, c := range counts {
		if c == 0 {
			m.lack.add(all.ns/all.bursts*int64(usual), int64(usual))
			continue
		}
		if 10*max(c-usual, usual-c) <= usual {
			m.near.add(ns[k], int64(c))
		}
		common := int64(min(c, usual))
		m.same.add(ns[k]/int64(c)*common, common)
	}
}

// medianCount is the lower median. It does not change the list.
func medianCount(list []int32) int32 {
	var sorted [blockPieces]int32
	n := copy(sorted[:], list)
	slices.Sort(sorted[:n])
	return sorted[(n-1)/2]
}

// commonest reports whether most begin with the symbol, or as many as with any other, one of them left out.
func commonest(symbols []uint32, begins []int32, symbol uint32) bool {
	var others [blockPieces]uint32
	n, like := 0, 0
	for _, begin := range begins {
		if x := symbols[begin]; x == symbol {
			like++
		} else {
			others[n] = x
			n++
		}
	}
	if like > n {
		return true
	}
	slices.Sort(others[:n])
	times := 0
	for i, x := range others[:n] {
		if i == 0 || others[i-1] != x {
			times = 0
		}
		if times++; times >= like {
			return false
		}
	}
	return true
}
