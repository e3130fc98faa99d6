// Package csv writes tables of a run as CSV after RFC 4180: a line of column names, lines that end in CR LF, texts in
// UTF-8 and in quotes where they hold a comma, a quote or the end of a line. A missing value is an empty field, an
// empty text is "". A text that a spreadsheet would take for a formula has an apostrophe before it, which TextOf
// removes.
//
// It keeps one line in memory.
package csv

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"moriens/trace/table"
)

// Write writes a table.
func Write(w io.Writer, t table.Table) error {
	s := &sink{out: bufio.NewWriterSize(w, 1<<16)}
	for _, c := range t.Columns {
		s.Text(c.Name)
	}
	if err := s.End(); err != nil {
		return err
	}
	if err := t.Rows(s); err != nil {
		return err
	}
	return s.out.Flush()
}

type sink struct {
	out  *bufio.Writer
	line []byte
}

func (s *sink) Int(v int64)     { s.line = append(strconv.AppendInt(s.line, v, 10), ',') }
func (s *sink) Float(v float64) { s.line = append(strconv.AppendFloat(s.line, v, 'g', -1, 64), ',') }
func (s *sink) Bool(v bool)     { s.line = append(strconv.AppendBool(s.line, v), ',') }
func (s *sink) Null()           { s.line = append(s.line, ',') }

// formula is what a spreadsheet takes a cell for that begins with one of these.
const formula = "=+-@\t\r\n"

// isFormula reports whether a text is a formula, or one with apostrophes before it.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.IndexByte(formula, text[0]) >= 0
}

// TextOf is the text of a cell of a text column, as a reader gets it back.
func TextOf(cell string) string {
	if text, cut := strings.CutPrefix(cell, "'"); cut && isFormula(text) {
		return text
	}
	return cell
}

// CellOf is the cell of a text.
func CellOf(text string) string {
	if isFormula(text) {
		return "'" + text
	}
	return text
}

func (s *sink) Text(v string) {
	v = CellOf(v)
	if v != "" && !strings.ContainsAny(v, "\",\r\n") {
		s.line = append(append(s.line, v...), ',')
		return
	}
	s.line = append(s.line, '"')
	for i := range len(v) {
		if v[i] == '"' {
			s.line = append(s.line, '"')
		}
		s.line = append(s.line, v[i])
	}
	s.line = append(s.line, '"', ',')
}

func (s *sink) End() error {
	line := s.line
	if n := len(line); n > 0 {
		line = line[:n-1] // the comma behind the last field
	}
	_, err := s.out.Write(append(line, '\r', '\n'))
	s.line = s.line[:0]
	return err
}
