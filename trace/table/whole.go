package table

import (
	"math"
	"slices"

	"moriens/trace"
)

// rank is what all threads of a rank come to.
type rank struct {
	threads, calls, bursts int
	node                   int
	beginNS, endNS         int64
	computingNS            int64
}

func ranks(run *trace.Run) Table {
	columns := []Column{
		{Name: "world", Few: true}, {Name: "rank"}, maybe(name("node")), name("executable"), name("mpi_library"), {Name: "threads", Few: true},
		maybe(time("begin_ns")), maybe(time("end_ns")), {Name: "calls"}, {Name: "bursts"}, time("computing_ns"),
	}
	return Table{"ranks", columns, func(s Sink) error {
		list := make([][]rank, len(run.Worlds))
		for i, w := range run.Worlds {
			list[i] = make([]rank, w.Size)
		}
		for i := range run.Threads {
			t := &run.Threads[i]
			if t.World < len(list) && t.Rank < len(list[t.World]) {
				list[t.World][t.Rank].add(t)
			}
		}
		for w, world := range run.Worlds {
			for r := range list[w] {
				list[w][r].put(s, run, &world, w, r)
				if err := s.End(); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

func (r *rank) add(t *trace.Thread) {
	if r.threads == 0 {
		r.beginNS, r.endNS, r.node = t.BeginNS, t.EndNS, t.Node
	}
	r.threads++
	r.beginNS, r.endNS = min(r.beginNS, t.BeginNS), max(r.endNS, t.EndNS)
	for k := range t.Calls.EnterNS {
		if t.Calls.Count == nil {
			r.calls++
		} else {
			r.calls += int(t.Calls.Count[k])
		}
	}
	r.bursts += t.Bursts.Len()
	for _, d := range t.Bursts.DurationNS {
		r.computingNS += d
	}
}

func (r *rank) put(s Sink, run *trace.Run, world *trace.World, w, number int) {
	s.Int(int64(w))
	s.Int(int64(number))
	if r.threads > 0 && r.node < len(run.Nodes) {
		s.Text(run.NodeName(r.node))
	} else {
		s.Null()
	}
	s.Text(world.Executable)
	s.Text(world.MPILibrary)
	s.Int(int64(r.threads))
	if r.threads > 0 {
		s.Int(r.beginNS)
		s.Int(r.endNS)
	} else {
		s.Null()
		s.Null()
	}
	s.Int(int64(r.calls))
	s.Int(int64(r.bursts))
	s.Int(r.computingNS)
}

func clusters(run *trace.Run) Table {
	number := func(name string) Column { return Column{Name: name, Kind: Float, Optional: true} }
	columns := []Column{
		{Name: "cluster"}, {Name: "bursts"}, time("time_ns"), number("share"), number("mean_ns"), number("std_ns"), number("eps"), {Name: "min_pts"},
		{Name: "rare", Kind: Bool}, number("score"), {Name: "kind"}, number("median_ns"), number("core"), number("predicted"), maybe(name("call_path_before")), maybe(name("call_path_after")),
	}
	columns = append(columns, maybe(Column{Name: "path_before", Few: true}), maybe(Column{Name: "path_after", Few: true}))
	columns = append(columns, maybe(time("lost_ns")), maybe(time("caused_ns")), maybe(time("path_ns")), maybe(time("path_imbalance_ns")))
	for _, c := range run.Counters {
		unit := ""
		if c.Unit != "" {
			unit = " [" + c.Unit + "]"
		}
		columns = append(columns, number("mean "+c.Name+unit), number("std "+c.Name+unit))
	}
	return Table{"clusters", columns, func(s Sink) error {
		names := run.Names()
		first := func(paths []trace.PathCount) {
			if len(paths) == 0 {
				s.Null()
			} else {
				s.Text(names[paths[0].Path])
			}
		}
		for i := range run.Clusters {
			c := &run.Clusters[i]
			s.Int(int64(c.ID))
			s.Int(int64(c.Bursts))
			s.Int(c.TimeNS)
			for _, v := range [...]float64{c.Share, c.MeanNS, c.StdNS, c.Eps} {
				putFloat(s, v)
			}
			s.Int(int64(c.MinPts))
			s.Bool(c.Rare)
			if c.Score == 0 {
				s.Null()
			} else {
				putFloat(s, c.Score)
			}
			s.Int(int64(c.Kind()))
			for _, v := range [...]float64{c.MedianNS, c.Core, c.Predicted} {
				if c.Known() && v >= 0 {
					putFloat(s, v)
				} else {
					s.Null()
				}
			}
			first(c.Before)
			first(c.After)
			putFirst(s, c.Before)
			putFirst(s, c.After)
			putCosts(s, c.Costs)
			for k := range run.Counters {
				if k < len(c.CounterMean) && k < len(c.CounterStd) {
					putFloat(s, c.CounterMean[k])
					putFloat(s, c.CounterStd[k])
				} else {
					s.Null()
					s.Null()
				}
			}
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	}}
}

func communicators(run *trace.Run) Table {
	columns := []Column{{Name: "world", Few: true}, {Name: "communicator"}, name("kind"), name("ranks")}
	return Table{"communicators", columns, func(s Sink) error {
		for _, c := range run.Communicators {
			s.Int(int64(c.World))
			s.Int(c.ID)
			s.Text(c.Kind())
			s.Text(c.RankList())
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	}}
}

func windows(run *trace.Run) Table {
	columns := slices.Concat([]Column{{Name: "window"}, name("why"), name("reason"), maybe(Column{Name: "phase"})}, place, []Column{time("begin_ns"), time("end_ns")})
	return Table{"windows", columns, func(s Sink) error {
		for w := range run.Windows {
			x := &run.Windows[w]
			for _, i := range x.Threads {
				for _, span := range run.Threads[i].Kept {
					if span.Window != w {
						continue
					}
					s.Int(int64(w))
					s.Text(x.Why.String())
					s.Text(x.Reason)
					putKnown(s, int64(x.Phase))
					putPlace(s, &run.Threads[i])
					s.Int(span.BeginNS)
					s.Int(span.EndNS)
					if err := s.End(); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}}
}

func putCosts(s Sink, c *trace.Costs) {
	if c == nil {
		c = &trace.Costs{LostNS: math.NaN(), CausedNS: math.NaN(), PathNS: math.NaN(), PathImbalanceNS: math.NaN()}
	}
	for _, ns := range [...]float64{c.LostNS, c.CausedNS, c.PathNS, c.PathImbalanceNS} {
		if math.IsNaN(ns) {
			s.Null()
		} else {
			s.Int(int64(math.Round(ns)))
		}
	}
}

// putFirst writes the number of the most frequent call path.
func putFirst(s Sink, paths []trace.PathCount) {
	if len(paths) == 0 {
		s.Null()
	} else {
		s.Int(int64(paths[0].Path))
	}
}
