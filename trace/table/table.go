// Package table presents a trace.Run as tables, one kind of object per table, for the formats that are tables:
// trace/csv and trace/parquet write them. Times are nanoseconds since the run's time 0, ranks those of MPI_COMM_WORLD;
// docs/format/tables.md lists the columns.
//
// Rows are produced one after the other as a writer takes them: a table's memory does not grow with its rows.
package table

import (
	"fmt"
	"slices"

	"moriens/trace"
)

// A Kind is the type of a column's values.
type Kind uint8

// The kinds of columns.
const (
	Int Kind = iota
	Float
	Text
	Bool
)

// A Column is one column of a table.
type Column struct {
	Name     string // ends in its unit where it has one
	Kind     Kind
	Optional bool // a value may be missing
	Few      bool // few different values come again and again
}

// A Sink takes a table row by row: for each row one value a column, in their order, then End. A missing value is Null.
type Sink interface {
	Int(int64)
	Float(float64)
	Text(string)
	Bool(bool)
	Null()
	End() error
}

// A Table is one table of a run.
type Table struct {
	Name    string // "calls"
	Columns []Column
	Rows    func(Sink) error // hands out all rows; an error is the sink's, or says what is wrong with the run
}

// All returns the tables of a run. A run may have no rows for some of them.
func All(run *trace.Run) []Table {
	return []Table{
		bursts(run), calls(run), messages(run), ranks(run), clusters(run), communicators(run), windows(run), phases(run), events(run), pauses(run),
		path(run),
	}
}

var (
	place = []Column{{Name: "world", Few: true}, {Name: "rank", Few: true}, {Name: "thread", Few: true}}
	time  = func(name string) Column { return Column{Name: name} }
	name  = func(name string) Column { return Column{Name: name, Kind: Text, Few: true} }
	maybe = func(c Column) Column { c.Optional = true; return c }
)

func putPlace(s Sink, t *trace.Thread) {
	s.Int(int64(t.World))
	s.Int(int64(t.Rank))
	s.Int(int64(t.Thread))
}

// putKnown writes a number, or none where it is below 0.
func putKnown(s Sink, v int64) {
	if v < 0 {
		s.Null()
	} else {
		s.Int(v)
	}
}

// putFloat writes a number, or none where it is not one.
func putFloat(s Sink, v float64) {
	if v != v {
		s.Null()
	} else {
		s.Float(v)
	}
}

func bursts(run *trace.Run) Table {
	columns := append(slices.Clone(place), time("start_ns"), time("duration_ns"), Column{Name: "cluster", Few: true},
		Column{Name: "kind", Few: true}, Column{Name: "weight", Kind: Float, Few: true}, name("call_path_before"), name("call_path_after"), maybe(name("phase")), maybe(name("nodes")),
		Column{Name: "path_before", Few: true}, Column{Name: "path_after", Few: true})
	leading := slices.Clone(columns)
	for _, c := range run.Counters {
		title := c.Name
		for slices.ContainsFunc(leading, func(l Column) bool { return l.Name == title }) {
			title = "counter." + title
		}
		if c.Unit != "" {
			title += " [" + c.Unit + "]"
		}
		columns = append(columns, Column{Name: title, Optional: true})
	}
	return Table{"bursts", columns, func(s Sink) error {
		names := run.Names()
		for i := range run.Threads {
			if err := putBursts(s, run, &run.Threads[i], names); err != nil {
				return err
			}
		}
		return nil
	}}
}

