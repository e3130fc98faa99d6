package parquet

import (
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
	set  func(r *R, v pq.Value)
	null func(r *R) // where a row has no value; nil = nothing to do
	late bool       // it was added after format 1: files may lack it
}

// columnOfKind says of which kind a row is: the first column, which is always read.
const columnOfKind = "kind"

func int32Column[R any](name string, has func(*R) bool, field func(*R) *int32) column[R] {
	return column[R]{
		name: name, node: pq.Encoded(pq.Int(32), &pq.RLEDictionary), has: has,
		get: func(r *R) pq.Value { return pq.Int32Value(*field(r)) }, set: func(r *R, v pq.Value) { *field(r) = v.Int32() },
	}
}

func int64Column[R any](name, unit string, has func(*R) bool, field func(*R) *int64) column[R] {
	return column[R]{
		name: name, node: pq.Encoded(pq.Int(64), &pq.DeltaBinaryPacked), unit: unit, has: has,
		get: func(r *R) pq.Value { return pq.Int64Value(*field(r)) }, set: func(r *R, v pq.Value) { *field(r) = v.Int64() },
	}
}

func doubleColumn[R any](name, unit string, has func(*R) bool, field func(*R) *float64) column[R] {
	return column[R]{
		name: name, node: pq.Leaf(pq.DoubleType), unit: unit, has: has,
		get: func(r *R) pq.Value { return pq.DoubleValue(*field(r)) }, set: func(r *R, v pq.Value) { *field(r) = v.Double() },
	}
}

func textColumn[R any](name string, encoding encoding.Encoding, has func(*R) bool, field func(*R) *string) column[R] {
	once := make(interned)
	var recent [256]string // texts that were read, most of which come again soon: a comparison takes less than a search
	return column[R]{
		name: name, node: pq.Encoded(pq.String(), encoding), has: has,
		get: func(r *R) pq.Value { return pq.ByteArrayValue([]byte(*field(r))) },
		set: func(r *R, v pq.Value) {
			b := v.ByteArray()
			if len(b) == 0 {
				*field(r) = ""
				return
			}
			slot := &recent[(len(b)+7*int(b[len(b)-1])+31*int(b[len(b)/2]))%len(recent)]
			if *slot != string(b) {
				*slot = once.text(b)
			}
			*field(r) = *slot
		},
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

// scanColumns hands out the rows of a file, some at a time, in what empty has made for so many. Of the columns it reads
// the kind and the wanted ones; where none is wanted, all. A file without rows has one batch without any.
func scanColumns[R any](f *pq.File, columns []column[R], wanted []string, empty func(n int) []R, give func(rows []R) error) error {
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
	for _, g := range f.RowGroups() {
		if err := scanGroup(g, columns, places, empty, give); err != nil {
			return err
		}
	}
	if f.NumRows() == 0 {
		return give(empty(0))
	}
	return nil
}

func scanGroup[R any](g pq.RowGroup, columns []column[R], places []int, empty func(n int) []R, give func(rows []R) error) error {
	readers := make([]*columnReader, len(columns))
	for i, place := range places {
		readers[i] = newColumnReader(g.ColumnChunks()[place])
		defer readers[i].pages.Close()
	}
	for left := g.NumRows(); left > 0; {
		n := int(min(left, rowsPerBatch))
		rows := empty(n)
		for i, c := range columns {
			if err := readers[i].read(n); err != nil {
				return err
			}
			for k := range rows {
				switch v := readers[i].values[k]; {
				case !v.IsNull():
					c.set(&rows[k], v)
				case c.null != nil:
					c.null(&rows[k])
				}
			}
		}
		if err := give(rows); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}
