package parquet

import (
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
