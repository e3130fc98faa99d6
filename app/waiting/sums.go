package waiting

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// sums gathers what rows of waits.parquet say of each thread, and the causes, of a part of the run.
type sums struct {
	main    bool
	kinds   map[int32]int32 // by cluster: the one that stands for its kind
	threads map[rundir.ThreadName]*threadSums
	causes  map[doing]*causeSums
}

// A doing is what a thread does, by kind of computation and call path.
type doing struct {
	thread     rundir.ThreadName
	what, path string
	kind       int32 // 0: of no cluster
}

// causeSums are what is charged to it, and for which clusters of its kind.
type causeSums struct {
	chargedNS, directNS, moreNS, waits int64
	clusters                           map[int32]bool
}

// threadSums are nanoseconds.
type threadSums struct{ waiting, caused, direct, path int64 }

func nameOf(r *parquet.WaitsRow) rundir.ThreadName {
	return rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}
}

// within are the times of a row in the part of the run.
func (s *sums) within(r *parquet.WaitsRow) threadSums {
	if s.main {
		return threadSums{r.MainWaitNS, r.MainChargedNS, r.MainDirectNS, r.MainPathNS}
	}
	return threadSums{r.WaitNS, r.ChargedNS, r.DirectNS, r.PathNS}
}

// addCauses gathers causes alone.
func (s *sums) addCauses(rows []parquet.WaitsRow) error {
	for i := range rows {
		r := &rows[i]
		ns := s.within(r)
		if r.Kind != parquet.WaitsCause || s.main && ns.caused == 0 {
			continue
		}
		x := doing{thread: nameOf(r), what: r.What, path: r.CallPath}
		if r.What == parquet.WaitsComputing && r.Cluster > 0 {
			x.kind = cmp.Or(s.kinds[r.Cluster], r.Cluster)
		}
		c := s.causes[x]
		if c == nil {
			c = &causeSums{clusters: make(map[int32]bool)}
			s.causes[x] = c
		}
		c.chargedNS += ns.caused
		c.directNS += ns.direct
		if ns.direct > 0 || !s.main {
			c.waits += r.Count
			c.moreNS += r.MoreNS
		}
		if x.kind > 0 {
			c.clusters[r.Cluster] = true
		}
	}
	return nil
}

// thread is what there is of a thread.
func (s *sums) thread(name rundir.ThreadName) *threadSums {
	t := s.threads[name]
	if t == nil {
		t = new(threadSums)
		s.threads[name] = t
	}
	return t
}

// addThreads gathers what there is of threads alone.
func (s *sums) addThreads(rows []parquet.WaitsRow) error {
	for i := range rows {
		r := &rows[i]
		if r.Kind == parquet.WaitsLink {
			continue // its waits are in rows of waits too
		}
		t, ns := s.thread(nameOf(r)), s.within(r)
		t.waiting += ns.waiting
		t.caused += ns.caused
		t.direct += ns.direct
		t.path += ns.path
	}
	return nil
}

func seconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

func compareNames(a, b rundir.ThreadName) int {
	return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
}

// ranks are all threads, by what they cause and wait, descending.
func (s *sums) ranks() []rundir.WaitsRank {
	list := make([]rundir.WaitsRank, 0, len(s.threads))
	for name, t := range s.threads {
		list = append(list, rundir.WaitsRank{ThreadName: name, Waiting: seconds(t.waiting), Caused: seconds(t.caused), Direct: seconds(t.direct), Path: seconds(t.path)})
	}
	slices.SortFunc(list, func(a, b rundir.WaitsRank) int {
		x, y := s.threads[a.ThreadName], s.threads[b.ThreadName]
		return cmp.Or(cmp.Compare(y.caused+y.waiting, x.caused+x.waiting), compareNames(a.ThreadName, b.ThreadName))
	})
	return list
}

// list are all causes, the largest first; whole is the seconds of all waits.
func (s *sums) list(whole float64) []rundir.WaitsCause {
	order := slices.SortedFunc(maps.Keys(s.causes), func(a, b doing) int {
		return cmp.Or(cmp.Compare(s.causes[b].chargedNS, s.causes[a].chargedNS), compareNames(a.thread, b.thread), strings.Compare(a.path, b.path), strings.Compare(a.what, b.what), cmp.Compare(a.kind, b.kind))
	})
	list := make([]rundir.WaitsCause, 0, len(order))
	for _, x := range order {
		sum := s.causes[x]
		c := rundir.WaitsCause{
			ThreadName: x.thread, What: x.what, CallPath: x.path, Seconds: seconds(sum.chargedNS), Direct: seconds(sum.directNS), Waits: sum.waits,
			Share: rundir.WaitsShare(min(1, float64(sum.chargedNS)/1e9/whole)), More: rundir.Number(math.NaN()),
		}
		if x.kind > 0 {
			c.Cluster, c.Variants = &x.kind, rundir.VariantsOf(x.kind, sum.clusters)
		}
		if sum.waits > 0 {
			c.More = seconds(sum.moreNS / sum.waits)
		}
		list = append(list, c)
	}
	return list
}
