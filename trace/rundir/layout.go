package rundir

import (
	"bytes"
	"encoding/json"
)

// lineWidth is how long an object or a list may be to stand on one line.
const lineWidth = 200

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
	walk(compact, func(i int, inText bool, _ int) {
		out = append(out, compact[i])
		if c := compact[i]; !inText && (c == ',' || c == ':') {
			out = append(out, ' ')
		}
	})
	return out
}

// walk goes through JSON: with is called for each byte with whether it belongs to a text, and in how many objects and
// lists it lies, brackets among what is inside them.
func walk(value []byte, with func(i int, inText bool, depth int)) {
	depth, inText := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			with(i, true, depth)
			i++
			with(i, true, depth)
		case c == '"':
			with(i, true, depth)
			inText = !inText
		case !inText && (c == '{' || c == '['):
			depth++
			with(i, false, depth)
		case !inText && (c == '}' || c == ']'):
			with(i, false, depth)
			depth--
		default:
			with(i, inText, depth)
		}
	}
}

// A layout puts values on lines.
type layout struct{ out bytes.Buffer }

func (l *layout) newLine(depth int) {
	l.out.WriteByte('\n')
	for range depth {
		l.out.WriteString("  ")
	}
}

// value writes a value, on as many lines as it needs, of which the first is begun.
func (l *layout) value(value []byte, depth int) {
	if value[0] != '{' && value[0] != '[' || 2*depth+len(value) <= lineWidth {
		l.out.Write(value)
		return
	}
	from := 1
	var parts [][]byte
	nested := false // a part is an object or a list
	walk(value, func(i int, inText bool, at int) {
		switch {
		case inText:
		case at == 1 && value[i] == ',' || i == len(value)-1:
			parts = append(parts, bytes.TrimSpace(value[from:i]))
			from = i + 1
		case at > 1:
			nested = true
		}
	})
	l.out.WriteByte(value[0])
	room := 0
	for i, part := range parts {
		if room -= len(part) + 2; i == 0 || value[0] == '{' || nested || room < 0 {
			l.newLine(depth + 1)
			room = lineWidth - 2*depth - len(part) - 4
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
	colon := -1
	walk(member, func(i int, inText bool, at int) {
		if colon < 0 && !inText && at == 0 && member[i] == ':' {
			colon = i
		}
	})
	l.out.Write(member[:colon+2])
	l.value(member[colon+2:], depth)
}
