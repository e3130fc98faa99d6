package overview

import (
	"bytes"
	"testing"

	"moriens/trace"
)

// FuzzRead reads damaged files: whatever they hold, what is returned fits together and is written as it was read. The
// files are not compressed: through a compressor, a fuzzer would find new inputs without end.
func FuzzRead(f *testing.F) {
	var whole bytes.Buffer
	small := &Overview{
		EndNS: 10, Bins: 2, Rows: [][2]int{{0, 0}, {1, 2}}, Codes: []int{Nothing, MPI}, Cell: []uint16{0, 1, 1, 1}, Share: []uint8{255, 17, 34, 51}, Profile: []float32{1, 0, .5, 2},
		Wait: []uint8{0, 5, 0, 1}, Waiting: make([]uint8, 2*trace.WaitKinds), Path: Path{Row: []uint16{0, 1, 0, 0, 1, 0, 0, 0}, Share: []uint8{204, 51, 0, 0, 255, 0, 0, 0}},
	}
	if err := small.write(&whole); err != nil {
		f.Fatal(err)
	}
	var none bytes.Buffer // its lists are null
	if err := (&Overview{EndNS: 10, Bins: 2}).write(&none); err != nil {
		f.Fatal(err)
	}
	f.Add(none.Bytes())
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := parse(text)
		if err != nil {
			return
		}
		if cells := len(o.Rows) * o.Bins; o.Rows == nil || o.Codes == nil || o.Bins < 1 || o.Bins > maxFile || cells != len(o.Cell) || cells != len(o.Share) || len(o.Codes)*o.Bins != len(o.Profile) {
			t.Fatalf("%d rows of %d bins, %d cells, %d shares, %d codes, %d sums", len(o.Rows), o.Bins, len(o.Cell), len(o.Share), len(o.Codes), len(o.Profile))
		}
		for i, row := range o.Path.Row {
			if len(o.Path.Row) != o.Bins*PathRows || len(o.Path.Share) != len(o.Path.Row) || o.Path.Share[i] > 0 && int(row) >= len(o.Rows) {
				t.Fatalf("%d rows of %d bins, critical path %v", len(o.Rows), o.Bins, o.Path)
			}
		}
		var first, second bytes.Buffer
		if err := o.write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := parse(first.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("what was written is read as something else: %v", err)
		}
	})
}
