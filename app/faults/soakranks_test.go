package faults

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// callsPerMessage is how many calls an agent's message has at most.
const callsPerMessage = 1024

// lacks is what a manifest says to be missing besides calls that it counts one by one.
type lacks struct {
	ranks map[int]bool // of these some or all
	more  int          // of so many others too, which are not named
	calls int          // of anybody, at most
}

// lacksOf reads it. That an agent has not finished is no leave by itself: its ranks are named as cut off, but for those
// of which it had reported the end.
func lacksOf(m *rundir.Manifest) (s lacks) {
	s.ranks = make(map[int]bool)
	if m.Complete {
		return s
	}
	l := &m.Losses
	for _, d := range l.RanksDied {
		if d.CutOff {
			s.ranks[d.Rank] = true
		}
	}
	for _, w := range m.Worlds {
		for _, u := range w.Unrecorded {
			for _, rank := range u.List {
				s.ranks[rank] = true
			}
			s.more += u.Ranks - len(u.List)
		}
	}
	s.more += l.RanksLeft + l.FilesUnreadable
	s.calls = callsPerMessage * int(l.MessagesRefused)
	return s
}

func (s *lacks) any() bool { return len(s.ranks)+s.more+s.calls > 0 }

// checkRanks checks that calls are missing only of the ranks of which the results say so. How many are missing of such
// a rank is not bounded: it continued after the last report of its agent, and no process was left to count them. As one
// agent has all ranks here that can be the whole run. Of every other rank all calls must be there, or counted one by
// one: these counts are of the whole run, so that they are compared with what those ranks lack together.
func (r *soakRound) checkRanks(m *rundir.Manifest, dir string, stated lacks, uncertain int) {
	made := r.madeByRank()
	leave := stated.calls + counted(m) + uncertain
	if !slices.ContainsFunc(m.Files, func(f rundir.File) bool { return f.Name == rundir.ProfileFile }) {
		// There was no time or no room for what distinguishes ranks.
		for rank := range stated.ranks {
			leave += made[rank]
			delete(made, rank)
		}
		for _, n := range most(made, stated.more) {
			leave += n
		}
		if missing := r.found.made - r.found.recorded; missing > leave {
			r.fail(kindSilent, "%d calls are missing, and the results speak for %d: %+v, made by others %v", missing, leave, stated, made)
		}
		return
	}
	profile, err := parquet.ReadProfileFile(filepath.Join(dir, rundir.ProfileFile))
	if err != nil {
		r.fail(kindStatement, "%v", err)
		return
	}
	recorded, all := make(map[int]int), 0
	for _, row := range profile.Rows {
		if row.Kind == parquet.ProfileMPI {
			recorded[int(row.Rank)] += int(row.Count)
			all += int(row.Count)
		}
	}
	if all != r.found.recorded {
		r.fail(kindStatement, "%d calls in the profile, %d in the manifest", all, r.found.recorded)
	}
	missing := make(map[int]int)
	for rank, n := range made {
		if recorded[rank] > n {
			r.fail(kindTwice, "%d calls of rank %d recorded, %d made", recorded[rank], rank, n)
		}
		if !stated.ranks[rank] {
			missing[rank] = n - recorded[rank]
		}
	}
	most(missing, stated.more)
	sum := 0
	for _, n := range missing {
		sum += n
	}
	if sum > leave {
		r.fail(kindSilent, "of ranks that should lack nothing %d calls are missing, with %d counted as lost: %v; the results say %+v", sum, counted(m), missing, stated)
	}
}

// most takes the n largest out.
func most(of map[int]int, n int) (largest []int) {
	ranks := slices.SortedFunc(maps.Keys(of), func(a, b int) int { return of[b] - of[a] })
	for _, rank := range ranks[:min(n, len(ranks))] {
		largest = append(largest, of[rank])
		delete(of, rank)
	}
	return largest
}

// madeByRank are the calls that each rank has made. One that has died before it knew its number has made no more than
// what may be uncertain.
func (r *soakRound) madeByRank() map[int]int {
	made := make(map[int]int)
	for _, path := range shared(r.t, r.truth) {
		if rank, known := rankOfCounts(r.t, path); known {
			_, made[rank] = madeBy(r.t, path)
		}
	}
	return made
}

// rankOfCounts is whose a file of counts is: a count of 0 is named after it.
func rankOfCounts(t *testing.T, path string) (rank int, known bool) {
	own, _ := madeBy(t, path)
	for name := range own {
		if n, _ := fmt.Sscanf(name, "rank %d", &rank); n == 1 {
			return rank, true
		}
	}
	return 0, false
}
