package window_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"moriens/agent/window"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// logs are a store's, with the kinds of their segments.
var logs = []struct{ name, kind string }{{"state", "winstate"}, {"sorted", "winsort"}, {"fresh", "winfresh"}}

// FuzzFiles opens a store whose files hold anything with correct checksums: it reports errors, or works with it.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	s := open(f, dir, 0)
	j := job{ranks: 2}
	if err := s.Append(1, j.introduce()); err != nil {
		f.Fatal(err)
	}
	for n := range uint64(3) {
		if err := s.Append(n+2, j.iterate(2, 1, -1)); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	var records [3][]byte
	for i, l := range logs {
		log, err := segment.Open(filepath.Join(dir, l.name), l.kind, 1<<30)
		if err != nil {
			f.Fatal(err)
		}
		err = log.Read(segment.Position{}, func(_ segment.Position, r []byte) error {
			if len(r) > len(records[i]) {
				records[i] = bytes.Clone(r)
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		log.Close()
	}
	f.Add(records[0], records[1], records[2])
	f.Add(records[0], []byte{}, records[2])
	f.Add([]byte{}, []byte{}, records[2])
	f.Fuzz(func(t *testing.T, state, sorted, fresh []byte) {
		dir := t.TempDir()
		for i, record := range [][]byte{state, sorted, fresh} {
			log, err := segment.Open(filepath.Join(dir, logs[i].name), logs[i].kind, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := log.Append(record); err != nil {
				t.Fatal(err)
			}
			log.Close()
		}
		s, err := window.Open(window.Config{Run: run, Dir: dir, Committed: 1 << 62, Max: func() int64 { return 1 << 16 }, Log: quiet})
		if err != nil {
			return
		}
		defer s.Close()
		if s.Stats().Bytes < 0 {
			t.Errorf("%d bytes", s.Stats().Bytes)
		}
		s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: []uint64{0, 1, 2}})
		s.Fetch(&moriensv1.Fetch{Window: []uint64{0, 1, 2}}, func(*moriensv1.WindowPart) error { return nil })
		j := job{ranks: 1}
		_ = s.Append(s.Last()+1, append(j.introduce(), j.iterate(2, 1, -1)...)) // it may contradict what is there
	})
}
