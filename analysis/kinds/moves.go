package kinds

import "slices"

// A change gives a burst a kind.
type change struct{ burst, kind int32 }

// apply moves bursts, and counts the contexts again that contain them.
func (p *placing) apply(moves []change) {
	old := make([]int32, len(moves))
	for k, x := range moves {
		p.kindOf[x.burst], old[k] = x.kind, p.kindOf[x.burst]
	}
	was := slices.Clone(p.label[p.n:])
	for _, x := range moves {
		p.label[x.burst] = p.code(int(x.burst))
	}
	p.far.exchange(p.local, p.c)
	touched, few := p.touched(moves, was)
	if !few {
		p.begin()
		return
	}
	now := slices.Clone(p.label[p.n:])
	restore := func(far []int32, kind func(k int) int32) {
		copy(p.label[p.n:], far)
		for k, x := range moves {
			p.kindOf[x.burst] = kind(k)
			p.label[x.burst] = p.code(int(x.burst))
		}
	}
	restore(was, func(k int) int32 { return old[k] })
	for _, i := range touched {
		p.count(p.here, p.threadOf(int(i)), int(i), -1)
	}
	restore(now, func(k int) int32 { return moves[k].kind })
	for _, i := range touched {
		p.count(p.here, p.threadOf(int(i)), int(i), 1)
	}
}

// recountFrom is the reciprocal of a share of the bursts: if more are touched, counting all is quicker than counting
// those twice.
const recountFrom = 8

// touched are the bursts here that have a moved one, here or elsewhere, in their context. They are not listed if more
// than one in recountFrom is.
func (p *placing) touched(moves []change, was []int32) (list []int32, few bool) {
	const around, leastAround = 7, 3 // of one that moved, itself among them; of many side by side
	most := p.n / recountFrom
	if leastAround*len(moves) > most {
		return nil, false
	}
	noted := make([]bool, p.n)
	list = make([]int32, 0, min(around*len(moves), most+around))
	note := func(i int32) {
		if i >= 0 && int(i) < p.n && !noted[i] {
			noted[i] = true
			list = append(list, i)
		}
	}
	for _, x := range moves {
		for i := x.burst - 2; i <= x.burst+2; i++ {
			note(i)
		}
		note(p.next[x.burst])
		note(p.prev[x.burst])
		if len(list) > most {
			return nil, false
		}
	}
	moved := func(i int32) bool { return int(i) >= p.n && p.label[i] != was[int(i)-p.n] }
	for _, t := range p.far.beside {
		for i := p.first(t); i < p.Ends[t]; i++ {
			if moved(p.next[i]) || moved(p.prev[i]) {
				note(int32(i))
			}
		}
	}
	return list, len(list) <= most
}

// distinguishes reports whether order distinguishes two kinds; for noise, the kind from all others of the group.
func (p *placing) distinguishes(kind, from int32) bool {
	key := [2]int32{kind, from}
	if distinct, known := p.distinct[key]; known {
		return distinct
	}
	distinct := true
	if from != None {
		distinct = p.foretold(kind, from) >= placeOrder
	} else {
		group := p.of[p.kinds[kind].group]
		for _, k := range group {
			distinct = distinct && (k == kind || p.kinds[k].share < placeShare || p.distinguishes(kind, k))
		}
	}
	p.distinct[key] = distinct
	return distinct
}
