package parquet

import (
	"fmt"
	"io"
	"reflect"
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
	var places []int
	for _, column := range want.Columns() {
		a, _ := want.Lookup(column...)
		b, ok := f.Schema().Lookup(column...)
		if !ok || b.Node.Type().Kind() != a.Node.Type().Kind() || !b.Node.Required() {
			return fmt.Errorf("no column %s, or one of another type", column[0])
		}
		places = append(places, b.ColumnIndex)
	}
	// Not by the library's reader of structs, which copies a text for each row that has it.
	var row T
	fields := reflect.ValueOf(&row).Elem()
	texts := make(interned)
	for _, g := range f.RowGroups() {
		columns := make([]*columnReader, len(places))
		for i, place := range places {
			columns[i] = newColumnReader(g.ColumnChunks()[place])
			defer columns[i].pages.Close()
		}
		for left := g.NumRows(); left > 0; {
			n := int(min(left, rowsPerBatch))
			for _, c := range columns {
				if err := c.read(n); err != nil {
					return err
				}
			}
			for k := range n {
				for i, c := range columns {
					texts.set(fields.Field(i), c.values[k])
				}
				if err := each(&row); err != nil {
					return err
				}
			}
			left -= int64(n)
		}
	}
	return nil
}

// set puts a value into a field of a row.
func (t interned) set(field reflect.Value, v pq.Value) {
	switch field.Kind() {
	case reflect.Int32:
		field.SetInt(int64(v.Int32()))
	case reflect.Int64:
		field.SetInt(v.Int64())
	case reflect.Bool:
		field.SetBool(v.Boolean())
	case reflect.String:
		field.SetString(t.text(v.ByteArray()))
	default:
		panic("a row with a field of kind " + field.Kind().String())
	}
}
