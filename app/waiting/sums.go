package waiting

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// sums gathers what rows of waits.parquet say of each thread, and the causes.
type sums struct {
	threads map[rundir.ThreadName]*threadSums
	rows    []parquet.WaitsRow // of causes
}

// addCauses gathers causes alone.
func (s *sums) addCauses(rows []parquet.WaitsRow) {
	for i := range rows {
		if rows[i].Kind == parquet.WaitsCause {
			s.rows = append(s.rows, rows[i])
		}
	}
}

// threadSums are nanoseconds.
type threadSums struct{ waiting, caused, direct, path int64 }

func nameOf(r *parquet.WaitsRow) rundir.ThreadName {
	return rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}
}

// addThreads gathers what there is of threads alone.
func (s *sums) addThreads(rows []parquet.WaitsRow) {
	for i := range rows {
		r := &rows[i]
		if r.Kind == parquet.WaitsLink {
			continue // its waits are in rows of waits too
		}
		t := s.threads[nameOf(r)]
		if t == nil {
			if s.threads == nil {
				s.threads = make(map[rundir.ThreadName]*threadSums)
			}
			t = new(threadSums)
			s.threads[nameOf(r)] = t
		}
		t.waiting += r.WaitNS
		t.caused += r.ChargedNS
		t.direct += r.DirectNS
		t.path += r.PathNS
	}
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

// causes are all causes, the largest first; whole is the seconds of all waits.
func (s *sums) causes(whole float64) []rundir.WaitsCause {
	slices.SortStableFunc(s.rows, func(a, b parquet.WaitsRow) int {
		return cmp.Or(cmp.Compare(b.ChargedNS, a.ChargedNS), compareNames(nameOf(&a), nameOf(&b)), strings.Compare(a.CallPath, b.CallPath))
	})
	list := make([]rundir.WaitsCause, 0, len(s.rows))
	for i := range s.rows {
		r := &s.rows[i]
		c := rundir.WaitsCause{
			ThreadName: nameOf(r), What: r.What, CallPath: r.CallPath, Seconds: seconds(r.ChargedNS), Direct: seconds(r.DirectNS), Waits: r.Count,
			Share: rundir.Number(min(1, float64(r.ChargedNS)/1e9/whole)), More: rundir.Number(math.NaN()),
		}
		if r.What == parquet.WaitsComputing && r.Cluster > 0 {
			c.Cluster = &r.Cluster
		}
		if r.Count > 0 {
			c.More = seconds(r.MoreNS) / rundir.Number(r.Count)
		}
		list = append(list, c)
	}
	return list
}
