package window_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"moriens/agent/window"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// FuzzFiles opens a store whose files hold anything with correct checksums: it reports errors, or works with it.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	s := openAt(f, dir, 0, 0)
	j := job{ranks: 2, sends: 2, skip: 1}
	if _, err := s.Append(j.introduce()); err != nil {
		f.Fatal(err)
	}
	for n := range uint64(3) {
		if _, err := s.Append(j.iterate(n+2, 2)); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.Compact(); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "ordinary-*"))
	if err != nil || len(logs) != 1 { // of one chunk
		f.Fatal(logs, err)
	}
	name := filepath.Base(logs[0])
	last := func(dir, kind string) (record []byte) {
		log, err := segment.Open(dir, kind, 1<<30)
		if err != nil {
			f.Fatal(err)
		}
		defer log.Close()
		if err := log.Read(segment.Position{}, func(_ segment.Position, r []byte) error { record = bytes.Clone(r); return nil }); err != nil {
			f.Fatal(err)
		}
		return record
	}
	state, windows := last(filepath.Join(dir, "state"), "winstate"), last(logs[0], "windows")
	f.Add(state, windows, windows)
	f.Add(state, windows[:20], windows)
	f.Add(state, windows[:60], []byte{})
	f.Add([]byte{}, windows, windows)
	f.Fuzz(func(t *testing.T, state, first, second []byte) {
		dir := ofTest(t)
		for _, x := range []struct {
			name, kind string
			records    [][]byte
		}{{"state", "winstate", [][]byte{state}}, {name, "windows", [][]byte{first, second}}} {
			log, err := segment.Open(filepath.Join(dir, x.name), x.kind, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			log.Compress(false)
			if _, err := log.Append(x.records...); err != nil {
				t.Fatal(err)
			}
			log.Close()
		}
		for _, whole := range []bool{false, true} {
			s, err := window.Open(window.Config{Run: run, Dir: dir, Committed: 4, Whole: whole, Max: func() int64 { return 1 << 16 }, Log: quiet})
			if err != nil {
				if !strings.Contains(err.Error(), dir) {
					t.Errorf("which files? %v", err)
				}
				return
			}
			if bytes := s.Stats().Bytes; bytes != onDisk(t, dir) {
				t.Errorf("%d bytes, %d on disk", bytes, onDisk(t, dir))
			}
			s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: []uint64{0, 1 << 16, 2 << 16}})
			for _, f := range []*moriensv1.Fetch{{Window: j.names(9)}, {Ring: []uint64{1}, FirstRow: []uint64{0}, BehindRow: []uint64{1 << 60}}, {Transfers: true}, {Everything: true}} {
				s.Fetch(f, func(*moriensv1.WindowPart) error { return nil })
			}
			if whole {
				s.Replay(func([]*moriensv1.ReportRequest) {}, func([]byte) error { return nil })
			}
			next := job{ranks: 1, sends: 1, skip: 1}
			x := next.introduce()
			x.Number = s.Last() + 1
			_, _ = s.Append(x) // it may contradict what is there
			_, _ = s.Append(next.iterate(s.Last()+1, 2))
			s.Undo()
			s.GiveWay()
			s.Close()
		}
	})
}
