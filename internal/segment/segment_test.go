package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/segment"
)

func open(t testing.TB, dir string) *segment.Log {
	t.Helper()
	l, err := segment.Open(dir, "test", 1<<12)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t testing.TB, l *segment.Log, from segment.Position) (records [][]byte) {
	t.Helper()
	last := from
	err := l.Read(from, func(end segment.Position, record []byte) error {
		if !last.Before(end) {
			t.Errorf("record ends at %v, after %v", end, last)
		}
		last = end
		records = append(records, bytes.Clone(record))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func same(a, b [][]byte) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d records, want %d", len(a), len(b))
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Errorf("record %d differs", i)
		}
	}
	return nil
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "segment-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l, err := segment.Open(dir, "test", 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]byte
		ends := map[segment.Position]int{{}: 0}
		for range rapid.IntRange(0, 30).Draw(t, "appends") {
			records := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteMax(3), 0, 600), 1, 4).Draw(t, "records")
			end, err := l.Append(records...)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, records...)
			ends[end] = len(want)
			if rapid.IntRange(0, 9).Draw(t, "reopen") == 0 {
				l.Close()
				if l, err = segment.Open(dir, "test", 1<<10); err != nil {
					t.Fatal(err)
				}
			}
		}
		defer l.Close()
		for from, n := range ends {
			var got [][]byte
			if err := l.Read(from, func(_ segment.Position, r []byte) error { got = append(got, bytes.Clone(r)); return nil }); err != nil {
				t.Fatal(err)
			}
			if err := same(got, want[n:]); err != nil {
				t.Fatalf("from %v: %v", from, err)
			}
		}
	})
}

// Whatever of the last write reached the file: the records before it are there, and writing continues.
func TestTornTailIsCut(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	kept := [][]byte{[]byte("first"), bytes.Repeat([]byte("second "), 100)}
	if _, err := l.Append(kept...); err != nil {
		t.Fatal(err)
	}
	whole := l.End().Offset
	if _, err := l.Append(bytes.Repeat([]byte{7, 8, 9}, 50)); err != nil {
		t.Fatal(err)
	}
	l.Close()
	path := filepath.Join(dir, "00000001.seg")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < int64(len(file)); n++ {
		if err := os.WriteFile(path, file[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, dir)
		got := read(t, l, segment.Position{})
		if n >= whole {
			if err := same(got, kept); err != nil {
				t.Fatalf("%d bytes left: %v", n, err)
			}
			if l.Cut() != n-whole {
				t.Fatalf("%d bytes left: %d cut, want %d", n, l.Cut(), n-whole)
			}
		}
		if _, err := l.Append([]byte("next")); err != nil {
			t.Fatal(err)
		}
		if after := read(t, l, segment.Position{}); len(after) != len(got)+1 || string(after[len(got)]) != "next" {
			t.Fatalf("%d bytes left: writing did not go on", n)
		}
		l.Close()
	}
}

// A changed byte in a file that is not the last one is no unfinished write: it is an error that says where.
func TestCorruptionIsAnError(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for range 3 {
		if _, err := l.Append(bytes.Repeat([]byte("abc"), 40)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := filepath.Join(dir, "00000001.seg")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 0x40
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		err := l.Read(segment.Position{}, func(segment.Position, []byte) error { return nil })
		if !errors.Is(err, segment.ErrCorrupt) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
}

func TestKindsDoNotMix(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	if _, err := segment.Open(dir, "other", 1<<12); !errors.Is(err, segment.ErrCorrupt) {
		t.Errorf("a log of another kind opens: %v", err)
	}
	if _, err := segment.Open(t.TempDir(), "much too long", 1<<12); err == nil {
		t.Error("a kind of 13 characters is taken")
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	defer l.Close()
	for range 40 {
		noise := make([]byte, 400)
		for i := range noise {
			noise[i] = byte(i * i)
		}
		if _, err := l.Append(noise); err != nil {
			t.Fatal(err)
		}
	}
	files := l.Files()
	if len(files) < 2 {
		t.Fatalf("%d files", len(files))
	}
	if err := l.Remove(files[len(files)-1].Number); err == nil {
		t.Error("the file that is written to was removed")
	}
	if err := l.Remove(files[0].Number); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, f := range l.Files() {
		if err := l.ReadFile(f.Number, func(segment.Position, []byte) error { want++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(read(t, l, segment.Position{})); got != want || got == 40 {
		t.Errorf("%d records left, %d in the files", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, "00000002.seg"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What is taken back is gone, and only that.
func TestTakeBack(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	kept := [][]byte{[]byte("first"), []byte("second")}
	if _, err := l.Append(kept[0]); err != nil {
		t.Fatal(err)
	}
	before := l.End()
	if _, err := l.Append([]byte("lost"), bytes.Repeat([]byte("lost"), 100)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once more changes nothing
		if err := l.TakeBack(); err != nil || l.End() != before {
			t.Fatalf("end %v, %v, want %v", l.End(), err, before)
		}
	}
	if _, err := l.Append(kept[1]); err != nil {
		t.Fatal(err)
	}
	if err := same(read(t, l, segment.Position{}), kept); err != nil {
		t.Error(err)
	}
	l.Close()
	l = open(t, dir)
	defer l.Close()
	if err := l.TakeBack(); err != nil {
		t.Fatal(err)
	}
	if err := same(read(t, l, segment.Position{}), kept); err != nil || l.Cut() != 0 {
		t.Errorf("after opening there is nothing to take back: %v, %d cut", err, l.Cut())
	}
}

func TestTruncate(t *testing.T) {
	l := open(t, t.TempDir())
	defer l.Close()
	var ends []segment.Position
	for _, r := range []string{"one", "two", "three"} {
		end, err := l.Append([]byte(r))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if err := l.Truncate(ends[0]); err == nil {
		t.Error("the file that is written to was cut")
	}
	if err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append([]byte("four")); err != nil {
		t.Fatal(err)
	}
	if err := l.Truncate(segment.Position{File: 1, Offset: 1 << 20}); err == nil {
		t.Error("a file was cut behind its end")
	}
	if err := l.Truncate(ends[1]); err != nil {
		t.Fatal(err)
	}
	if err := same(read(t, l, segment.Position{}), [][]byte{[]byte("one"), []byte("two"), []byte("four")}); err != nil {
		t.Error(err)
	}
	if files := l.Files(); files[0].Bytes != ends[1].Offset {
		t.Errorf("files %v, cut at %v", files, ends[1])
	}
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	l := open(f, dir)
	if _, err := l.Append([]byte("short"), bytes.Repeat([]byte("long "), 200)); err != nil {
		f.Fatal(err)
	}
	l.Close()
	file, err := os.ReadFile(filepath.Join(dir, "00000001.seg"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "00000001.seg"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := segment.Open(dir, "test", 1<<12)
		if err != nil {
			return
		}
		defer l.Close()
		n := 0
		if err := l.Read(segment.Position{}, func(segment.Position, []byte) error { n++; return nil }); err != nil && !errors.Is(err, segment.ErrCorrupt) {
			t.Fatal(err)
		}
		if _, err := l.Append([]byte("more")); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := segment.Open(b.TempDir(), "test", 64<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	record := make([]byte, 16<<10)
	for i := range record {
		record[i] = byte(i*7) & byte(i>>6)
	}
	b.SetBytes(int64(len(record)))
	for b.Loop() {
		if _, err := l.Append(record); err != nil {
			b.Fatal(err)
		}
	}
}
