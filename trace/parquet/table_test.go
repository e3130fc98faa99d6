package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"moriens/trace/table"
	"moriens/trace/tracetest"
)

// A cells sink keeps a table as text.
type cells struct {
	rows [][]string
	row  []string
}

func (c *cells) Int(v int64)     { c.row = append(c.row, strconv.FormatInt(v, 10)) }
func (c *cells) Float(v float64) { c.row = append(c.row, strconv.FormatFloat(v, 'g', -1, 64)) }
func (c *cells) Text(v string)   { c.row = append(c.row, strconv.Quote(v)) }
func (c *cells) Bool(v bool)     { c.row = append(c.row, strconv.FormatBool(v)) }
func (c *cells) Null()           { c.row = append(c.row, "null") }
func (c *cells) End() error {
	c.rows, c.row = append(c.rows, c.row), nil
	return nil
}

// readTable reads a file as its own schema says.
func readTable(t interface{ Fatal(...any) }, file []byte) (columns []string, rows [][]string) {
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	fields := f.Schema().Fields()
	for _, c := range fields {
		columns = append(columns, c.Name())
	}
	for _, g := range f.RowGroups() {
		in := g.Rows()
		batch := make([]pq.Row, 100)
		for {
			n, err := in.ReadRows(batch)
			for _, r := range batch[:n] {
				row := make([]string, len(fields))
				for _, v := range r {
					switch {
					case v.IsNull():
						row[v.Column()] = "null"
					case v.Kind() == pq.ByteArray:
						row[v.Column()] = strconv.Quote(string(v.ByteArray()))
					case v.Kind() == pq.Double:
						row[v.Column()] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
					default:
						row[v.Column()] = fmt.Sprint(v)
					}
				}
				rows = append(rows, row)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		in.Close()
	}
	return columns, rows
}

func TestTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, x := range table.All(tracetest.Run(t)) {
			var want cells
			if err := x.Rows(&want); err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := WriteTable(&file, x); err != nil {
				t.Fatalf("%s: %v", x.Name, err)
			}
			columns, rows := readTable(t, file.Bytes())
			if d := cmp.Diff(want.rows, rows); d != "" {
				t.Fatalf("%s:\n%s", x.Name, d)
			}
			for i, c := range x.Columns {
				if columns[i] != c.Name {
					t.Fatalf("%s: column %d is %s, not %s", x.Name, i, columns[i], c.Name)
				}
			}
		}
	})
}

// Rows beyond one batch and one row group.
func TestLongTable(t *testing.T) {
	const n = rowsPerGroup + rowsPerBatch + 1
	x := table.Table{
		Name:    "long",
		Columns: []table.Column{{Name: "n_ns"}, {Name: "text", Kind: table.Text, Optional: true, Few: true}},
		Rows: func(s table.Sink) error {
			for i := range int64(n) {
				s.Int(i * i)
				if i%3 == 0 {
					s.Null()
				} else {
					s.Text(strconv.FormatInt(i%7, 10))
				}
				if err := s.End(); err != nil {
					return err
				}
			}
			return nil
		},
	}
	var file bytes.Buffer
	if err := WriteTable(&file, x); err != nil {
		t.Fatal(err)
	}
	var want cells
	if err := x.Rows(&want); err != nil {
		t.Fatal(err)
	}
	_, rows := readTable(t, file.Bytes())
	if d := cmp.Diff(want.rows, rows); d != "" {
		t.Fatal(d)
	}
	f, err := pq.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if unit, _ := f.Lookup(keyUnit + "n_ns"); unit != unitTime || len(f.RowGroups()) != 2 {
		t.Errorf("unit %q, %d row groups", unit, len(f.RowGroups()))
	}
}
