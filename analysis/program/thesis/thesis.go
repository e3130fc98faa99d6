// Package thesis finds the loops of a program by the method of J. F. Martínez Vera, "Inferring programs structure from
// an execution trace" (master thesis, UPC, 2018), so that its results can be compared with those of analysis/program.
//
// In come the calls of each thread: call path and time in nanoseconds. Out come classes of sites, which the method
// takes for loops, pseudocode as nodes of analysis/program, and the points of its plot. A site is a full call path on
// one thread. The steps:
//
//  1. Count: how often each site is reached, and the mean time between two times.
//  2. Merge: sites of all members of a team.
//  3. Classify: δ = repetitions · mean time between them / run time; sites below Options.Delta are left out. DBSCAN
//     with Eps 0.2 and MinPts 1 on repetitions and mean time, each scaled to its range: a cluster is a loop.
//  4. Nested: which loop lies within which, by the times of the calls. Each member looks at its own threads.
//  5. Solve: from many repetitions to few, a loop goes into the first one that it lies within; ranks are merged, with
//     conditions where they differ; what call paths have in common is taken out of the loops.
//
// Where the published text leaves something open: classes of δ are separated by gaps of more than 0.1; in each trip of
// the outer loop there must be a call of each site of the inner one, on every thread that has the inner one; the order
// of sites is that of their first calls on each rank, and by line where no rank has both.
//
// The method joins loops whose repetitions and times are near each other in the scale of the whole run, and it splits
// one whose calls do not happen in each trip. That is kept as published: analysis/program does better. The input is
// never changed, and the same calls give the same result in whatever order threads and members come.
package thesis

import (
	"cmp"
	"slices"

	"moriens/analysis/dbscan"
)

// What Options take if nothing else is said: the values of the thesis.
const (
	DefaultDelta = 0.1
	DefaultEps   = 0.2
)

// deltaGap separates classes of δ.
const deltaGap = 0.1

// Options of Classify.
type Options struct {
	RunNS   int64   // the run time, by which δ is divided
	Delta   float64 // sites with a lower δ are left out
	Eps     float64 // of DBSCAN, in the scaled space
	Threads int     // on which DBSCAN may run
}

// A Thread is the calls of one, in the order of time.
type Thread struct {
	Rank, Thread int32
	Path         []uint32 // number of the call path
	EnterNS      []int64
	ExitNS       []int64 // nil = not known
}

// A Site is a call path on one thread.
type Site struct {
	Rank, Thread int32
	Path         uint32
	Repetitions  int64
	FirstNS      int64 // entry of the first call
	LastNS       int64
	MPINS        int64 // in all of its calls
}

// MeanNS is the mean time between two repetitions, 0 of a site that is reached once.
func (s *Site) MeanNS() float64 {
	if s.Repetitions < 2 {
		return 0
	}
	return float64(s.LastNS-s.FirstNS) / float64(s.Repetitions-1)
}

// Delta is the part of the run that the site explains: about 1 of a loop that lasts for all of it.
func (s *Site) Delta(runNS int64) float64 {
	if runNS <= 0 {
		return 0
	}
	return float64(s.Repetitions) * s.MeanNS() / float64(runNS)
}

func compareSites(a, b Site) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Path, b.Path))
}

// Local is what one member has counted.
type Local struct {
	Sites  []Site    // by rank, thread, path
	begins [][]int64 // by site: entries of its calls
}

// Count finds the sites of threads.
func Count(threads []Thread) *Local {
	type counted struct {
		site   Site
		begins []int64
	}
	var all []counted
	for i := range threads {
		t := &threads[i]
		calls := make(map[uint32]int)
		for _, path := range t.Path {
			calls[path]++
		}
		room := make([]int64, len(t.Path))
		at := make(map[uint32]int, len(calls))
		for k, path := range t.Path {
			j, seen := at[path]
			if !seen {
				j = len(all)
				at[path] = j
				all = append(all, counted{Site{Rank: t.Rank, Thread: t.Thread, Path: path, FirstNS: t.EnterNS[k]}, room[:0:calls[path]]})
				room = room[calls[path]:]
			}
			c := &all[j]
			c.begins = append(c.begins, t.EnterNS[k])
			c.site.Repetitions++
			c.site.LastNS = t.EnterNS[k]
			if t.ExitNS != nil {
				c.site.MPINS += t.ExitNS[k] - t.EnterNS[k]
			}
		}
	}
	slices.SortFunc(all, func(a, b counted) int { return compareSites(a.site, b.site) })
	l := &Local{Sites: make([]Site, len(all)), begins: make([][]int64, len(all))}
	for i := range all {
		l.Sites[i], l.begins[i] = all[i].site, all[i].begins
	}
	return l
}

// Merge puts the sites of several members together. No thread is on two of them.
func Merge(members ...[]Site) []Site {
	all := slices.Concat(members...)
	slices.SortFunc(all, compareSites)
	return all
}

// LeftOut is the class of sites that explain too little.
const LeftOut int32 = -1

// Classes are the loops that DBSCAN has found.
type Classes struct {
	Sites   []Site  // of all members, by rank, thread, path
	Of      []int32 // by site; LeftOut
	Loops   []Loop  // by repetitions, descending
	Options Options
}

// A Loop is a class of sites.
type Loop struct {
	Repetitions float64 // mean of the sites, and so on
	MeanNS      float64
	Delta       float64
	Phase       int // class of δ
	Sites       int
}

