package rundir

import (
	"fmt"
	"reflect"
	"strings"

	"moriens/internal/files"
)

// What the values of a document may take in memory: so many bytes, and so many for each byte of its text. Documents
// that moriens writes name every field and take less than twice their text; one of empty objects would take a hundred
// times its own.
const (
	freeBytes    = 64 << 20
	bytesPerByte = 8
)

// afford reports whether a document, which is well-formed, decodes into a value of a type within what it may take.
func afford(text []byte, t reflect.Type) error {
	b := bill{text: text, left: freeBytes + bytesPerByte*int64(len(text)), fields: make(map[reflect.Type]map[string]reflect.Type)}
	if !b.value(t) {
		return fmt.Errorf("%w: its lists would take more than %d bytes of memory per byte of the file", files.ErrTooLarge, bytesPerByte)
	}
	return nil
}

// A bill goes through a document as the decoder will.
type bill struct {
	text   []byte
	at     int
	left   int64
	fields map[reflect.Type]map[string]reflect.Type // by type, in lower case
}

// next is the next byte that is no space; 0 at the end.
func (b *bill) next() byte {
	for ; b.at < len(b.text); b.at++ {
		switch c := b.text[b.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value goes behind the value at hand, which is decoded into one of type t, nil where it is passed over, and says
// whether there is enough for it.
func (b *bill) value(t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		b.left -= int64(t.Size())
	}
	switch b.next() {
	case '{':
		return b.list('}', func() bool { return b.member(t) })
	case '[':
		var of reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Interface:
			of = t
		case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
			of = t.Elem()
		}
		return b.list(']', func() bool {
			if of != nil {
				b.left -= int64(of.Size())
			}
			return b.value(of)
		})
	case '"':
		b.string()
	default:
		for b.at < len(b.text) && strings.IndexByte(",]} \t\r\n", b.text[b.at]) < 0 {
			b.at++
		}
	}
	return b.left >= 0
}

// list goes through what stands between brackets, up to the closing one.
func (b *bill) list(end byte, each func() bool) bool {
	b.at++
	for b.left >= 0 {
		switch b.next() {
		case end:
			b.at++
			return true
		case 0:
			return true
		case ',':
			b.at++
			continue
		}
		if !each() {
			return false
		}
	}
	return false
}

// ofEntry is what an entry of a map takes beside key and value.
const ofEntry = 48

func (b *bill) member(t reflect.Type) bool {
	name := b.string()
	b.next() // the colon
	b.at++
	switch {
	case t == nil:
		return b.value(nil)
	case t.Kind() == reflect.Struct:
		return b.value(b.fieldsOf(t)[strings.ToLower(string(name))])
	case t.Kind() == reflect.Map:
		b.left -= int64(t.Key().Size()+t.Elem().Size()) + ofEntry
		return b.value(t.Elem())
	case t.Kind() == reflect.Interface:
		b.left -= 2*int64(t.Size()) + ofEntry
		return b.value(t)
	}
	return b.value(nil)
}

// string goes behind a string and returns what is between its quotes.
func (b *bill) string() []byte {
	b.at++
	begin := b.at
	for ; b.at < len(b.text) && b.text[b.at] != '"'; b.at++ {
		if b.text[b.at] == '\\' {
			b.at++
		}
	}
	end := min(b.at, len(b.text))
	b.at++
	return b.text[begin:end]
}

func (b *bill) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := b.fields[t]; ok {
		return known
	}
	list := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		list[strings.ToLower(name)] = f.Type
	}
	b.fields[t] = list
	return list
}
