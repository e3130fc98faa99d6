package waits

import (
	"math"

	"moriens/analysis/workers"
)

// A solver finds the waits of a run of which all lanes are here.
type solver struct {
	run      *Run
	lanes    []lane
	keys     []Key
	function []int32 // by call path
	calls    []call  // by function
	worlds   []world
	tallies  []tally
	edges    [][]edge // by thread, by row
	met      [][]meeting
	commOf   []int32  // by operation: its communicator, or below 0 of a world's start and end
	waits    [][]wait // by thread, by row
	result   *Result
}

// A world is one MPI_COMM_WORLD.
type world struct {
	threads []int32
	ranks   []int32 // each once
}

// A tally is what there is to count in a thread's calls.
type tally struct {
	first        map[flow]int32 // row of its MPI_Init and MPI_Finalize; -1: none
	mpiNS        int64
	notExplained map[string]NotExplained
}

// An edge says that a call is left when another thread has entered one.
type edge struct {
	row  int32
	from place
	kind Kind
}

// A meeting is a blocking collective that a thread has left after all others have entered it.
type meeting struct{ row, op int32 }

// A wait is that of a call, with what ties the two threads.
type wait struct {
	Wait
	edge     int32 // the last one before it from that thread, index into edges; -1: none
	met      int32 // the last meeting before it, index into met; -1
	passedNS int64 // waits of others that were handed on to it
	done     bool  // it has been charged to its causes
}

func (w *wait) source() place { return place{w.For, w.ForRow} }

// functions find out what call paths mean.
func (s *solver) functions() {
	of := make(map[string]int32)
	s.function = make([]int32, len(s.run.Functions))
	for i, name := range s.run.Functions {
		f, known := of[name]
		if !known {
			f = int32(len(s.calls))
			of[name] = f
			s.calls = append(s.calls, callOf(name))
		}
		s.function[i] = f
	}
}

func (s *solver) findWorlds() {
	for i := range s.lanes {
		l := &s.lanes[i]
		for int(l.World) >= len(s.worlds) {
			s.worlds = append(s.worlds, world{})
		}
		w := &s.worlds[l.World]
		w.threads = append(w.threads, int32(i))
		if n := len(w.ranks); n == 0 || w.ranks[n-1] != l.Rank {
			w.ranks = append(w.ranks, l.Rank)
		}
	}
}

// count goes through all calls once.
func (s *solver) count() {
	s.tallies = make([]tally, len(s.lanes))
	s.each(func(i int) {
		l := &s.lanes[i]
		t := &s.tallies[i]
		t.first, t.notExplained = map[flow]int32{start: -1, end: -1}, make(map[string]NotExplained)
		for row, path := range l.Path {
			ns := l.ExitNS[row] - l.EnterNS[row]
			t.mpiNS += ns
			c := &s.calls[s.function[path]]
			what := notExplained[c.flow]
			if l.Unfinished && row == l.calls()-1 {
				what = "calls in which the process ended"
			}
			if c.flow == start || c.flow == end {
				if t.first[c.flow] < 0 {
					t.first[c.flow] = int32(row)
				}
			}
			if what != "" {
				n := t.notExplained[what]
				t.notExplained[what] = NotExplained{what, n.Calls + 1, n.NS + ns}
			}
		}
	})
}

// each does work for all threads.
func (s *solver) each(work func(i int)) {
	sizes := make([]int, len(s.lanes))
	for i := range sizes {
		sizes[i] = s.lanes[i].calls() + 1
	}
	workers.Every(sizes, s.run.Workers, work)
}

// uncertainNS is how far the clocks of two threads may be apart.
func (s *solver) uncertainNS(a, b int32) int64 {
	x, y := s.lanes[a].Node, s.lanes[b].Node
	if x == y || int(x) >= len(s.run.UncertaintyNS) || int(y) >= len(s.run.UncertaintyNS) {
		return 0
	}
	if s.run.UncertaintyNS[x] > math.MaxInt64/2 || s.run.UncertaintyNS[y] > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return s.run.UncertaintyNS[x] + s.run.UncertaintyNS[y]
}

// enterNS is when a call was entered.
func (s *solver) enterNS(p place) int64 { return s.lanes[p.thread].EnterNS[p.row] }
