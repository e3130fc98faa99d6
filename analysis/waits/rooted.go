package waits

import (
	"cmp"
	"slices"
)

// contributions are what roots gave to others, or others to roots: each ties who takes it to who gives it.
type contributions struct {
	first    []int       // by operation: its first one in list; and behind them how many there are
	list     []place     // the calls that begin them
	receipts [][]receipt // by thread, by row
}

// A receipt is a call that has completed an operation of which its thread takes something.
type receipt struct{ row, op int32 }

// contributions finds those of all operations with a root.
func (x *operations) contributions() *contributions {
	g := &contributions{first: make([]int, len(x.list)+1), receipts: make([][]receipt, len(x.parts))}
	each := func(thread int, do func(p *part)) {
		for k := range x.parts[thread] {
			p := &x.parts[thread][k]
			if o := &x.list[p.op]; (o.flow == fromRoot || o.flow == toRoot) && o.hasRoot && o.synchronises() {
				do(p)
			}
		}
	}
	for i := range x.parts {
		taken := 0
		each(i, func(p *part) {
			if p.gives {
				g.first[p.op+1]++
			}
			if p.takes && p.done >= 0 {
				taken++
			}
		})
		g.receipts[i] = make([]receipt, 0, taken)
	}
	for op := range x.list {
		g.first[op+1] += g.first[op]
	}
	g.list = make([]place, g.first[len(x.list)])
	next := slices.Clone(g.first)
	for i := range x.parts {
		each(i, func(p *part) {
			if p.gives {
				g.list[next[p.op]] = place{int32(i), p.start}
				next[p.op]++
			}
			if p.takes && p.done >= 0 {
				g.receipts[i] = append(g.receipts[i], receipt{p.done, p.op})
			}
		})
		slices.SortStableFunc(g.receipts[i], func(a, b receipt) int { return cmp.Compare(a.row, b.row) })
	}
	return g
}

// A latest is the last contribution that a thread has taken of another one.
type latest struct {
	taker int32 // the thread, and 1: it counts for this one alone
	row   int32 // of the call by which it was taken
	given int32 // of the call that began it, on the other thread
}

// A history has what a thread has taken up to some call.
type history struct {
	of   *contributions
	last []latest // by thread that gave it
	at   int      // how many of the receipts are in it
}

// before takes in what a thread took before a call.
func (p *history) before(taker, row int32) {
	list := p.of.receipts[taker]
	for ; p.at < len(list) && list[p.at].row < row; p.at++ {
		x := list[p.at]
		for _, from := range p.of.list[p.of.first[x.op]:p.of.first[x.op+1]] {
			old := &p.last[from.thread]
			if old.taker == taker+1 && old.row == x.row && old.given > from.row {
				continue
			}
			*old = latest{taker + 1, x.row, from.row}
		}
	}
}

// tie is the edge of the last contribution that a thread took of another one, if it is later than the edge that there
// is already; below 0: none.
func (p *history) tie(taker, giver int32, edges []edge, than int32) (e edge, later bool) {
	x := p.last[giver]
	if x.taker != taker+1 {
		return e, false
	}
	e = edge{row: x.row, from: place{giver, x.given}}
	return e, than < 0 || cmp.Or(cmp.Compare(edges[than].row, e.row), cmp.Compare(edges[than].from.row, e.from.row)) < 0
}
