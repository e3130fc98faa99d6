package segment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"moriens/internal/segment"
)

// A record is found by where it begins, whether it is compressed or not, by a log that was opened again too.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	var records [][]byte
	var begins []int64
	for i, r := range [][]byte{{}, []byte("short"), bytes.Repeat([]byte("long "), 500), bytes.Repeat([]byte("plain "), 500), []byte("last")} {
		l.Compress(i != 3)
		begins = append(begins, l.End().Offset)
		records = append(records, r)
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if begins[0] != segment.Start || begins[3]-begins[2] > 500 || begins[4]-begins[3] < 3000 {
		t.Fatalf("records begin at %v: which are compressed?", begins)
	}
	for range 2 {
		for i, begin := range begins {
			if got, err := l.Record(begin); err != nil || !bytes.Equal(got, records[i]) {
				t.Errorf("record %d: %d bytes, %v", i, len(got), err)
			}
		}
		for _, offset := range []int64{0, 1, segment.Start + 1, begins[2] + 8, l.End().Offset - 1, l.End().Offset, l.End().Offset + 1, 1 << 40} {
			if _, err := l.Record(offset); !errors.Is(err, segment.ErrCorrupt) {
				t.Errorf("at offset %d: %v", offset, err)
			}
		}
		if _, err := l.Record(-1); err == nil {
			t.Error("a record before the file")
		}
		l.Close()
		l = open(t, dir)
	}
	l.Close()
}

// A changed byte anywhere in a record is an error that says where, and costs no other one.
func TestRecordIsCorrupt(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	defer l.Close()
	records := [][]byte{[]byte("before"), bytes.Repeat([]byte("changed "), 100), []byte("behind")}
	begins := []int64{segment.Start}
	for _, r := range records {
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
		begins = append(begins, l.End().Offset)
	}
	path := filepath.Join(dir, "00000001.seg")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := begins[1]; at < begins[2]; at++ {
		if _, err := file.WriteAt([]byte{whole[at] ^ 0x10}, at); err != nil {
			t.Fatal(err)
		}
		for i, r := range records {
			got, err := l.Record(begins[i])
			if i == 1 {
				if !errors.Is(err, segment.ErrCorrupt) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
					t.Fatalf("byte %d changed: %v", at, err)
				}
			} else if err != nil || !bytes.Equal(got, r) {
				t.Fatalf("byte %d changed: record %d: %v", at, i, err)
			}
		}
		if _, err := file.WriteAt(whole[at:at+1], at); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Truncate(begins[2] - 1); err != nil { // by another process
		t.Fatal(err)
	}
	for i := 1; i < 3; i++ {
		if _, err := l.Record(begins[i]); !errors.Is(err, segment.ErrCorrupt) {
			t.Errorf("record %d of a file that was cut: %v", i, err)
		}
	}
}

// What follows an offset is cut off, of any number of Appends, and writing continues there.
func TestCutAt(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	records := [][]byte{[]byte("one"), bytes.Repeat([]byte("two "), 100), []byte("three"), []byte("four")}
	ends := []int64{segment.Start}
	for _, r := range records {
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, l.End().Offset)
	}
	for _, offset := range []int64{-1, 0, segment.Start - 1, ends[4] + 1} {
		if err := l.CutAt(offset); err == nil || l.End().Offset != ends[4] {
			t.Errorf("cut at %d: %v, the end is %v", offset, err, l.End())
		}
	}
	for n := 4; n >= 0; n-- {
		if err := l.CutAt(ends[n]); err != nil {
			t.Fatal(err)
		}
		if err := l.TakeBack(); n < 4 && (err != nil || l.End().Offset != ends[n]) {
			t.Fatalf("nothing is left to take back: %v, the end is %v", err, l.End())
		}
		left := min(n, 3) // the last one is taken back
		if err := same(read(t, l, segment.Position{}), records[:left]); err != nil || l.Bytes() != ends[left] {
			t.Errorf("cut behind %d records: %v, %d bytes", n, err, l.Bytes())
		}
		if left < 4 {
			if _, err := l.Record(ends[left]); !errors.Is(err, segment.ErrCorrupt) {
				t.Errorf("behind the end: %v", err)
			}
		}
	}
	if _, err := l.Append([]byte("next")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = open(t, dir)
	defer l.Close()
	if err := same(read(t, l, segment.Position{}), [][]byte{[]byte("next")}); err != nil || l.Cut() != 0 {
		t.Errorf("%v, %d cut", err, l.Cut())
	}
}
