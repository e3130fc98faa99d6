package segment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"moriens/internal/segment"
)

// A file that is replaced holds the other records, in its place among those of the others; what died over a replacement
// leaves is no part of the log.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for _, r := range []string{"a", "b", "c"} {
		if _, err := l.Append([]byte(r), []byte(r+r)); err != nil {
			t.Fatal(err)
		}
		if r != "c" {
			if err := l.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Replace(2, []byte("B")); err != nil {
		t.Fatal(err)
	}
	if err := l.Replace(3, []byte("C")); err == nil {
		t.Error("the file that is written to is replaced")
	}
	if err := os.WriteFile(filepath.Join(dir, "00000001.seg.new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := [][]byte{[]byte("a"), []byte("aa"), []byte("B"), []byte("c"), []byte("cc")}
	for range 2 {
		if err := same(read(t, l, segment.Position{}), want); err != nil {
			t.Error(err)
		}
		for _, f := range l.Files() {
			if info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%08d.seg", f.Number))); err != nil || info.Size() != f.Bytes {
				t.Errorf("file %d has %v, not %d bytes: %v", f.Number, info, f.Bytes, err)
			}
		}
		l.Close()
		l = open(t, dir)
	}
	l.Close()
}

// A log that is restarted has nothing of before, and takes more.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for range 3 {
		if _, err := l.Append([]byte("before")); err != nil {
			t.Fatal(err)
		}
		if err := l.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Append([]byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := l.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, l, segment.Position{}); len(got) != 0 || l.Bytes() != segment.Start {
		t.Errorf("%q, %d bytes", got, l.Bytes())
	}
	if _, err := l.Append([]byte("behind")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = open(t, dir)
	defer l.Close()
	if err := same(read(t, l, segment.Position{}), [][]byte{[]byte("behind")}); err != nil {
		t.Error(err)
	}
}
