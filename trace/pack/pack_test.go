package pack_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/trace/pack"
)

// document is the least that a pack has.
type document struct {
	Name    string                 `json:"name"`
	Columns map[string]pack.Column `json:"columns"`
}

func write(t interface{ Fatal(...any) }, name string, c *pack.Columns) []byte {
	var b bytes.Buffer
	if err := pack.Write(&b, document{name, c.Places}, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Byte by byte as docs/format/page.md has it.
func TestBytes(t *testing.T) {
	var c pack.Columns
	pack.Add(&c, "a", []uint16{1, 0x203})
	pack.Add(&c, "b", []float32{1})
	text := `{"name":"<x>","columns":{"a":{"type":"u16","offset":0,"length":2},"b":{"type":"f32","offset":8,"length":1}}}` + "\n"
	want := []byte("MORIENSPAGE1\n\x00\x00\x00")
	want = binary.LittleEndian.AppendUint32(want, uint32(len(text)))
	want = append(want, 0, 0, 0, 0)
	want = append(want, text...)
	for len(want)%8 != 0 {
		want = append(want, 0)
	}
	want = append(want, 1, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0)
	if got := write(t, "<x>", &c); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is written is read, whatever the numbers and however many.
func TestReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c pack.Columns
		a, b := rapid.SliceOf(rapid.Uint8()).Draw(t, "u8"), rapid.SliceOf(rapid.Int32()).Draw(t, "i32")
		d, e := rapid.SliceOf(rapid.Uint32()).Draw(t, "u32"), rapid.SliceOf(rapid.Float64()).Draw(t, "f64")
		e = append(e, math.NaN())
		pack.Add(&c, "a", a)
		pack.Add(&c, "b", b)
		pack.Add(&c, "d", d)
		pack.Add(&c, "e", e)
		name := rapid.String().Draw(t, "name")
		text, read, err := pack.Read(write(t, name, &c))
		if err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(text, &doc); err != nil || doc.Name != name {
			t.Fatalf("%q is read as %q, %v", name, doc.Name, err)
		}
		same(t, read, "a", a)
		same(t, read, "b", b)
		same(t, read, "d", d)
		same(t, read, "e", e)
	})
}

func same[T pack.Number](t *rapid.T, c *pack.Columns, name string, want []T) {
	got, err := pack.Get[T](c, name)
	equal := func(x, y T) bool { return x == y || math.IsNaN(float64(x)) && math.IsNaN(float64(y)) }
	if err != nil || !slices.EqualFunc(got, want, equal) {
		t.Fatalf("column %s: %v, %v, want %v", name, got, err, want)
	}
}

// Bytes that are no pack are refused, cut ones too.
func TestRefuses(t *testing.T) {
	var c pack.Columns
	pack.Add(&c, "a", []uint16{1, 2, 3, 4})
	whole := write(t, "x", &c)
	for n := range len(whole) {
		if _, _, err := pack.Read(whole[:n]); err == nil || !strings.HasPrefix(err.Error(), "no pack") {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	for _, place := range []string{
		`"type":"u16","offset":0,"length":9`, `"type":"u16","offset":24,"length":0`, `"type":"u16","offset":-8,"length":1`, `"type":"u16","offset":0,"length":-1`,
		`"type":"u16","offset":4,"length":1`, `"type":"i64","offset":0,"length":1`, `"offset":0,"length":1`, `"type":"f64","offset":8,"length":2`,
		fmt.Sprintf(`"type":"f64","offset":0,"length":%d`, math.MaxInt), fmt.Sprintf(`"type":"u8","offset":%d,"length":1`, math.MaxInt&^7),
	} {
		var b bytes.Buffer
		if err := pack.Write(&b, json.RawMessage(`{"columns":{"a":{`+place+`}}}`), &c); err != nil {
			t.Fatal(err)
		}
		if _, _, err := pack.Read(b.Bytes()); err == nil || !strings.HasPrefix(err.Error(), "no pack: column a ") {
			t.Errorf("%s: %v", place, err)
		}
	}
	_, read, err := pack.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pack.Get[uint16](read, "b"); err == nil || err.Error() != "no column b" {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := pack.Get[float64](read, "a"); err == nil || err.Error() != "column a is of type u16, not f64" {
		t.Errorf("a column of another type: %v", err)
	}
}

// One name for two columns would lose one of them.
func TestTwoColumnsOfOneName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it is taken")
		}
	}()
	var c pack.Columns
	pack.Add(&c, "a", []uint8{1})
	pack.Add(&c, "a", []uint8{2})
}
