package waits

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// A candidate is what a call of a collective waits for.
type candidate struct {
	row    int32
	from   place // row -1: a call that is not here
	ns     int64 // when that is entered
	kind   Kind
	halved uint8 // as of the message
	// The call found its request not complete; a later one did.
	polled bool
}

// candidates are what calls of collectives wait for, by thread, and what ties them to others.
type candidates struct {
	list          [][]candidate
	contributions *contributions
}

// collectives makes edges, meetings and candidates of the collectives of the run.
func (s *solver) collectives() candidates {
	x := newOperations(s)
	if s.run.Known {
		x.judge()
	}
	for i := range x.list {
		o := &x.list[i]
		if o.members == 0 || s.run.Known {
			continue
		}
		if o.size > o.members && !o.inter {
			s.result.Incomplete++
		}
		if !o.mixed && o.members > 1 && !o.synchronises() {
			s.result.NotSynchronising++
		}
	}
	list := make([][]candidate, len(s.lanes))
	s.each(func(i int) {
		l := &s.lanes[i]
		s.met[i] = make([]meeting, 0, len(x.parts[i]))
		late := func(o *operation, row int32) bool { return o.latestNS > l.EnterNS[row] }
		n := 0
		for k := range x.parts[i] {
			if p := &x.parts[i][k]; p.done >= 0 && p.takes && late(&x.list[p.op], p.done) {
				n++
			}
		}
		list[i] = make([]candidate, 0, n)
		for k := range x.parts[i] {
			p := &x.parts[i][k]
			o := &x.list[p.op]
			if p.done < 0 || !p.takes && o.flow != prefix || !o.synchronises() {
				continue
			}
			if o.flow != prefix && !s.run.Known {
				for row := p.done; row > p.start || row == p.done; row-- { // a test, and those before it
					if late(o, row) {
						list[i] = append(list[i], candidate{row: row, from: o.latest, ns: o.latestNS, kind: o.kind, polled: row < p.done})
					}
					if row == 0 || !s.asksAgain(l, row-1) || !s.asksAgain(l, row) {
						break
					}
				}
			}
			switch o.flow {
			case allToAll, start, end:
				if p.gives {
					s.met[i] = append(s.met[i], meeting{p.start, p.done, p.op, -1})
				}
			case prefix:
				if p.gives && p.rank >= 0 {
					s.met[i] = append(s.met[i], meeting{p.start, p.done, p.op, p.rank})
				}
			}
		}
		slices.SortStableFunc(s.met[i], func(a, b meeting) int { return cmp.Compare(a.start, b.start) })
	})
	found := candidates{list, x.contributions()}
	if s.run.Known {
		s.known(list)
		return found
	}
	x.scans(func(thread int32, p *part, before place) {
		if p.done >= 0 {
			s.edges[thread] = append(s.edges[thread], edge{row: p.done, from: before, kind: Scan})
		}
	})
	return found
}

// asksAgain says that a call tests requests: what one found not complete, the next one asks for again.
func (s *solver) asksAgain(l *lane, row int32) bool { return s.of(l.Path[row]).polls == test }

// known makes candidates of the waits that are known already.
func (s *solver) known(list [][]candidate) {
	for i := range s.lanes {
		for _, w := range s.lanes[i].Known {
			hint := 0
			row := enteredAt(s.lanes[w.For].EnterNS, w.UntilNS, &hint)
			list[i] = append(list[i], candidate{row: w.Row, from: place{w.For, int32(row)}, ns: w.UntilNS, kind: w.Kind})
		}
	}
}

