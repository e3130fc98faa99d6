package points_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/app/points"
	"moriens/internal/files"
	"moriens/internal/hint"
)

// npy returns a file of version 1 with any header, followed by the numbers of data.
func npy(header string, order binary.ByteOrder, data any) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\x93NUMPY\x01\x00%c%c%s", len(header)&255, len(header)>>8, header)
	if err := binary.Write(&b, order, data); err != nil {
		panic(err)
	}
	return b.String()
}

func header(descr, fortran, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, fortran, shape)
}

var little, big = binary.LittleEndian, binary.BigEndian

func TestRead(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	for _, c := range []struct {
		name, file string
		dims       int
		want       []float64
	}{
		{"CSV", "1,2\n3,4\n5,6\n", 2, six},
		{"CSV without an end of line", "1,2\n3,4\n5,6", 2, six},
		{"CSV with names", "x,y,z\n1,2,3\n4,5,6\n", 3, six},
		{"CSV of Windows with blanks and empty lines", "x , y\r\n\r\n 1, 2\r\n3 ,4\r\n\r\n5,6\r\n", 2, six},
		{"CSV with a byte order mark", "\uFEFF1,2\n3,4\n5,6\n", 2, six},
		{"CSV with names after it and after empty lines", "\uFEFF\r\n\nx,y\n1,2\n3,4\n5,6\n", 2, six},
		{"CSV of one column", "1\n-2.5e3\n", 1, []float64{1, -2500}},
		{"float64", npy(header("<f8", "False", "3, 2"), little, six), 2, six},
		{"float32", npy(header("<f4", "False", "2, 3"), little, []float32{1, 2, 3, 4, 5, 6}), 3, six},
		{"big endian", npy(header(">f8", "False", "3, 2"), big, six), 2, six},
		{"by columns", npy(header("<f8", "True", "3, 2"), little, []float64{1, 3, 5, 2, 4, 6}), 2, six},
		{"one dimension", npy(header("<f8", "False", "6,"), little, six), 1, six},
		{"version 2", "\x93NUMPY\x02\x00" + "\x3d\x00\x00\x00" + fmt.Sprintf("%-61s", header("<f8", "False", "1, 1")) + "\x00\x00\x00\x00\x00\x00\xf0\x3f", 1, []float64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := points.Read(strings.NewReader(c.file))
			if err != nil {
				t.Fatal(err)
			}
			if m.Dims != c.dims || !slices.Equal(m.Coords, c.want) || m.Rows() != len(c.want)/c.dims {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	two := []float64{1, 2}
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "no points"},
		{"names alone", "x,y\n", "no points"},
		{"ragged", "1,2\n3\n", "line 2 has 1 columns, those before it 2"},
		{"an empty field", "1,2\n3,\n", `line 2, column 2: "" is not a number`},
		{"text further on", "x,y\n1,2\n3,four\n", `line 3, column 2: "four"`},
		{"half a line of names", "x,2\n", "line 1: numbers and text"},
		{"NaN", "1,2\n3,NaN\n", "line 2, column 2: NaN is not a finite number"},
		{"infinity", "1,2\n-inf,3\n", "line 2, column 1: -Inf"},
		{"a number too large", "1\n1e999\n", "line 2, column 1: +Inf"},
		{"npy: header cut", "\x93NUMPY\x01\x00\x40", "truncated"},
		{"npy: header text cut", "\x93NUMPY\x01\x00\x40\x00{'descr'", "truncated"},
		{"npy: magic alone", "\x93NUMPY", "truncated"},
		{"npy: version", "\x93NUMPY\x09\x00\x40\x00", "version 9"},
		{"npy: huge header", "\x93NUMPY\x02\x00\xff\xff\xff\xff", "bytes long"},
		{"npy: no shape", npy("{'descr': '<f8'}", little, two), "no descr"},
		{"npy: integers", npy(header("<i8", "False", "2, 1"), little, two), `type "<i8": want float32 or float64`},
		{"npy: three axes", npy(header("<f8", "False", "1, 2, 1"), little, two), "shape (1, 2, 1)"},
		{"npy: negative shape", npy(header("<f8", "False", "-1, 2"), little, two), "shape (-1, 2)"},
		{"npy: no rows", npy(header("<f8", "False", "0, 2"), little, two), "no points"},
		{"npy: truncated", npy(header("<f8", "False", "3, 2"), little, two), "truncated: 2 of 6 numbers"},
		{"npy: truncated, promising a lot", npy(header("<f8", "False", "2147483647, 2147483647"), little, two), "truncated: 2 of"},
		{"npy: half a number", npy(header("<f8", "False", "3, 1"), little, []float32{0, 0, 0, 0, 0}), "truncated: 2 of 3"},
		{"npy: too long", npy(header("<f8", "False", "1, 1"), little, two), "more than the 1 × 1"},
		{"npy: NaN", npy(header("<f8", "False", "1, 2"), little, []float64{1, math.NaN()}), "row 0, column 1: NaN"},
		{"npy: infinity by columns", npy(header("<f4", "True", "2, 2"), little, []float32{1, float32(math.Inf(1)), 3, 4}), "row 1, column 0: +Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := points.Read(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want it to say %q", m, err, c.want)
			}
		})
	}
}

