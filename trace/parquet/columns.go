package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// A column is one of a table whose rows are of several kinds, with its way to and from them. get is not asked where has
// says that a row has no value.
type column[R any] struct {
	name string
	node pq.Node
	unit string
	has  func(r *R) bool // nil = every row, and the column is required
	get  func(r *R) pq.Value
	fill func(rows []R, c *columnValues) // gives the rows their values
	then func(r *R)                      // where a row has got one; nil = nothing to do
	null func(r *R)                      // where a row has no value; nil = nothing to do
	late bool                            // it was added after format 1: files may lack it
}

// columnOfKind says of which kind a row is: the first column, which is always read.
const columnOfKind = "kind"

func int32Column[R any](name string, has func(*R) bool, field func(*R) *int32) column[R] {
	return column[R]{
		name: name, node: pq.Encoded(pq.Int(32), &pq.RLEDictionary), has: has,
		get:  func(r *R) pq.Value { return pq.Int32Value(*field(r)) },
		fill: func(rows []R, c *columnValues) { put(rows, c.levels, c.int32s, field) },
	}
}

func int64Column[R any](name, unit string, has func(*R) bool, field func(*R) *int64) column[R] {
	return column[R]{
		name: name, node: pq.Encoded(pq.Int(64), &pq.DeltaBinaryPacked), unit: unit, has: has,
		get:  func(r *R) pq.Value { return pq.Int64Value(*field(r)) },
		fill: func(rows []R, c *columnValues) { put(rows, c.levels, c.int64s, field) },
	}
}

func doubleColumn[R any](name, unit string, has func(*R) bool, field func(*R) *float64) column[R] {
	return column[R]{
		name: name, node: pq.Leaf(pq.DoubleType), unit: unit, has: has,
		get:  func(r *R) pq.Value { return pq.DoubleValue(*field(r)) },
		fill: func(rows []R, c *columnValues) { put(rows, c.levels, c.doubles, field) },
	}
}

func textColumn[R any](name string, encoding encoding.Encoding, has func(*R) bool, field func(*R) *string) column[R] {
	return column[R]{
		name: name, node: pq.Encoded(pq.String(), encoding), has: has,
		get:  func(r *R) pq.Value { return pq.ByteArrayValue([]byte(*field(r))) },
		fill: func(rows []R, c *columnValues) { put(rows, c.levels, c.texts, field) },
	}
}

func late[R any](c column[R]) column[R] {
	c.late = true
	return c
}

// ascending makes a column of 32 bits one whose values mostly are those of the row before, or grow by little.
func ascending[R any](c column[R]) column[R] {
	c.node = pq.Encoded(pq.Int(32), &pq.DeltaBinaryPacked)
	return c
}

// interned keeps each text once, however many rows have it.
type interned map[string]string

func (t interned) text(b []byte) string {
	s, known := t[string(b)]
	if !known {
		s = string(b)
		t[s] = s
	}
	return s
}

