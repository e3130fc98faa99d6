package kinds

import (
	"moriens/analysis/workers"
	"moriens/internal/team"
)

const (
	// episodeShare is a share of the bursts of a kind: those before which, since the kind's last burst, one of the other
	// kind occurs. Up to it, for both of two kinds, each is found in long runs.
	episodeShare = .2
	// episodeLeaves is how many leaves of a stratum are looked at, those with most bursts.
	episodeLeaves = 24
	// ownThreads is the share of the bursts of the smaller of two kinds, up to which threads have of both.
	ownThreads = .1
)

// Episodes say how often leaves of one stratum take turns on their threads.
type episodes struct {
	place []int32 // per leaf: among those of its stratum that are looked at; None = it is not
	begin []int32 // per leaf: where its row begins
	since []int64 // per row and leaf: bursts of the row's leaf with one of the other since the last of its own; for the leaf itself: all with a burst before
	both  []int64 // per row and leaf: of the threads, the lesser number of bursts of the two
	group []int32 // per code: what stands for it where only the calls round a burst count
}

// episodes counts them, of all members.
func (p *Proposal) episodes(c *executor, leaves []Leaf) *episodes {
	l := p.local
	e := &episodes{place: make([]int32, len(leaves)), begin: make([]int32, len(leaves))}
	members := make([][]int32, p.strata)
	for i := range leaves {
		s := leaves[i].Stratum
		members[s] = append(members[s], int32(i))
	}
	row := int32(0)
	for i := range e.place {
		e.place[i] = None
	}
	for s, list := range members {
		list = mostBursts(list, leaves, episodeLeaves)
		members[s] = list
		for k, leaf := range list {
			e.place[leaf], e.begin[leaf] = int32(k), row
			row += int32(len(list))
		}
	}
	parts := make([][]int64, max(1, c.workers)) // since, and then both
	workers.Chunks(len(l.Ends), c.workers, func(w, from, to int) {
		sums, last, bursts := make([]int64, 2*row), make([]int, len(leaves)), make([]int64, len(leaves))
		since, both := sums[:row], sums[row:]
		for t := from; t < to; t++ {
			for i := range last {
				last[i], bursts[i] = -1, 0
			}
			for i := l.first(t); i < l.Ends[t]; i++ {
				x := l.label[i] - 1
				if x < 0 || int(x) >= len(leaves) || x == codeMost-1 || e.place[x] == None {
					continue
				}
				if last[x] >= 0 {
					for k, y := range members[leaves[x].Stratum] {
						if last[y] >= last[x] {
							since[e.begin[x]+int32(k)]++
						}
					}
				}
				last[x] = i
				bursts[x]++
			}
			for x, n := range bursts {
				if n > 0 && e.place[x] != None {
					for k, y := range members[leaves[x].Stratum] {
						both[e.begin[x]+int32(k)] += min(n, bursts[y])
					}
				}
			}
		}
		parts[w] = sums
	})
	sums := make([]int64, 2*row)
	for _, part := range parts {
		for k, n := range part {
			sums[k] += n
		}
	}
	c.Reduce(team.Sum, sums)
	e.since, e.both = sums[:row], sums[row:]
	e.group = make([]int32, min(len(leaves)+l.Groups+1, codeMost+1))
	for code := range e.group {
		e.group[code] = int32(code)
	}
	groupOf := make([]int32, p.strata)
	for _, b := range p.Basins {
		groupOf[b.Stratum] = b.Group
	}
	for i := range leaves {
		if code := l.codes.leaf(int32(i)); code < codeMost {
			e.group[code] = l.codes.noise(groupOf[leaves[i].Stratum])
		}
	}
	return e
}

// mostBursts are so many of some leaves with most bursts; the others have no place.
func mostBursts(list []int32, leaves []Leaf, most int) []int32 {
	for len(list) > most {
		least := 0
		for k, leaf := range list {
			if leaves[leaf].Bursts < leaves[list[least]].Bursts {
				least = k
			}
		}
		list = append(list[:least:least], list[least+1:]...)
	}
	return list
}

// inRuns reports whether two kinds, which are of leaves each, come in long runs: as a core has that is slow for a
// while.
func (e *episodes) inRuns(a, b []int32) bool {
	follows := func(of, other []int32) bool {
		all, since := int64(0), int64(0)
		for _, x := range of {
			if e.place[x] == None {
				return false
			}
			row := e.since[e.begin[x]:]
			all += row[e.place[x]]
			for _, y := range other {
				if e.place[y] == None {
					return false
				}
				since += row[e.place[y]]
			}
		}
		return float64(since) <= episodeShare*float64(all)
	}
	return follows(a, b) && follows(b, a)
}

// onOwnThreads reports whether hardly any thread has of both of two kinds, which are of leaves each.
func (e *episodes) onOwnThreads(a, b []int32) bool {
	bursts, both := [2]int64{}, int64(0)
	for k, of := range [2][]int32{a, b} {
		for _, x := range of {
			if e.place[x] == None {
				return false
			}
			bursts[k] += e.both[e.begin[x]+e.place[x]]
		}
	}
	for _, x := range a {
		for _, y := range b {
			both += e.both[e.begin[x]+e.place[y]]
		}
	}
	return float64(both) <= ownThreads*float64(min(bursts[0], bursts[1]))
}

// byCalls is how far two codes are foretold by the calls that others are between, and by nothing of what these are.
func (e *episodes) byCalls(g *grams, a, b int32) float64 {
	best := g[itsCall].foretold(a, b)
	for _, way := range []int{twoBefore, twoAfter, oneEach} {
		k := newCounter(1)
		for _, x := range []int32{a, b} {
			for i, end := g[way].of(x); i < end; i++ {
				key := g[way].Keys[i]
				k.add(g[way].Counts[i], int64(x)<<contextBits|int64(e.group[key>>codeBits&codeMost])<<codeBits|int64(e.group[key&codeMost]))
			}
		}
		t := k.table()
		best = max(best, t.foretold(a, b))
	}
	return best
}
