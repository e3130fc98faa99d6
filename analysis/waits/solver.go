package waits

import "math"

// A solver finds the waits of a run of which all lanes are here.
type solver struct {
	run     *Run
	lanes   []lane
	located []located // by message
	keys    []Key
	meaning
	worlds []world
	edges  [][]edge // by thread, by row
	met    [][]meeting
	commOf []int32  // by operation: its communicator, or below 0 of a world's start and end
	waits  [][]wait // by thread, by row
	result *Result
}

// A world is one MPI_COMM_WORLD.
type world struct {
	threads []int32
	ranks   []int32 // each once
}

// A tally is what there is to count in a thread's calls.
type tally struct {
	start, end   int32 // its MPI_Init and MPI_Finalize; -1: none
	mpiNS        int64
	mainMPINS    int64                      // of that, within Run.Main
	notExplained [len(reasons)]NotExplained // by reason, without its words
}

// An edge says that a call is left when another thread has entered one.
type edge struct {
	row    int32
	from   place
	kind   Kind
	halved uint8 // as of the message
	polled bool  // a later call receives it
}

// A meeting is a collective that a thread has left, by the call done, after all others have entered it, or of a scan
// all of lower rank. It has begun it by the call start, which is the same of a blocking one.
type meeting struct {
	start, done, op int32
	rank            int32 // of scans: in the communicator; else -1
}

// A wait is that of a call, as a Wait has it, with what ties the two threads.
type wait struct {
	Row, For, ForRow int32
	Kind             Kind
	halved           uint8
	done             bool // it has been charged to its causes
	UntilNS          int64
	edge             int32 // the last one before it from that thread, index into edges; -1: none
	met              int32 // the last meeting that began before it, index into met; -1
	passed           spent // waits of others that were handed on to it
}

func (w *wait) source() place { return place{w.For, w.ForRow} }

// A meaning is what call paths mean.
type meaning struct {
	function []int32 // by call path
	calls    []call  // by function
	polling  bool    // some look for messages
}

func meaningOf(functions []string) (m meaning) {
	of := make(map[string]int32)
	m.function = make([]int32, len(functions))
	for i, name := range functions {
		f, known := of[name]
		if !known {
			f = int32(len(m.calls))
			of[name] = f
			m.calls = append(m.calls, callOf(name))
			m.polling = m.polling || m.calls[f].polls != noPoll
		}
		m.function[i] = f
	}
	return m
}

// of is what calls of a path mean.
func (m *meaning) of(path uint32) *call { return &m.calls[m.function[path]] }

// count goes through all calls of a thread once. known says that waits of its collectives are known already.
func (m *meaning) count(l *lane, run *Run) {
	l.start, l.end = -1, -1
	c := &l.Collectives
	k := 0 // the first collective of the call, or of a later one
	for row, path := range l.Path {
		l.mpiNS += l.ExitNS[row] - l.EnterNS[row]
		l.mainMPINS += run.Main.Within(l.EnterNS[row], l.ExitNS[row])
		of := m.of(path)
		reason, is := of.unexplained()
		for k < len(c.Call) && int(c.Call[k]) < row {
			k++
		}
		switch {
		case l.Unfinished && row == l.calls()-1:
			reason, is = ofDeath, true
		case of.meets() && !run.Known && !c.of(k, row):
			reason, is = ofUnknown, true
		case of.flow == allToAll && c.of(k, row) && run.Comms[c.Comm[k]].Inter:
			reason, is = ofGroups, true
		}
		switch {
		case is:
			l.unexplained(reason, int32(row), run.Main)
		case of.flow == start && l.start < 0:
			l.start = int32(row)
		case of.flow == end && l.end < 0:
			l.end = int32(row)
		}
	}
}

// of says that a collective is that of a call, and its communicator is known.
func (c *Collectives) of(k, row int) bool {
	return k < len(c.Call) && int(c.Call[k]) == row && c.Comm[k] >= 0
}

// unexplained counts a call.
func (l *lane) unexplained(reason int, row int32, main Span) {
	enterNS, exitNS := l.EnterNS[row], l.ExitNS[row]
	x := NotExplained{Calls: 1, NS: exitNS - enterNS, MainNS: main.Within(enterNS, exitNS)}
	if x.MainNS > 0 {
		x.MainCalls = 1
	}
	l.notExplained[reason].add(x)
}

func (n *NotExplained) add(o NotExplained) {
	n.Calls += o.Calls
	n.NS += o.NS
	n.MainCalls += o.MainCalls
	n.MainNS += o.MainNS
}

func (s *solver) findWorlds() {
	for i := range s.lanes {
		l := &s.lanes[i]
		if i == 0 || l.World != s.lanes[i-1].World {
			s.worlds = append(s.worlds, world{})
		}
		w := &s.worlds[len(s.worlds)-1]
		w.threads = append(w.threads, int32(i))
		if n := len(w.ranks); n == 0 || w.ranks[n-1] != l.Rank {
			w.ranks = append(w.ranks, l.Rank)
		}
	}
}

// each does work for all threads.
func (s *solver) each(work func(i int)) { each(s.lanes, s.run.Workers, work) }

// uncertainNS is how far the clocks of two threads may be apart.
func (s *solver) uncertainNS(a, b int32) int64 {
	x, y := s.lanes[a].Node, s.lanes[b].Node
	if x == y || s.run.Clock != nil && s.run.Clock[x] == s.run.Clock[y] || int(x) >= len(s.run.UncertaintyNS) || int(y) >= len(s.run.UncertaintyNS) {
		return 0
	}
	if s.run.UncertaintyNS[x] > math.MaxInt64/2 || s.run.UncertaintyNS[y] > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return s.run.UncertaintyNS[x] + s.run.UncertaintyNS[y]
}

// enterNS is when a call was entered.
func (s *solver) enterNS(p place) int64 { return s.lanes[p.thread].EnterNS[p.row] }