// writeColumns writes every row. Bounds of pages are left out of columns of long texts.
func writeColumns[R any](w io.Writer, name string, columns []column[R], rows []R, long ...string) error {
	schema := record{Group: pq.Group{}}
	options := []pq.WriterOption{pq.Compression(codec), pq.CreatedBy("moriens", "", ""), pq.KeyValueMetadata(keyFormat, strconv.Itoa(formatOf(name)))}
	for _, c := range columns {
		node := c.node
		if c.has != nil {
			node = pq.Optional(node)
		}
		schema.Group[c.name] = node
		schema.order = append(schema.order, c.name)
		if c.unit != "" {
			options = append(options, pq.KeyValueMetadata(keyUnit+c.name, c.unit))
		}
	}
	for _, c := range long {
		options = append(options, pq.SkipPageBounds(c))
	}
	out := pq.NewGenericWriter[any](w, append(options, pq.NewSchema(name, schema))...)
	values := make([]pq.Value, rowsPerBatch)
	for from := 0; from < len(rows); from += rowsPerBatch {
		batch := rows[from:min(from+rowsPerBatch, len(rows))]
		writers := out.ColumnWriters()
		for place, c := range columns {
			for i := range batch {
				switch {
				case c.has == nil:
					values[i] = c.get(&batch[i])
				case c.has(&batch[i]):
					values[i] = c.get(&batch[i]).Level(0, 1, place)
				default:
					values[i] = pq.NullValue().Level(0, 0, place)
				}
			}
			if _, err := writers[place].WriteRowValues(values[:len(batch)]); err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		if (from+rowsPerBatch)%rowsPerGroup == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// formatOf is the format of a table that is written.
func formatOf(table string) int {
	if table == tableOfProfile {
		return ProfileFormat
	}
	return FormatVersion
}

// scanColumns hands out the rows of a file, some at a time and in their order, in memory that empty has made for so
// many or takes again. Of the columns it reads the kind and the wanted ones; where none is wanted, all. A file without
// rows has one batch without any.
//
// Batches are read by another goroutine while those before are handed out: there are batchesAhead of them at most, each
// of scanRows rows, beside a page and the dictionary of each column of a row group.
func scanColumns[R any](f *pq.File, columns []column[R], wanted []string, empty func(rows []R), give func(rows []R) error) error {
	columns = slices.DeleteFunc(columns, func(c column[R]) bool {
		_, ok := f.Schema().Lookup(c.name)
		return c.late && !ok || len(wanted) > 0 && c.name != columnOfKind && !slices.Contains(wanted, c.name)
	})
	places := make([]int, len(columns))
	for i, c := range columns {
		found, ok := f.Schema().Lookup(c.name)
		if !ok {
			return fmt.Errorf("no column %s", c.name)
		}
		if found.Node.Type().Kind() != c.node.Type().Kind() || found.Node.Optional() != (c.has != nil) {
			return fmt.Errorf("column %s is of type %s", c.name, found.Node.Type())
		}
		places[i] = found.ColumnIndex
	}
	if f.NumRows() == 0 {
		return give(nil)
	}
	full, free, stop := make(chan []R, batchesAhead), make(chan []R, batchesAhead), make(chan struct{})
	for range batchesAhead {
		free <- make([]R, min(scanRows, f.NumRows()))
	}
	s := &scan[R]{columns: columns, places: places, empty: empty, full: full, free: free, stopped: stop, texts: make([]interned, len(columns))}
	for i := range s.texts {
		s.texts[i] = make(interned)
	}
	failed := make(chan error, 1)
	go func() {
		defer close(full)
		failed <- sound(func() error {
			for _, g := range f.RowGroups() {
				if err := s.group(g); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	err := s.hand(give, stop)
	if read := <-failed; err == nil {
		err = read
	}
	return err
}

const (
	scanRows     = 1 << 9 // of a batch: few enough for the caches of a core
	batchesAhead = 4
)

// A scan is the reading of a file.
type scan[R any] struct {
	columns []column[R]
	places  []int // in the file, by column
	texts   []interned
	empty   func(rows []R)
	full    chan []R // batches to be handed out
	free    chan []R // those that may be overwritten
	stopped <-chan struct{}
}

// hand hands out batches. At its end nothing is read any more.
func (s *scan[R]) hand(give func(rows []R) error, stop chan<- struct{}) error {
	defer func() {
		close(stop)
		for range s.full { // until what is read is
		}
	}()
	for rows := range s.full {
		if err := give(rows); err != nil {
			return err
		}
		s.free <- rows
	}
	return nil
}

var errStopped = errors.New("not read to its end")

func (s *scan[R]) group(g pq.RowGroup) error {
	chunks := make([]*chunk, len(s.columns))
	for i, place := range s.places {
		chunks[i] = newChunk(g.ColumnChunks()[place], s.texts[i])
		defer chunks[i].close()
	}
	for left := g.NumRows(); left > 0; {
		var rows []R
		select {
		case rows = <-s.free:
		case <-s.stopped:
			return errStopped
		}
		rows = rows[:min(left, int64(cap(rows)))]
		s.empty(rows)
		for i := range s.columns {
			if err := s.columns[i].read(chunks[i], rows); err != nil {
				return err
			}
		}
		left -= int64(len(rows))
		s.full <- rows // there is room for all
	}
	return nil
}

// read reads the column for some rows.
func (c *column[R]) read(from *chunk, rows []R) error {
	for len(rows) > 0 {
		values, n, err := from.next(len(rows))
		if err != nil {
			return err
		}
		if (values.levels == nil) != (c.has == nil) {
			return errRows
		}
		c.fill(rows[:n], values)
		if c.then != nil || c.null != nil {
			for k := range rows[:n] {
				switch has := values.levels == nil || values.levels[k] == there; {
				case has && c.then != nil:
					c.then(&rows[k])
				case !has && c.null != nil:
					c.null(&rows[k])
				}
			}
		}
		rows = rows[n:]
	}
	return nil
}
