package waits

import (
	"cmp"
	"fmt"
	"slices"
)

// Solve finds waits, causes and the critical path of a run. Columns that do not fit each other are errors that name the
// thread.
func Solve(run *Run) (*Result, error) {
	for i := range run.Threads {
		if err := run.Threads[i].check(len(run.Functions), len(run.Comms), run.DurationNS); err != nil {
			return nil, fmt.Errorf("waits: thread %d: %w", i, err)
		}
	}
	countOrdinals(run.Threads)
	codes, err := newCodes(run.Threads, len(run.Functions))
	if err != nil {
		return nil, fmt.Errorf("waits: %w", err)
	}
	s := &solver{run: run, lanes: make([]lane, len(run.Threads)), result: new(Result)}
	for i := range run.Threads {
		s.lanes[i].Thread = &run.Threads[i]
	}
	s.each(func(i int) { s.lanes[i] = newLane(&run.Threads[i], run.DurationNS, codes.of) })
	s.keys = codes.settle(s.lanes)
	s.solve()
	return s.result, nil
}

func (s *solver) solve() {
	n := len(s.lanes)
	s.edges, s.met, s.waits = make([][]edge, n), make([][]meeting, n), make([][]wait, n)
	s.functions()
	s.findWorlds()
	s.count()
	candidates := s.collectives()
	s.messages()
	s.find(candidates)
	s.charge()
	s.path()
	s.report()
}

// report puts what was found into the result.
func (s *solver) report() {
	r := s.result
	r.Keys = s.keys
	r.Waits = make([][]Wait, len(s.waits))
	all := make(map[string]NotExplained)
	for i := range s.waits {
		for k := range s.waits[i] {
			r.Waits[i] = append(r.Waits[i], s.waits[i][k].Wait)
		}
		r.MPINS += s.tallies[i].mpiNS
		for what, n := range s.tallies[i].notExplained {
			sum := all[what]
			all[what] = NotExplained{what, sum.Calls + n.Calls, sum.NS + n.NS}
		}
	}
	for _, n := range all {
		r.NotExplained = append(r.NotExplained, n)
	}
	slices.SortFunc(r.NotExplained, func(a, b NotExplained) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.What, b.What))
	})
}