// Classify finds the loops among the sites of all members, which Merge has put together.
func Classify(sites []Site, o Options) (*Classes, error) {
	c := &Classes{Sites: sites, Of: make([]int32, len(sites)), Options: o}
	var kept []int
	for i := range sites {
		c.Of[i] = LeftOut
		if d := sites[i].Delta(o.RunNS); d > 0 && d >= o.Delta {
			kept = append(kept, i)
		}
	}
	coords := make([]float64, 2*len(kept))
	for k, i := range kept {
		coords[2*k], coords[2*k+1] = float64(sites[i].Repetitions), sites[i].MeanNS()
	}
	scale(coords, 2)
	found, err := dbscan.Cluster(dbscan.Points{Dims: 2, Coords: coords}, o.Eps, 1, o.Threads)
	if err != nil {
		return nil, err
	}
	loops := make([]Loop, found.Clusters)
	for k, i := range kept {
		l := &loops[found.Labels[k]]
		l.Sites++
		l.Repetitions += float64(sites[i].Repetitions)
		l.MeanNS += sites[i].MeanNS()
		l.Delta += sites[i].Delta(o.RunNS)
	}
	order := make([]int32, len(loops))
	for i := range loops {
		l, n := &loops[i], float64(loops[i].Sites)
		l.Repetitions, l.MeanNS, l.Delta = l.Repetitions/n, l.MeanNS/n, l.Delta/n
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(loops[b].Repetitions, loops[a].Repetitions), cmp.Compare(loops[a].MeanNS, loops[b].MeanNS))
	})
	number := make([]int32, len(loops))
	for i, old := range order {
		number[old] = int32(i)
		c.Loops = append(c.Loops, loops[old])
	}
	for k, i := range kept {
		c.Of[i] = number[found.Labels[k]]
	}
	return c, c.phases()
}

// phases puts loops that explain about as much of the run into one class. They are neighbours on a line.
func (c *Classes) phases() error {
	deltas := make([]float64, len(c.Loops))
	for i := range c.Loops {
		deltas[i] = c.Loops[i].Delta
	}
	found, err := dbscan.Cluster(dbscan.Points{Dims: 1, Coords: deltas}, deltaGap, 1, 1)
	if err != nil {
		return err
	}
	for i := range c.Loops {
		c.Loops[i].Phase = int(found.Labels[i])
	}
	return nil
}

// scale maps each dimension to 0–1. What is the same everywhere becomes 0.
func scale(coords []float64, dims int) {
	for d := range dims {
		least, most := 0.0, 0.0
		for i := d; i < len(coords); i += dims {
			if i == d {
				least, most = coords[i], coords[i]
			}
			least, most = min(least, coords[i]), max(most, coords[i])
		}
		for i := d; i < len(coords); i += dims {
			if most > least {
				coords[i] = (coords[i] - least) / (most - least)
			} else {
				coords[i] = 0
			}
		}
	}
}

// Nested says for each pair of loops of one class of δ, the one with more repetitions first, whether the threads of
// this member allow that it lies within the other: element inner · loops + outer. All takes members together.
func (l *Local) Nested(c *Classes) []bool {
	n := len(c.Loops)
	fits := make([]bool, n*n)
	for inner := range n {
		for outer := inner + 1; outer < n; outer++ {
			fits[inner*n+outer] = c.Loops[inner].Phase == c.Loops[outer].Phase && c.Loops[inner].Repetitions > c.Loops[outer].Repetitions
		}
	}
	var of [][]int // by loop: the thread's sites
	for i := 0; i < len(l.Sites); {
		end := i
		for end < len(l.Sites) && l.Sites[end].Rank == l.Sites[i].Rank && l.Sites[end].Thread == l.Sites[i].Thread {
			end++
		}
		of = make([][]int, n)
		for k := i; k < end; k++ {
			if at, known := slices.BinarySearchFunc(c.Sites, l.Sites[k], compareSites); known && c.Of[at] != LeftOut {
				of[c.Of[at]] = append(of[c.Of[at]], k)
			}
		}
		for inner := range n {
			for outer := inner + 1; outer < n; outer++ {
				if f := &fits[inner*n+outer]; *f {
					*f = l.within(of[inner], of[outer])
				}
			}
		}
		i = end
	}
	return fits
}

// within says whether in each trip of the outer loop, whose trips are those of its first site, there is a call of each
// site of the inner one.
func (l *Local) within(inner, outer []int) bool {
	if len(inner) == 0 {
		return true // the thread knows nothing of it
	}
	if len(outer) == 0 {
		return false
	}
	first := slices.MinFunc(outer, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.Sites[a].FirstNS, l.Sites[b].FirstNS), cmp.Compare(a, b))
	})
	trips := l.begins[first]
	for _, site := range inner {
		calls, k := l.begins[site], 0
		before := calls[0] < trips[0]
		for t, begin := range trips {
			for k < len(calls) && calls[k] < begin {
				k++
			}
			last := t+1 == len(trips)
			switch {
			case k == len(calls) && (!last || !before):
				return false
			case !last && calls[k] >= trips[t+1]:
				return false
			}
		}
	}
	return true
}

// All takes what members say of nesting together: a loop lies within another one where none objects.
func All(members ...[]bool) []bool {
	if len(members) == 0 {
		return nil
	}
	all := slices.Clone(members[0])
	for _, m := range members[1:] {
		for i := range all {
			all[i] = all[i] && m[i]
		}
	}
	return all
}
