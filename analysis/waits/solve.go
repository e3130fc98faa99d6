package waits

import "slices"

// Solve finds waits, causes and the critical path of a run, of which all lanes are here. It changes x.
func (x *Lanes) Solve() *Result {
	s := x.solver()
	s.find(s.connect())
	s.charge()
	s.edges, s.met = nil, nil
	if !s.run.Known { // then not all that it goes through is here
		s.path()
	}
	s.report()
	return s.result
}

// solver takes over what the lanes have.
func (x *Lanes) solver() *solver {
	n := len(x.list)
	s := &solver{
		run: x.run, lanes: x.list, located: x.located, meaning: x.meaning, result: new(Result),
		edges: make([][]edge, n), met: make([][]meeting, n), waits: make([][]wait, n),
	}
	x.located = nil
	s.keys = x.codes.settle(s.lanes, s.run.Workers)
	s.findWorlds()
	return s
}

// connect finds what calls depend on: edges, meetings, and the candidates that it returns.
func (s *solver) connect() candidates {
	found := s.collectives()
	s.messages()
	s.located = nil
	return found
}

// report puts what was found into the result.
func (s *solver) report() {
	r := s.result
	r.Keys = s.keys
	r.Waits, r.WaitedNS = make([][]Wait, len(s.waits)), make([]int64, len(s.waits))
	sums := make([]NotExplained, len(reasons))
	for i := range s.waits {
		r.Waits[i] = slices.Grow(r.Waits[i], len(s.waits[i]))
		for k := range s.waits[i] {
			of := &s.waits[i][k]
			w := Wait{of.Row, of.For, of.ForRow, of.Kind, of.halved, of.UntilNS}
			r.WaitedNS[i] += s.waitNS(int32(i), &s.waits[i][k])
			if w.Row = s.lanes[i].row(w.Row); w.ForRow >= 0 {
				w.ForRow = s.lanes[w.For].row(w.ForRow)
			}
			r.Waits[i] = append(r.Waits[i], w)
		}
		s.waits[i] = nil
		r.MPINS += s.lanes[i].mpiNS
		r.MainMPINS += s.lanes[i].mainMPINS
		for k, n := range s.lanes[i].notExplained {
			sums[k].add(n)
		}
	}
	for k, n := range sums {
		if n.Calls > 0 {
			n.What = reasons[k]
			r.NotExplained = append(r.NotExplained, n)
		}
	}
}
