// Package plain makes text from other sources safe to show: names of programs, phases, events, hosts and files, notes,
// and the output of other programs. Out comes the same text, in which control characters, and characters that make a
// line look like another, are spelled out: \n, \x1b, \u202e. Printable text is not changed.
package plain

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Line is a text as a part of a line.
func Line(text string) string { return escape(text, false) }

// Lines is a text of lines: their ends are kept.
func Lines(text string) string { return escape(text, true) }

func escape(text string, lines bool) string {
	first := find(text, lines)
	if first < 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:first])
	for i := first; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' && lines:
			b.WriteByte('\n')
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !obeyed(r):
			b.WriteString(text[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// find is where the first character is that has to be spelled out; -1 = nowhere.
func find(text string, lines bool) int {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f || c == '\n' && lines {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || obeyed(r) {
			return i
		}
		i += n
	}
	return -1
}

// obeyed reports whether a character does something rather than be seen: control characters (C0, DEL, C1), ends of
// lines, what turns the direction of text round, and what has no width, so that two names would look alike.
func obeyed(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r == 0x2028, r == 0x2029: // ends of a line and of a paragraph
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff: // of no width; U+200C and U+200D are letters' own, and spell words
		return true
	}
	return false
}

// Of is a copy of a value in which every text is as by Line. What has no text is not copied but shared.
func Of[T any](v T) T {
	var c copier
	x := reflect.ValueOf(&v).Elem()
	if y, changed := c.copy(x); changed {
		x.Set(y)
	}
	return v
}

type copier struct{ texts map[reflect.Type]bool }

// has reports whether values of a type may hold text.
func (c *copier) has(t reflect.Type) bool {
	if known, ok := c.texts[t]; ok {
		return known
	}
	if c.texts == nil {
		c.texts = make(map[reflect.Type]bool)
	}
	c.texts[t] = true // while it is found out: a type that holds itself
	is := false
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		is = true
	case reflect.Slice, reflect.Array, reflect.Pointer:
		is = c.has(t.Elem())
	case reflect.Map:
		is = c.has(t.Key()) || c.has(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && c.has(f.Type) {
				is = true
			}
		}
	}
	c.texts[t] = is
	return is
}

// copy returns what takes a value's place, and whether it differs.
func (c *copier) copy(v reflect.Value) (reflect.Value, bool) {
	t := v.Type()
	if !c.has(t) {
		return v, false
	}
	switch t.Kind() {
	case reflect.String:
		s := v.String()
		if find(s, false) < 0 {
			return v, false
		}
		return reflect.ValueOf(Line(s)).Convert(t), true
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		in, changed := c.copy(v.Elem())
		if !changed {
			return v, false
		}
		if t.Kind() == reflect.Interface {
			return in, true
		}
		out := reflect.New(t.Elem())
		out.Elem().Set(in)
		return out, true
	case reflect.Struct:
		return c.parts(v, t.NumField(), func(x reflect.Value, i int) reflect.Value { return x.Field(i) }, func() reflect.Value {
			out := reflect.New(t).Elem()
			out.Set(v)
			return out
		})
	case reflect.Array, reflect.Slice:
		return c.parts(v, v.Len(), reflect.Value.Index, func() reflect.Value {
			out := reflect.New(t).Elem()
			if t.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
			return out
		})
	case reflect.Map:
		return c.table(v)
	}
	return v, false
}

// parts copies a value of n parts.
func (c *copier) parts(v reflect.Value, n int, part func(reflect.Value, int) reflect.Value, clone func() reflect.Value) (out reflect.Value, changed bool) {
	out = v
	for i := range n {
		p := part(v, i)
		if !p.CanInterface() { // not exported
			continue
		}
		if x, differs := c.copy(p); differs {
			if !changed {
				out, changed = clone(), true
			}
			part(out, i).Set(x)
		}
	}
	return out, changed
}

func (c *copier) table(v reflect.Value) (reflect.Value, bool) {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	any := false
	for i := v.MapRange(); i.Next(); {
		key, other := c.copy(i.Key())
		value, differs := c.copy(i.Value())
		any = any || other || differs
		out.SetMapIndex(key, value)
	}
	if !any {
		return v, false
	}
	return out, true
}

// Writer is w for lines of text with names from other sources: every line that is written to it is as by Lines.
//
// What is written may be JSON, whose texts come out the same: in those are no control characters of ASCII but DEL,
// and \u007f is that.
func Writer(w io.Writer) io.Writer { return writer{w} }

// A writer takes whole lines at a time, as those who print for people write them.
type writer struct{ to io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, Lines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
