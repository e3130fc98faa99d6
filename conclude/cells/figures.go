package cells

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/conclude/rebuild"
	"moriens/trace/rundir"
)

// figures are what manifest and clusters count. Bursts are counted by the micro-cells, which the clusters are made of;
// where they are not clustered, by the sums.
func (c *Collected) figures(r *rebuild.Rebuilt, rows []profile.Row) *rundir.Sums {
	s := &rundir.Sums{Calls: make([]int64, len(r.Run.CallPaths)), Bursts: make(map[int32]rundir.LabelSums)}
	add := func(label int32, bursts int, ns, longest int64) {
		x := s.Bursts[label]
		s.Bursts[label] = rundir.LabelSums{Bursts: x.Bursts + bursts, TimeNS: x.TimeNS + ns, LongestNS: max(x.LongestNS, longest)}
	}
	for i := range rows {
		switch row := &rows[i]; {
		case row.Kind == profile.MPI:
			s.Calls[row.Path] += row.Count
		case c.result == nil:
			add(row.Cluster, int(row.Count), row.Time.Total, row.Time.Max)
		default:
			add(row.Cluster, 0, 0, row.Time.Max)
		}
	}
	if c.result == nil {
		return s
	}
	if c.result.Labels == nil { // each burst has its own
		for i := range c.result.Clusters {
			x := &c.result.Clusters[i]
			add(x.ID, x.Bursts, x.TimeNS, 0)
		}
		add(grouping.LabelNoise, c.result.Noise.Bursts, c.result.Noise.TimeNS, 0)
		add(grouping.LabelFiltered, c.result.Filtered.Bursts-c.set.Short.Bursts, c.result.Filtered.TimeNS-c.set.Short.TimeNS, 0)
	}
	for i := range c.result.Labels {
		u := &c.result.Units[i]
		add(c.result.Labels[i], int(u.Cell.Count), int64(u.Duration.Total[0]), 0)
	}
	add(grouping.LabelMissing, c.set.Missing.Bursts, c.set.Missing.TimeNS, 0)
	add(grouping.LabelFiltered, c.set.Short.Bursts, c.set.Short.TimeNS, 0)
	maps.DeleteFunc(s.Bursts, func(_ int32, x rundir.LabelSums) bool { return x.Bursts == 0 })
	return s
}

// silentReason is of the class of threads whose sums did not arrive.
const silentReason = "%s is the first of %d without sums"

// threadClasses are the classes of the run's threads. Threads without data are one of their own.
func (c *Collected) threadClasses(r *rebuild.Rebuilt) *represent.Classes {
	if c.classes == nil {
		return nil
	}
	to := make([]int32, len(c.classes.of)) // threads of the run
	known := make([]bool, len(r.Run.Threads))
	for i, thread := range c.classes.of {
		at, _ := r.Thread(c.threads.Rings[thread])
		to[i] = int32(at)
		known[to[i]] = true
	}
	list := &represent.Classes{Of: make([]int32, len(r.Run.Threads)), Method: c.classes.Method}
	for i := range c.classes.Classes.Classes {
		x := c.classes.Classes.Classes[i]
		x.Threads, x.Exemplar = slices.Clone(x.Threads), int(to[x.Exemplar])
		for k, thread := range x.Threads {
			x.Threads[k] = to[thread]
			list.Of[to[thread]] = int32(i)
		}
		slices.Sort(x.Threads)
		list.Classes = append(list.Classes, x)
	}
	for _, o := range c.classes.Outliers {
		o.Thread = int(to[o.Thread])
		list.Outliers = append(list.Outliers, o)
	}
	var silent []int32
	for i, is := range known {
		if !is {
			silent = append(silent, int32(i))
			list.Of[i] = int32(len(list.Classes))
		}
	}
	if len(silent) > 0 {
		name := rundir.NameOf(&r.Run.Threads[silent[0]]).Short(len(r.Run.Worlds) > 1)
		list.Classes = append(list.Classes, represent.Class{
			Threads: silent, Exemplar: int(silent[0]), Reason: fmt.Sprintf(silentReason, name, len(silent)), Profile: "not known",
		})
	}
	return list
}

// rows are the sums as rows of a run's profile.
func (c *Collected) rows(r *rebuild.Rebuilt, phases *numberedPhases) (rows []profile.Row) {
	places := make([]int, len(r.Run.Counters)) // of the run's counters among those of the micro-cells
	for k, counter := range r.Run.Counters {
		places[k] = -1
		if c.set != nil {
			places[k] = slices.Index(c.set.Counters, counter.Name)
		}
	}
	for ring, s := range c.byRing {
		thread, there := r.Thread(c.Frozen.Ring(ring))
		if !there {
			continue
		}
		for _, row := range s.rows {
			row.Thread, row.Path, row.Region = int32(thread), c.Frozen.Path(row.Path), phases.path(ring, row.Region)
			its := row.Counters
			row.Counters = nil
			for _, place := range places {
				switch {
				case row.Kind == profile.MPI:
				case place < 0:
					row.Counters = append(row.Counters, profile.Counter{Missing: row.Count})
				default:
					row.Counters = append(row.Counters, its[place])
				}
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b profile.Row) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.OfKind, b.OfKind),
			cmp.Compare(a.Region, b.Region))
	})
	return mergeRows(rows)
}

// mergeRows makes one of rows that follow each other and have one key: call paths that are not known have one number.
func mergeRows(rows []profile.Row) []profile.Row {
	var out []profile.Row
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1].Key != r.Key {
			out = append(out, r)
			continue
		}
		to := &out[len(out)-1]
		to.Count += r.Count
		to.Time.Merge(r.Time)
		to.MovedNS, to.EstimatedNS = to.MovedNS+r.MovedNS, to.EstimatedNS+r.EstimatedNS
		for k := range to.Counters {
			to.Counters[k].Merge(r.Counters[k].Sum)
			to.Counters[k].MovedTotal += r.Counters[k].MovedTotal
			to.Counters[k].Missing += r.Counters[k].Missing
		}
	}
	return out
}
