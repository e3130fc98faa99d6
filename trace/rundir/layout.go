package rundir

import (
	"bytes"
	"encoding/json"
)

// listWidth and objectWidth are how long a list or an object may be to stand on one line. An object that is an entry of
// a list mostly does, which takes less room than a line for each of its fields.
const listWidth, objectWidth = 200, 400

// encode gives the same bytes for the same value: indented, objects and lists on one line where they fit, numbers in
// lines, object keys in the order of the fields, maps sorted, and < > & as they are.
func encode(v any) ([]byte, error) {
	var compact bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	var l layout
	text := spaced(bytes.TrimSpace(compact.Bytes()))
	l.out.Grow(len(text) + len(text)/4)
	l.value(text, 0)
	l.out.WriteByte('\n')
	return l.out.Bytes(), nil
}

// spaced puts a space behind each comma and colon between values.
func spaced(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/8)
	for i := 0; i < len(compact); {
		c := compact[i]
		if c == '"' {
			end := textEnd(compact, i)
			out = append(out, compact[i:end]...)
			i = end
			continue
		}
		if out = append(out, c); c == ',' || c == ':' {
			out = append(out, ' ')
		}
		i++
	}
	return out
}

// textEnd is where what follows a text begins, which begins with its quotation mark.
func textEnd(value []byte, begin int) int {
	for i := begin + 1; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(value)
}

// split returns the members or elements of an object or list, and whether one of them is an object or a list.
func split(value []byte) (parts [][]byte, nested bool) {
	depth, from := 0, 1
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = textEnd(value, i) - 1
		case '{', '[':
			depth++
			nested = nested || depth > 1
		case '}', ']':
			if depth--; depth == 0 {
				parts = append(parts, bytes.TrimSpace(value[from:i]))
			}
		case ',':
			if depth == 1 {
				parts = append(parts, bytes.TrimSpace(value[from:i]))
				from = i + 1
			}
		}
	}
	return parts, nested
}

// A layout puts values on lines.
type layout struct{ out bytes.Buffer }

func (l *layout) newLine(depth int) {
	l.out.WriteByte('\n')
	for range depth {
		l.out.WriteString("  ")
	}
}

// fits says that a value stands on one line.
func fits(value []byte, depth int) bool {
	switch value[0] {
	case '{':
		return 2*depth+len(value) <= objectWidth
	case '[':
		return 2*depth+len(value) <= listWidth
	}
	return true
}

// value writes a value, on as many lines as it needs, of which the first is begun.
func (l *layout) value(value []byte, depth int) {
	if fits(value, depth) {
		l.out.Write(value)
		return
	}
	parts, nested := split(value)
	l.out.WriteByte(value[0])
	room := 0
	for i, part := range parts {
		if room -= len(part) + 2; i == 0 || value[0] == '{' || nested || room < 0 {
			l.newLine(depth + 1)
			room = listWidth - 2*depth - len(part) - 4
		} else {
			l.out.WriteByte(' ')
		}
		if value[0] == '{' {
			l.member(part, depth+1)
		} else {
			l.value(part, depth+1)
		}
		if i < len(parts)-1 {
			l.out.WriteByte(',')
		}
	}
	l.newLine(depth)
	l.out.WriteByte(value[len(value)-1])
}

// member writes a key and its value.
func (l *layout) member(member []byte, depth int) {
	colon := textEnd(member, 0) // it follows the key
	l.out.Write(member[:colon+2])
	l.value(member[colon+2:], depth)
}
