package parquet

import (
	"io"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace/table"
)

// WriteTable writes a table; the bursts, phases and events of a run have their own formats, which Write, WritePhases
// and WriteEvents write.
func WriteTable(w io.Writer, t table.Table) error {
	r := record{Group: pq.Group{}}
	options := []pq.WriterOption{
		pq.Compression(codec), pq.CreatedBy("moriens", "", ""), pq.KeyValueMetadata(keyFormat, strconv.Itoa(FormatVersion)),
		pq.MaxRowsPerRowGroup(rowsPerGroup),
	}
	s := &tableSink{texts: make(map[string]pq.Value)}
	for _, c := range t.Columns {
		r.Group[c.Name] = nodeOf(c)
		r.order = append(r.order, c.Name)
		if strings.HasSuffix(c.Name, "_"+unitTime) {
			options = append(options, pq.KeyValueMetadata(keyUnit+c.Name, unitTime))
		}
		if c.Optional {
			s.defined = append(s.defined, 1)
		} else {
			s.defined = append(s.defined, 0)
		}
	}
	s.out = pq.NewGenericWriter[any](w, append(options, pq.NewSchema(t.Name, r))...)
	if err := t.Rows(s); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.out.Close()
}

func nodeOf(c table.Column) pq.Node {
	var n pq.Node
	switch c.Kind {
	case table.Int:
		n = pq.Int(64)
		if !c.Few {
			n = pq.Encoded(n, &pq.DeltaBinaryPacked)
		}
	case table.Float:
		n = pq.Leaf(pq.DoubleType)
	case table.Text:
		n = pq.String()
	case table.Bool:
		n = pq.Leaf(pq.BooleanType)
	}
	if c.Few {
		n = pq.Encoded(n, &pq.RLEDictionary)
	}
	if c.Optional {
		n = pq.Optional(n)
	}
	return n
}

// A tableSink gathers rows into batches.
type tableSink struct {
	out     *pq.GenericWriter[any]
	defined []int               // definition level of a value that is there, by column
	texts   map[string]pq.Value // the same few come again and again
	row     pq.Row
	rows    []pq.Row
	count   int
}

func (s *tableSink) put(v pq.Value) {
	column := len(s.row)
	s.row = append(s.row, v.Level(0, s.defined[column], column))
}

func (s *tableSink) Int(v int64)     { s.put(pq.Int64Value(v)) }
func (s *tableSink) Float(v float64) { s.put(pq.DoubleValue(v)) }
func (s *tableSink) Bool(v bool)     { s.put(pq.BooleanValue(v)) }
func (s *tableSink) Null()           { s.row = append(s.row, pq.NullValue().Level(0, 0, len(s.row))) }

func (s *tableSink) Text(v string) {
	text, known := s.texts[v]
	if !known {
		text = pq.ByteArrayValue([]byte(v))
		s.texts[v] = text
	}
	s.put(text)
}

func (s *tableSink) End() error {
	if s.count == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
	s.rows[s.count], s.row = s.row, s.rows[s.count][:0]
	if s.count++; s.count < rowsPerBatch {
		return nil
	}
	return s.flush()
}

func (s *tableSink) flush() error {
	_, err := s.out.WriteRows(s.rows[:s.count])
	s.count = 0
	return err
}