// Lines that are longer than the reader's buffer are whole.
func TestLongLine(t *testing.T) {
	line := strings.Repeat("7,", 1<<20) + "8"
	m, err := points.Read(strings.NewReader(line + "\n" + line + "\n"))
	if err != nil || m.Dims != 1<<20+1 || m.Rows() != 2 || m.Coords[m.Dims-1] != 8 || m.Coords[m.Dims] != 7 {
		t.Errorf("%d × %d, %v", m.Rows(), m.Dims, err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "points.csv")
	_, err := points.ReadFile(path)
	if err == nil || hint.Of(err) == "" {
		t.Errorf("absent: %v", err)
	}
	os.WriteFile(path, []byte("1,2\nx,3\n"), 0o644)
	if _, err = points.ReadFile(path); err == nil || hint.Of(err) == "" || !strings.Contains(err.Error(), path+": line 2") {
		t.Errorf("bad: %v", err)
	}
	os.WriteFile(path, []byte("1,2\n"), 0o644)
	if m, err := points.ReadFile(path); err != nil || m.Rows() != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// Ranges of rows, one after the other, are the whole file: the same numbers, or the same error.
func TestRowsProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows, dims := rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "dimensions")
		order := rapid.SampledFrom([]binary.ByteOrder{little, big}).Draw(t, "order")
		descr := map[binary.ByteOrder]string{little: "<", big: ">"}[order]
		var data any
		finite := rapid.Float32Range(-1e6, 1e6)
		single := rapid.SliceOfN(finite, rows*dims, rows*dims).Draw(t, "numbers")
		if bad := rapid.IntRange(0, 4*rows*dims).Draw(t, "not finite"); bad < len(single) {
			single[bad] = float32(math.NaN())
		}
		if data, descr = any(single), descr+"f4"; rapid.Bool().Draw(t, "double") {
			double := make([]float64, len(single))
			for i, v := range single {
				double[i] = float64(v)
			}
			data, descr = double, descr[:1]+"f8"
		}
		fortran := rapid.SampledFrom([]string{"False", "True"}).Draw(t, "by columns")
		file := npy(header(descr, fortran, fmt.Sprintf("%d, %d", rows, dims)), order, data)
		switch length := rapid.IntRange(0, 9).Draw(t, "length"); {
		case slices.ContainsFunc(single, func(v float32) bool { return v != v }): // one mistake at a time
		case length == 0:
			file = file[:len(file)-min(rows, 3)]
		case length == 1:
			file += "more"
		}
		path := filepath.Join(dir, "points.npy")
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		whole, want := points.ReadFile(path)
		var got points.Matrix
		r, err := points.OpenRows(path)
		if err == nil {
			defer r.Close()
			got.Dims = r.Dims
			for begin := 0; begin < r.Count && err == nil; {
				end := rapid.IntRange(begin, r.Count).Draw(t, "end")
				var part points.Matrix
				part, err = r.Read(begin, end)
				got.Coords = append(got.Coords, part.Coords...)
				begin = end
			}
		}
		if (err == nil) != (want == nil) || err != nil && (err.Error() != want.Error() || hint.Of(err) != hint.Of(want)) {
			t.Fatalf("error %v, want %v", err, want)
		}
		if want == nil && (got.Dims != whole.Dims || !slices.Equal(got.Coords, whole.Coords)) {
			t.Fatalf("%+v, want %+v", got, whole)
		}
	})
}

func TestRowsOfOtherFiles(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "points.csv")
	os.WriteFile(csv, []byte("1,2\n"), 0o644)
	if _, err := points.OpenRows(csv); !errors.Is(err, points.ErrWhole) {
		t.Errorf("%s: %v", csv, err)
	}
	if _, err := points.OpenRows(os.DevNull); !errors.Is(err, files.ErrNotRegular) || hint.Of(err) == "" {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	if _, err := points.OpenRows(csv + "absent"); err == nil || errors.Is(err, points.ErrWhole) || hint.Of(err) == "" {
		t.Errorf("absent: %v", err)
	}
	// A shape whose bytes no int64 holds.
	os.WriteFile(csv, []byte(npy(header("<f8", "False", "2147483647, 2147483647"), little, []float64{1, 2})), 0o644)
	if _, err := points.OpenRows(csv); err == nil || !strings.Contains(err.Error(), "truncated: 2 of") {
		t.Errorf("a huge shape: %v", err)
	}
}

// For any input there is a matrix of finite numbers or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("x,y\n1,2\n"))
	f.Add([]byte(npy(header("<f8", "False", "1, 2"), little, []float64{1, 2})))
	f.Add([]byte(npy(header(">f4", "True", "2, 1"), big, []float32{1, 2})))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := points.Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		if m.Dims < 1 || m.Rows() < 1 || m.Rows()*m.Dims != len(m.Coords) {
			t.Fatalf("%d dimensions, %d numbers", m.Dims, len(m.Coords))
		}
		for _, v := range m.Coords {
			if v-v != 0 {
				t.Fatalf("%v", v)
			}
		}
	})
}