// find makes the waits of each thread: for the latest that a call was left after.
func (s *solver) find(candidates candidates) {
	type sums struct {
		waitNS, uncertainNS, mainUncertainNS, contradictions, contradictionNS int64
	}
	all := make([]sums, len(s.lanes))
	// Lists by thread, which begin with what is left of another thread's.
	type room struct {
		last  []int32 // the last edge from it that is not polled
		given []latest
	}
	rooms := sync.Pool{New: func() any { return &room{make([]int32, len(s.lanes)), make([]latest, len(s.lanes))} }}
	s.each(func(i int) {
		l, edges, x := &s.lanes[i], s.edges[i], candidates.list[i]
		slices.SortFunc(edges, edge.compare)
		byRow := func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.from.thread, b.from.thread), cmp.Compare(a.from.row, b.from.row), cmp.Compare(a.kind, b.kind))
		}
		if !slices.IsSortedFunc(x, byRow) {
			slices.SortFunc(x, byRow)
		}
		if s.polling && len(edges) > 0 {
			edges = s.polls(l, edges)
			s.edges[i] = edges
		}
		lists := rooms.Get().(*room)
		defer rooms.Put(lists)
		last := lists.last
		taken := history{of: candidates.contributions, last: lists.given}
		var ties []edge // of contributions: they come behind the others, which are in order
		met := int32(-1)
		s.waits[i] = make([]wait, 0, len(x)+s.late(l, edges))
		for e, k := 0, 0; e < len(edges) || k < len(x); {
			row := int32(math.MaxInt32)
			if e < len(edges) {
				row = edges[e].row
			}
			if k < len(x) {
				row = min(row, x[k].row)
			}
			first := e
			best, untilNS := candidate{row: row}, l.EnterNS[row]
			polled := false // what is waited for is received by a later call
			for ; e < len(edges) && edges[e].row == row; e++ {
				if ns := s.enterNS(edges[e].from); ns > untilNS && edges[e].from.thread != int32(i) {
					best.from, best.kind, best.halved, untilNS, polled = edges[e].from, edges[e].kind, edges[e].halved, ns, edges[e].polled
				}
			}
			for ; k < len(x) && x[k].row == row; k++ {
				if x[k].ns > untilNS && x[k].from.thread != int32(i) {
					best.from, best.kind, best.halved, untilNS, polled = x[k].from, x[k].kind, 0, x[k].ns, x[k].polled
				}
			}
			for int(met)+1 < len(s.met[i]) && s.met[i][met+1].start < row {
				met++
			}
			if best.kind != None {
				if untilNS > l.ExitNS[row] {
					if !polled {
						all[i].contradictions++
						all[i].contradictionNS += untilNS - l.ExitNS[row]
					}
					untilNS = l.ExitNS[row]
				}
				switch ns := untilNS - l.EnterNS[row]; {
				case ns <= 0:
				case ns <= s.uncertainNS(int32(i), best.from.thread):
					all[i].uncertainNS += ns
					all[i].mainUncertainNS += s.run.Main.Within(l.EnterNS[row], untilNS)
				default:
					all[i].waitNS += ns
					w := wait{Row: row, For: best.from.thread, ForRow: best.from.row, Kind: best.kind, halved: best.halved, UntilNS: untilNS, edge: -1, met: met}
					if n := last[best.from.thread]; int(n) < first && edges[n].from.thread == best.from.thread && !edges[n].polled {
						w.edge = n
					}
					taken.before(int32(i), row)
					if e, later := taken.tie(int32(i), w.For, edges, w.edge); later {
						w.edge = int32(len(edges) + len(ties))
						ties = append(ties, e)
					}
					s.waits[i] = append(s.waits[i], w)
				}
			}
			for n := first; n < e; n++ {
				if !edges[n].polled { // else it may not have been there yet
					last[edges[n].from.thread] = int32(n)
				}
			}
		}
		s.wrongOrder(i)
		s.edges[i] = append(s.edges[i], ties...)
	})
	for i := range all {
		s.result.WaitNS += all[i].waitNS
		s.result.UncertainNS += all[i].uncertainNS
		s.result.MainUncertainNS += all[i].mainUncertainNS
		s.result.Contradictions += all[i].contradictions
		s.result.ContradictionNS += all[i].contradictionNS
	}
}

func (e edge) compare(o edge) int {
	return cmp.Or(cmp.Compare(e.row, o.row), cmp.Compare(e.from.thread, o.from.thread), cmp.Compare(e.from.row, o.from.row), cmp.Compare(e.kind, o.kind))
}

// polls adds edges of the calls that looked for messages before another call received them, each from the latest: of
// probes, and of tests that followed each other until one found its requests complete. edges are in
// order, and what is returned is.
func (s *solver) polls(l *lane, edges []edge) []edge {
	var more []edge
	next := len(edges) // the first edge of the calls from the one behind row on
	alone := true      // calls from row + 1 to that of the edge are all tests
	for row := l.calls() - 1; row >= 0; row-- {
		first := next
		for first > 0 && edges[first-1].row >= int32(row) {
			first--
		}
		of := s.of(l.Path[row])
		switch {
		case first < next: // it receives
			next, alone = first, of.polls == test
			continue
		case of.polls == noPoll:
			alone = false
			continue
		case next == len(edges) || of.polls == test && !alone:
			continue
		}
		latest, untilNS := edge{row: int32(row), polled: true}, l.EnterNS[row]
		for n := next; n < len(edges) && edges[n].row == edges[next].row; n++ {
			e := &edges[n]
			ns := s.enterNS(e.from)
			if e.kind != LateSender || of.polls == probe && ns > l.ExitNS[row] {
				continue // another message was found, or none
			}
			if ns > untilNS {
				latest.from, latest.kind, latest.halved, untilNS = e.from, e.kind, e.halved, ns
			}
		}
		if latest.kind != None {
			more = append(more, latest)
		}
	}
	if len(more) == 0 {
		return edges
	}
	edges = append(edges, more...)
	slices.SortFunc(edges, edge.compare)
	return edges
}

// late counts the calls that have an edge from a later entry.
func (s *solver) late(l *lane, edges []edge) (calls int) {
	last := int32(-1)
	for _, e := range edges {
		if e.row != last && s.enterNS(e.from) > l.EnterNS[e.row] {
			calls++
			last = e.row
		}
	}
	return calls
}

// wrongOrder names the late senders while whose receivers waited another message was under way, which they took later.
func (s *solver) wrongOrder(thread int) {
	edges, list := s.edges[thread], s.waits[thread]
	firstNS, e := int64(math.MaxInt64), len(edges)
	for k := len(list) - 1; k >= 0; k-- {
		w := &list[k]
		for ; e > 0 && edges[e-1].row > w.Row; e-- {
			if edges[e-1].kind == LateSender {
				firstNS = min(firstNS, s.enterNS(edges[e-1].from))
			}
		}
		if w.Kind == LateSender && firstNS < w.UntilNS && s.of(s.lanes[thread].Path[w.Row]).polls == noPoll {
			w.Kind = WrongOrder
		}
	}
}
