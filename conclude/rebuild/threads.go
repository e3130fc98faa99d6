package rebuild

import (
	"moriens/analysis/workers"
	"moriens/collector/store"
	"moriens/internal/team"
)

// A Process is one of the run's.
type Process struct {
	*store.Process
	World   int
	Threads []int // indices into the run's threads
	Whole   bool  // all its transfers are here, call by call
}

// Threads are who the processes and threads of a run are, and who has their calls.
type Threads struct {
	Team      team.Threads // who has which of the run's
	Own       []int        // threads that are here, ascending
	Worlds    []*World     // of the run's
	Processes []Process
	Rings     []*store.Ring // of the run's threads
	ProcessOf []int         // likewise
	Whole     bool          // all transfers of all processes are here, call by call

	byRank   [][]int32 // by world and rank: index of Processes, plus 1; 0: none has recorded
	threadOf map[*store.Ring]int
	workers  int // threads to compute with
}

// ThreadsOf finds out who the threads of a run are, before any of their calls are read.
func ThreadsOf(f store.Frozen, workers int) Threads {
	c := readClocks(f)
	// An error, clocks that contradict each other, is reported when the run is rebuilt.
	at, _ := c.solve(team.Solo{}, noCauses().known, nil, workers)
	worlds, _ := at.worlds(f)
	return threadsIn(worlds, f, team.Solo{}, workers)
}

// threadsIn numbers the processes and threads of worlds.
func threadsIn(worlds []*World, f store.Frozen, t team.Team, workers int) Threads {
	h := Threads{
		Team: team.Threads{Team: t}, Worlds: worlds, Whole: true, byRank: make([][]int32, len(worlds)), threadOf: make(map[*store.Ring]int), workers: workers,
	}
	for i, w := range worlds {
		for _, p := range w.Ranks() {
			for len(h.byRank[i]) <= int(p.Info.Rank) {
				h.byRank[i] = append(h.byRank[i], 0)
			}
			h.byRank[i][p.Info.Rank] = int32(len(h.Processes)) + 1
			own := Process{Process: p, World: i, Whole: f.Lacks(p) == 0}
			h.Whole = h.Whole && own.Whole
			for _, r := range RingsOf(p) {
				if p.Agent.Member == t.Rank() {
					h.Own = append(h.Own, len(h.Rings))
				}
				h.Team.Of = append(h.Team.Of, int32(p.Agent.Member))
				own.Threads = append(own.Threads, len(h.Rings))
				h.threadOf[r] = len(h.Rings)
				h.Rings = append(h.Rings, r)
				h.ProcessOf = append(h.ProcessOf, len(h.Processes))
			}
			h.Processes = append(h.Processes, own)
		}
	}
	return h
}

// processOf is the process that a rank of a world is; -1: it has not recorded.
func (h *Threads) processOf(world int, rank int32) int {
	if list := h.byRank[world]; int(rank) < len(list) {
		return int(list[rank]) - 1
	}
	return -1
}

// Thread is the number of a ring's thread, if the run has it.
func (h *Threads) Thread(r *store.Ring) (thread int, there bool) {
	thread, there = h.threadOf[r]
	return thread, there
}

// Mine says whether this member has a process's calls.
func (h *Threads) Mine(process int) bool { return h.Processes[process].Agent.Member == h.Team.Rank() }

// each calls do for each thread that is here, for several at a time. Its result for a thread depends on no other
// thread.
func (h *Threads) each(do func(thread int)) {
	sizes := make([]int, len(h.Own))
	for k, i := range h.Own {
		sizes[k] = int(h.Rings[i].Calls) + 1
	}
	workers.Every(sizes, h.workers, func(k int) { do(h.Own[k]) })
}
