// Package pack is the container in which data goes to the viewer: a JSON document and columns of numbers beside it,
// which JavaScript takes as typed arrays without parsing. docs/format/page.md describes it byte by byte. The package
// does not interpret the columns.
package pack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// magic is what a pack begins with.
const magic = "MORIENSPAGE1\n"

const (
	headBytes  = 24
	placeBytes = 16 // of magic with the zeros behind it
	alignment  = 8
)

// A Type is that of the numbers of a column, all little endian.
type Type string

// The types of columns.
const (
	U8  Type = "u8"
	U16 Type = "u16"
	U32 Type = "u32"
	I32 Type = "i32"
	F32 Type = "f32"
	F64 Type = "f64"
)

var widths = map[Type]int{U8: 1, U16: 2, U32: 4, I32: 4, F32: 4, F64: 8}

// A Column is where a column lies: the offset counts from the end of the padded document, in bytes, the length is in
// numbers.
type Column struct {
	Type   Type `json:"type"`
	Offset int  `json:"offset"`
	Length int  `json:"length"`
}

// Columns gathers columns, in the order in which they are added.
type Columns struct {
	Places map[string]Column
	data   []byte
}

// A Number is what columns hold.
type Number interface {
	uint8 | uint16 | uint32 | int32 | float32 | float64
}

// Add appends a column. A name may be used once.
func Add[T Number](c *Columns, name string, values []T) {
	if _, there := c.Places[name]; there {
		panic("pack: two columns " + name)
	}
	if c.Places == nil {
		c.Places = make(map[string]Column)
	}
	c.Places[name] = Column{typeOf(values), len(c.data), len(values)}
	var err error
	if c.data, err = binary.Append(c.data, binary.LittleEndian, values); err != nil {
		panic(err) // numbers all have a size
	}
	c.data = pad(c.data)
}

func pad(b []byte) []byte {
	for len(b)%alignment != 0 {
		b = append(b, 0)
	}
	return b
}

// Write writes a document, which should hold c.Places as "columns", and the columns.
func Write(w io.Writer, document any, c *Columns) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return err
	}
	if text.Len() > math.MaxUint32 {
		return fmt.Errorf("the document has %d bytes", text.Len())
	}
	head := make([]byte, headBytes)
	copy(head, magic)
	binary.LittleEndian.PutUint32(head[placeBytes:], uint32(text.Len()))
	for _, part := range [][]byte{head, pad(text.Bytes()), c.data} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// errFormat is what Read wraps for bytes that are no pack of this version.
var errFormat = errors.New("no pack")

// Read takes a pack apart. The document's "columns" say where they are; every one of them lies within the bytes.
func Read(b []byte) (document json.RawMessage, c *Columns, err error) {
	if len(b) < headBytes || string(b[:len(magic)]) != magic {
		return nil, nil, errFormat
	}
	length := int64(binary.LittleEndian.Uint32(b[placeBytes:]))
	body := b[headBytes:]
	begin := (length + alignment - 1) / alignment * alignment
	if begin > int64(len(body)) {
		return nil, nil, fmt.Errorf("%w: its document has %d bytes, %d are there", errFormat, length, len(body))
	}
	document, c = json.RawMessage(body[:length]), &Columns{data: body[begin:]}
	var d struct {
		Columns map[string]Column `json:"columns"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	for name, place := range d.Columns {
		width := widths[place.Type]
		if width == 0 || place.Offset < 0 || place.Length < 0 || place.Offset%alignment != 0 ||
			place.Offset > len(c.data) || place.Length > (len(c.data)-place.Offset)/width {
			return nil, nil, fmt.Errorf("%w: column %s of type %q, %d numbers from byte %d on, of %d bytes", errFormat, name, place.Type, place.Length, place.Offset, len(c.data))
		}
	}
	c.Places = d.Columns
	return document, c, nil
}

// Get is a column of a pack, which has to have the type.
func Get[T Number](c *Columns, name string) ([]T, error) {
	place, there := c.Places[name]
	if !there {
		return nil, fmt.Errorf("no column %s", name)
	}
	if want := typeOf([]T(nil)); want != place.Type {
		return nil, fmt.Errorf("column %s is of type %s, not %s", name, place.Type, want)
	}
	values := make([]T, place.Length)
	_, err := binary.Decode(c.data[place.Offset:], binary.LittleEndian, values)
	return values, err
}

func typeOf(values any) Type {
	switch values.(type) {
	case []uint8:
		return U8
	case []uint16:
		return U16
	case []uint32:
		return U32
	case []int32:
		return I32
	case []float32:
		return F32
	}
	return F64
}
