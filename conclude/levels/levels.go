// Package levels makes the summaries of a run that are kept for all ranks: the profile (level 1), the structure (level
// 2), the weighted sample of bursts that stands for those that are dropped, and the reconstruction error of the run
// that is rebuilt from what was kept.
//
// In comes a trace.Run with clusters, times in nanoseconds; out come the results of analysis/profile, loops, sample and
// fidelity in the terms of the run directory. It changes no run and writes no file.
//
// Several processes may make them together, each with the columns of some threads: then the functions that take the
// owners of threads are collective.
package levels

import (
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
	"moriens/trace"
)

// A Table numbers what bursts are: pairs of a kind of computation and the calls round it, the same for all threads.
type Table struct {
	Symbols []Symbol   // what each number means
	Threads [][]uint32 // numbers, per thread and burst; without those of threads that other members of a team have
}

// A Symbol is the cluster that stands for a burst's kind, and the places of the calls before and after it
// (trace.Places).
type Symbol struct {
	Cluster       int32
	Before, After uint32
}

// Symbols numbers what the bursts of a run are, in the order in which each is first there.
func Symbols(run *trace.Run, owners team.Threads, threadsAtWork int) (*Table, error) {
	t := &Table{Threads: make([][]uint32, len(run.Threads))}
	places := run.Places()
	own := make([][]Symbol, len(run.Threads)) // numbered by each thread for itself
	each(run, threadsAtWork, func(i int) {
		b := &run.Threads[i].Bursts
		kinds := b.Kinds()
		numbers := make(map[Symbol]uint32)
		var recent [256]uint32 // by some bits of a symbol: the same few recur, and a map costs ten times as much
		t.Threads[i] = make([]uint32, b.Len())
		for k := range t.Threads[i] {
			s := Symbol{kinds[k], places[b.Before[k]], places[b.After[k]]}
			slot := &recent[(uint32(s.Cluster)*7+s.Before*31+s.After*131)%uint32(len(recent))]
			if n := *slot; int(n) < len(own[i]) && own[i][n] == s {
				t.Threads[i][k] = n
				continue
			}
			n, ok := numbers[s]
			if !ok {
				n = uint32(len(own[i]))
				numbers[s] = n
				own[i] = append(own[i], s)
			}
			t.Threads[i][k], *slot = n, n
		}
	})
	own, err := shareSymbols(owners, own)
	if err != nil {
		return nil, err
	}
	numbers := make(map[Symbol]uint32)
	shared := make([][]uint32, len(own)) // by each thread's own number
	for i, list := range own {
		for _, s := range list {
			n, ok := numbers[s]
			if !ok {
				n = uint32(len(t.Symbols))
				numbers[s] = n
				t.Symbols = append(t.Symbols, s)
			}
			shared[i] = append(shared[i], n)
		}
	}
	each(run, threadsAtWork, func(i int) {
		for k, n := range t.Threads[i] {
			t.Threads[i][k] = shared[i][n]
		}
	})
	return t, nil
}

// shareSymbols gives each member the symbols of all threads.
func shareSymbols(owners team.Threads, own [][]Symbol) ([][]Symbol, error) {
	if owners.Size() == 1 {
		return own, nil
	}
	lists := make([][]uint32, len(own))
	for i := range own {
		for _, s := range own[i] {
			lists[i] = append(lists[i], uint32(s.Cluster), s.Before, s.After)
		}
	}
	lists, err := team.ByThread(owners, lists)
	if err != nil {
		return nil, err
	}
	all := make([][]Symbol, len(lists))
	for i, list := range lists {
		for s := range slices.Chunk(list, 3) {
			all[i] = append(all[i], Symbol{int32(s[0]), s[1], s[2]})
		}
	}
	return all, nil
}

// Calls gives for each symbol the number of its pair of surrounding calls, dense from 0.
func (t *Table) Calls() []uint32 {
	of, _ := t.calls()
	for i := range of {
		of[i] -= uint32(len(t.Symbols))
	}
	return of
}

// calls numbers the pairs of surrounding calls, from the number of symbols on: what symbols are without their cluster.
func (t *Table) calls() (of []uint32, pairs []Symbol) {
	type pair struct{ before, after uint32 }
	numbers := make(map[pair]uint32)
	for _, s := range t.Symbols {
		p := pair{s.Before, s.After}
		n, ok := numbers[p]
		if !ok {
			n = uint32(len(t.Symbols) + len(pairs))
			numbers[p] = n
			pairs = append(pairs, Symbol{Before: s.Before, After: s.After})
		}
		of = append(of, n)
	}
	return of, pairs
}

// each does work for every thread of a run.
func each(run *trace.Run, threadsAtWork int, work func(i int)) {
	sizes := make([]int, len(run.Threads))
	for i := range run.Threads {
		sizes[i] = run.Threads[i].Bursts.Len() + run.Threads[i].Calls.Len()
	}
	workers.Every(sizes, threadsAtWork, work)
}
