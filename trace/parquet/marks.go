package parquet

import (
	"fmt"
	"io"
	"strconv"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
)

// phaseRow and eventRow are the columns of phases.parquet and events.parquet: docs/format/phases.md.
type phaseRow struct {
	World      int32  `parquet:"world,dict"`
	Rank       int32  `parquet:"rank,dict"`
	Thread     int32  `parquet:"thread,dict"`
	Name       string `parquet:"name,dict"`
	Depth      int32  `parquet:"depth,dict"`
	BeginNS    int64  `parquet:"begin_ns,delta"`
	DurationNS int64  `parquet:"duration_ns,delta"`
	Unfinished bool   `parquet:"unfinished"`
}

type eventRow struct {
	World  int32  `parquet:"world,dict"`
	Rank   int32  `parquet:"rank,dict"`
	Thread int32  `parquet:"thread,dict"`
	Name   string `parquet:"name,dict"`
	TimeNS int64  `parquet:"time_ns,delta"`
	Value  int64  `parquet:"value,delta"`
}

// WritePhases writes every phase of the run, by world, rank, thread and begin, the outer one first.
func WritePhases(w io.Writer, run *trace.Run) error {
	return writeRows(w, []string{"begin_ns", "duration_ns"}, func(put func(phaseRow) error) error {
		for i := range run.Threads {
			t := &run.Threads[i]
			for _, p := range t.Phases {
				err := put(phaseRow{
					int32(t.World), int32(t.Rank), int32(t.Thread), run.MarkNames[p.Name], p.Depth, p.BeginNS, p.EndNS - p.BeginNS, p.Unfinished,
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// WriteEvents writes every event of the run, by world, rank, thread and time.
func WriteEvents(w io.Writer, run *trace.Run) error {
	return writeRows(w, []string{"time_ns"}, func(put func(eventRow) error) error {
		for i := range run.Threads {
			t := &run.Threads[i]
			for _, e := range t.Events {
				if err := put(eventRow{int32(t.World), int32(t.Rank), int32(t.Thread), run.MarkNames[e.Name], e.TimeNS, e.Value}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// writeRows writes the rows that all puts, in batches.
func writeRows[T any](w io.Writer, times []string, all func(put func(T) error) error) error {
	options := []pq.WriterOption{
		pq.Compression(codec), pq.CreatedBy("moriens", "", ""), pq.MaxRowsPerRowGroup(rowsPerGroup),
		pq.KeyValueMetadata(keyFormat, strconv.Itoa(FormatVersion)),
	}
	for _, name := range times {
		options = append(options, pq.KeyValueMetadata(keyUnit+name, unitTime))
	}
	out := pq.NewGenericWriter[T](w, options...)
	rows := make([]T, 0, rowsPerBatch)
	flush := func() error {
		_, err := out.Write(rows)
		rows = rows[:0]
		return err
	}
	err := all(func(row T) error {
		if rows = append(rows, row); len(rows) < rowsPerBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// ReadPhases reads what WritePhases wrote and hands each phase, by its name and not by a number, to put.
func ReadPhases(in io.ReaderAt, bytes int64, put func(world, rank, thread int, name string, p trace.Phase) error) error {
	return readRows(in, bytes, func(r *phaseRow) error {
		if r.DurationNS < 0 || r.Depth < 0 {
			return fmt.Errorf("a phase of %d ns at depth %d", r.DurationNS, r.Depth)
		}
		return put(int(r.World), int(r.Rank), int(r.Thread), r.Name, trace.Phase{
			Depth: r.Depth, BeginNS: r.BeginNS, EndNS: r.BeginNS + r.DurationNS, Unfinished: r.Unfinished,
		})
	})
}

// ReadEvents reads what WriteEvents wrote and hands each event, by its name and not by a number, to put.
func ReadEvents(in io.ReaderAt, bytes int64, put func(world, rank, thread int, name string, e trace.Event) error) error {
	return readRows(in, bytes, func(r *eventRow) error {
		return put(int(r.World), int(r.Rank), int(r.Thread), r.Name, trace.Event{TimeNS: r.TimeNS, Value: r.Value})
	})
}

// readRows hands every row of a file to each, in batches.
func readRows[T any](in io.ReaderAt, bytes int64, each func(*T) error) error {
	return withFile(in, bytes, func(f *pq.File) error { return eachRow(f, each) })
}

func eachRow[T any](f *pq.File, each func(*T) error) error {
	want := pq.SchemaOf(new(T))
	for _, column := range want.Columns() {
		a, _ := want.Lookup(column...)
		b, ok := f.Schema().Lookup(column...)
		if !ok || b.Node.Type().Kind() != a.Node.Type().Kind() || !b.Node.Required() {
			return fmt.Errorf("no column %s, or one of another type", column[0])
		}
	}
	rows := pq.NewGenericReader[T](f)
	defer rows.Close()
	batch := make([]T, rowsPerBatch)
	for {
		n, err := rows.Read(batch)
		for i := range batch[:n] {
			if err := each(&batch[i]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
