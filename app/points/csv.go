package points

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// readCSV reads lines of numbers between commas. A first line without any number is names; empty lines, and the byte
// order mark that some programs begin with, count for nothing.
func readCSV(r *bufio.Reader) (Matrix, error) {
	var m Matrix
	var long []byte
	if mark, _ := r.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		r.Discard(len(byteOrderMark))
	}
	first := true
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // a line longer than the buffer
			long = append(long, text...)
			text, err = r.ReadSlice('\n')
		}
		if long != nil {
			text, long = append(long, text...), nil
		}
		if err != nil && err != io.EOF {
			return m, fmt.Errorf("line %d: %w", line, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := m.addLine(text, line, first); err != nil {
				return m, err
			}
			first = false
		}
		if err == io.EOF {
			break
		}
	}
	if len(m.Coords) == 0 {
		return m, errEmpty
	}
	return m, nil
}

const byteOrderMark = "\uFEFF" // of UTF-8

// addLine adds a line's numbers; names says that it may hold names instead.
func (m *Matrix) addLine(text []byte, line int, names bool) error {
	column := 0
	for more := true; more; {
		var field []byte
		field, text, more = bytes.Cut(text, []byte{','})
		field = bytes.TrimSpace(field)
		column++
		v, err := strconv.ParseFloat(string(field), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			if names {
				continue
			}
			return fmt.Errorf("line %d, column %d: %q is not a number", line, column, clip(field))
		}
		if names && column > 1 {
			return fmt.Errorf("line %d: numbers and text", line)
		}
		names = false
		if err := check(v, "line", line, column); err != nil {
			return err
		}
		m.Coords = append(m.Coords, v)
	}
	if names {
		return nil
	}
	if m.Dims == 0 {
		m.Dims = column
	}
	if column != m.Dims {
		return fmt.Errorf("line %d has %d columns, those before it %d", line, column, m.Dims)
	}
	return nil
}

func clip(field []byte) []byte {
	const most = 40
	return field[:min(len(field), most)]
}