func putBursts(s Sink, run *trace.Run, t *trace.Thread, names []string) error {
	b := &t.Bursts
	kinds := b.Kinds()
	for k := range b.StartNS {
		putPlace(s, t)
		s.Int(b.StartNS[k])
		s.Int(b.DurationNS[k])
		s.Int(int64(b.Cluster[k]))
		s.Int(int64(kinds[k]))
		if b.Weight == nil {
			s.Float(1)
		} else {
			s.Float(b.Weight[k])
		}
		s.Text(names[b.Before[k]])
		s.Text(names[b.After[k]])
		if b.Phase == nil || b.Phase[k] < 0 {
			s.Null()
		} else {
			s.Text(run.MarkNames[t.Phases[b.Phase[k]].Name])
		}
		if b.Lineage == nil || b.Lineage[k] == 0 {
			s.Null()
		} else {
			s.Text(run.Lineages[b.Lineage[k]])
		}
		s.Int(int64(b.Before[k]))
		s.Int(int64(b.After[k]))
		for c := range b.Counters {
			if v := b.Counters[c][k]; v == trace.NoCount {
				s.Null()
			} else {
				s.Int(v)
			}
		}
		if err := s.End(); err != nil {
			return err
		}
	}
	return nil
}

func messages(run *trace.Run) Table {
	few := func(name string) Column { return Column{Name: name, Few: true} }
	columns := []Column{
		few("from_world"), few("from_rank"), few("from_thread"), few("to_world"), few("to_rank"), few("to_thread"),
		time("send_ns"), time("physical_send_ns"), time("receive_ns"), time("physical_receive_ns"), {Name: "bytes"}, few("tag"), time("late_ns"),
	}
	return Table{"messages", columns, func(s Sink) error {
		for i := range run.Messages {
			m := &run.Messages[i]
			if max(m.From, m.To) >= len(run.Threads) || min(m.From, m.To) < 0 {
				return fmt.Errorf("message %d: no such thread", i)
			}
			putPlace(s, &run.Threads[m.From])
			putPlace(s, &run.Threads[m.To])
			for _, v := range [...]int64{m.SendNS, m.PhysicalSendNS, m.RecvNS, m.PhysicalRecvNS, m.Bytes, m.Tag, m.LateNS} {
				s.Int(v)
			}
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	}}
}

func phases(run *trace.Run) Table {
	columns := append(slices.Clone(place), name("name"), Column{Name: "depth", Few: true}, time("begin_ns"), time("duration_ns"), Column{Name: "unfinished", Kind: Bool})
	return ofThreads(run, "phases", columns, func(t *trace.Thread) []trace.Phase { return t.Phases }, func(s Sink, p trace.Phase) {
		s.Text(run.MarkNames[p.Name])
		s.Int(int64(p.Depth))
		s.Int(p.BeginNS)
		s.Int(p.EndNS - p.BeginNS)
		s.Bool(p.Unfinished)
	})
}

func events(run *trace.Run) Table {
	columns := append(slices.Clone(place), name("name"), time("time_ns"), Column{Name: "value"})
	return ofThreads(run, "events", columns, func(t *trace.Thread) []trace.Event { return t.Events }, func(s Sink, e trace.Event) {
		s.Text(run.MarkNames[e.Name])
		s.Int(e.TimeNS)
		s.Int(e.Value)
	})
}

func pauses(run *trace.Run) Table {
	columns := append(slices.Clone(place), time("begin_ns"), time("duration_ns"))
	return ofThreads(run, "pauses", columns, func(t *trace.Thread) []trace.Pause { return t.Pauses }, func(s Sink, p trace.Pause) {
		s.Int(p.BeginNS)
		s.Int(p.EndNS - p.BeginNS)
	})
}

func path(run *trace.Run) Table {
	columns := append(slices.Clone(place), time("begin_ns"), time("duration_ns"))
	return ofThreads(run, "critical_path", columns, func(t *trace.Thread) []trace.Stretch { return t.Critical }, func(s Sink, x trace.Stretch) {
		s.Int(x.BeginNS)
		s.Int(x.EndNS - x.BeginNS)
	})
}

// ofThreads is a table of what threads have: a row begins with the thread's place, the rest is put.
func ofThreads[T any](run *trace.Run, name string, columns []Column, of func(*trace.Thread) []T, put func(Sink, T)) Table {
	return Table{name, columns, func(s Sink) error {
		for i := range run.Threads {
			t := &run.Threads[i]
			for _, x := range of(t) {
				putPlace(s, t)
				put(s, x)
				if err := s.End(); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}
