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
	"moriens/analysis/program"
	"moriens/analysis/workers"
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
	RunNS   int64   // the run time, without MPI_Init and MPI_Finalize, by which δ is divided
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
	Count        []int64 // of calls that each stands for; nil: one
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
	Sites   []Site   // by rank, thread, path
	threads []Thread // likewise
	from    []int    // by thread: the first of its sites; the last one is where they end
	workers int
}

// Count finds the sites of threads. workers below 1 means 1.
func Count(threads []Thread, workers int) *Local {
	l := &Local{threads: slices.Clone(threads), from: []int{0}, workers: workers}
	slices.SortFunc(l.threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	own := make([][]Site, len(l.threads))
	l.each(func(i int) { own[i] = l.threads[i].sites() })
	for _, sites := range own {
		l.Sites = append(l.Sites, sites...)
		l.from = append(l.from, len(l.Sites))
	}
	return l
}

// each does work for every thread.
func (l *Local) each(work func(i int)) {
	sizes := make([]int, len(l.threads))
	for i := range l.threads {
		sizes[i] = len(l.threads[i].Path)
	}
	workers.Every(sizes, l.workers, work)
}

// sites are those of a thread, by path.
func (t *Thread) sites() []Site {
	if len(t.Path) == 0 {
		return nil
	}
	all := make([]Site, slices.Max(t.Path)+1) // there are few paths: a map takes several times as long
	for k, path := range t.Path {
		s := &all[path]
		if s.Repetitions == 0 {
			*s = Site{Rank: t.Rank, Thread: t.Thread, Path: path, FirstNS: t.EnterNS[k]}
		}
		if t.Count != nil {
			s.Repetitions += t.Count[k]
		} else {
			s.Repetitions++
		}
		s.LastNS = t.EnterNS[k]
		if t.ExitNS != nil {
			s.MPINS += t.ExitNS[k] - t.EnterNS[k]
		}
	}
	return slices.DeleteFunc(all, func(s Site) bool { return s.Repetitions == 0 })
}

// Merge puts the sites of several members together. No thread is on two of them.
func Merge(members ...[]Site) []Site {
	all := slices.Concat(members...)
	slices.SortFunc(all, compareSites)
	return all
}

// LeftOut is the class of sites that explain too little.
const LeftOut = program.LeftOut

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
	against := make([][]bool, len(l.threads))
	l.each(func(i int) { against[i] = l.against(i, c, fits) })
	for _, pairs := range against {
		for k, objects := range pairs {
			fits[k] = fits[k] && !objects
		}
	}
	return fits
}

// A nesting is of one thread: in which trip of each loop it is, and whether the sites of the loops that may lie within
// were called in each trip so far.
type nesting struct {
	loops   int
	against []bool    // element inner · loops + outer
	outers  [][]int   // by loop: those that it may lie within
	loop    []int32   // by path: LeftOut
	site    []int32   // by path: its place among the thread's sites
	first   []bool    // by path: its calls begin the trips of its loop
	trip    []int32   // by loop, from 1; 0: the first one has not begun
	called  [][]int32 // by loop, of each site: the last trip in which it was called, in an unbroken row from 1 on
	before  [][]bool  // likewise: it was called before the first trip
}

// against says which pairs of loops a thread does not allow: in each trip of the outer one, whose trips are those of
// its first site, there must be a call of each site of the inner one. The last trip may be without, if the calls come
// at the end of trips.
func (l *Local) against(thread int, c *Classes, fits []bool) []bool {
	sites := l.Sites[l.from[thread]:l.from[thread+1]]
	if len(sites) == 0 {
		return nil // the thread knows nothing of it
	}
	n := l.nesting(sites, c, fits)
	for _, path := range l.threads[thread].Path {
		loop := n.loop[path]
		if loop == LeftOut {
			continue
		}
		if n.first[path] {
			n.trip[loop]++
		}
		n.call(int(loop), n.site[path])
	}
	for k := range sites {
		if loop := n.loop[sites[k].Path]; loop != LeftOut {
			n.end(int(loop), k)
		}
	}
	return n.against
}

// nesting is that of a thread before its first call.
func (l *Local) nesting(sites []Site, c *Classes, fits []bool) *nesting {
	paths, loops := sites[len(sites)-1].Path+1, len(c.Loops)
	n := &nesting{
		loops: loops, against: make([]bool, loops*loops), outers: make([][]int, loops), loop: make([]int32, paths), site: make([]int32, paths),
		first: make([]bool, paths), trip: make([]int32, loops), called: make([][]int32, loops), before: make([][]bool, loops),
	}
	for i := range n.loop {
		n.loop[i] = LeftOut
	}
	from, _ := slices.BinarySearchFunc(c.Sites, sites[0], compareSites)
	first := make([]int, loops) // by loop: the first site, plus 1
	for k := range sites {
		loop := c.Of[from+k]
		n.loop[sites[k].Path], n.site[sites[k].Path] = loop, int32(k)
		if loop == LeftOut {
			continue
		}
		if at := first[loop]; at == 0 || sites[k].FirstNS < sites[at-1].FirstNS {
			first[loop] = k + 1
		}
	}
	for inner, at := range first {
		if at == 0 {
			continue
		}
		n.first[sites[at-1].Path] = true
		for outer := inner + 1; outer < loops; outer++ {
			switch {
			case !fits[inner*loops+outer]:
			case first[outer] == 0:
				n.against[inner*loops+outer] = true
			default:
				n.outers[inner] = append(n.outers[inner], outer)
			}
		}
		for _, outer := range n.outers[inner] {
			if n.called[outer] == nil {
				n.called[outer], n.before[outer] = make([]int32, len(sites)), make([]bool, len(sites))
			}
		}
	}
	return n
}

// call notes a call of a site of a loop.
func (n *nesting) call(loop int, site int32) {
	for i := 0; i < len(n.outers[loop]); i++ {
		outer := n.outers[loop][i]
		last, trip := &n.called[outer][site], n.trip[outer]
		switch {
		case trip == 0:
			n.before[outer][site] = true
		case *last == trip:
		case *last == trip-1:
			*last = trip
		default: // a trip without
			n.object(loop, i)
			i--
		}
	}
}

// end looks at the last trips.
func (n *nesting) end(loop, site int) {
	for i := 0; i < len(n.outers[loop]); i++ {
		outer := n.outers[loop][i]
		if last, trip := n.called[outer][site], n.trip[outer]; last < trip-1 || last < trip && !n.before[outer][site] {
			n.object(loop, i)
			i--
		}
	}
}

// object takes one of the loops away that a loop may lie within.
func (n *nesting) object(loop, i int) {
	n.against[loop*n.loops+n.outers[loop][i]] = true
	n.outers[loop] = slices.Delete(n.outers[loop], i, i+1)
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
