package waits

import (
	"cmp"
	"slices"
	"sort"
)

// A walk goes the critical path from the end of the run backwards.
type walk struct {
	s      *solver
	thread int32
	ns     int64 // it is here now
	row    int   // the last call of the thread that begins before
	shares pairs[Share]
	parts  []Part
	still  int // how often it has changed threads at this very moment
}

// path finds the critical path.
func (s *solver) path() {
	if len(s.lanes) == 0 || s.run.DurationNS == 0 {
		return
	}
	p := &walk{s: s, ns: s.run.DurationNS}
	for i := range s.lanes {
		if s.lanes[i].EndNS > s.lanes[p.thread].EndNS {
			p.thread = int32(i)
		}
	}
	p.parts = append(p.parts, Part{p.thread, 0, p.ns})
	p.locate()
	for p.ns > 0 {
		p.step()
	}
	slices.Reverse(p.parts)
	p.parts = slices.DeleteFunc(p.parts, func(x Part) bool { return x.BeginNS == x.EndNS })
	s.result.Path, s.result.Shares = p.parts, p.shares.list
	slices.SortFunc(s.result.Shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Key, b.Key))
	})
}

// locate finds the call that the thread is in, or has left last.
func (p *walk) locate() {
	enter := p.s.lanes[p.thread].EnterNS
	p.row = sort.Search(len(enter), func(i int) bool { return enter[i] >= p.ns }) - 1
}

// step goes back to the begin of a call, of what is before one, or of what is left of it behind its wait, and then to
// the thread that was waited for.
func (p *walk) step() {
	l := &p.s.lanes[p.thread]
	if p.row < 0 || l.ExitNS[p.row] < p.ns {
		p.gap(l)
		return
	}
	enterNS := l.EnterNS[p.row]
	if w := p.s.waitOf(p.thread, int32(p.row)); w != nil && p.still <= len(p.s.lanes) {
		if p.ns > w.UntilNS {
			p.spend(mpiKey(l.Path[p.row]), p.ns-w.UntilNS)
		}
		p.still++
		p.parts[len(p.parts)-1].BeginNS = p.ns
		p.thread = w.For
		p.parts = append(p.parts, Part{p.thread, 0, p.ns})
		p.locate()
		return
	}
	p.spend(mpiKey(l.Path[p.row]), p.ns-enterNS)
	p.row--
}

// gap goes back through what is behind a call, or before the first, as far as the path has come.
func (p *walk) gap(l *lane) {
	row := p.row + 1
	s := l.gapNS(row)
	if l.gap[row] != several {
		p.spend(l.gap[row], p.ns-s.BeginNS)
		return
	}
	over := s.EndNS - p.ns // the path has come from within
	var list []piece
	l.eachPiece(row, func(key int32, ns int64) { list = append(list, piece{key, ns}) })
	for k := len(list) - 1; k >= 0; k-- {
		ns := list[k].ns
		skipped := min(over, ns)
		over -= skipped
		p.spend(list[k].key, ns-skipped)
	}
}

// spend goes back by some time in which the thread does one thing.
func (p *walk) spend(key int32, ns int64) {
	if ns == 0 {
		return
	}
	main := p.s.run.Main
	of := p.shares.of(p.thread, key, Share{Thread: p.thread, Key: key})
	of.NS += ns
	of.MainNS += main.Within(p.ns-ns, p.ns)
	p.ns -= ns
	p.still = 0
}

// waitOf is the wait of a call; nil: it has none.
func (s *solver) waitOf(thread, row int32) *wait {
	list := s.waits[thread]
	k := sort.Search(len(list), func(k int) bool { return list[k].Row >= row })
	if k == len(list) || list[k].Row != row {
		return nil
	}
	return &list[k]
}
