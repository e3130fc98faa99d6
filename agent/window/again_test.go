package window_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	moriensv1 "moriens/proto/moriens/v1"
)

// Windows whose files were removed, or that were given up on a full disk, are gone and counted; later ones are
// held, also by a restarted agent.
func TestAgain(t *testing.T) {
	logs := func(dir string) []string {
		list, _ := filepath.Glob(filepath.Join(dir, "*-*"))
		return list
	}
	for what, do := range map[string]func(dir string) error{
		"all":       os.RemoveAll,
		"the state": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "state")) },
		"a log":     func(dir string) error { return os.RemoveAll(logs(dir)[0]) },
		"a file":    func(dir string) error { return os.Remove(filepath.Join(logs(dir)[1], "00000001.seg")) },
		"full disk": nil,
		"moved":     nil,
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(ofTest(t), "windows")
			s := openAt(t, dir, 0, 0)
			j := &job{ranks: 2, sends: 4, skip: 64}
			if _, err := s.Append(j.introduce()); err != nil {
				t.Fatal(err)
			}
			said := make(map[place]moves)
			j.play(t, s, 2, 10, 3, said, nil)
			s.Again(dir)
			if held := holds(t, s, said); len(held) != len(said) {
				t.Fatalf("%d of %d windows are held, and nobody has removed any", len(held), len(said))
			}
			bytes := uint64(s.Stats().Bytes)
			undone := j.iterate(12, 1) // nothing of it was committed
			j.say(undone.Moves, said)
			if _, err := s.Append(undone); err != nil {
				t.Fatal(err)
			}
			s.Undo()
			switch {
			case what == "full disk":
				s.GiveWay()
				s.GiveWay() // there is nothing left
			case what == "moved":
				dir = filepath.Join(ofTest(t), "other")
			default:
				if err := do(dir); err != nil {
					t.Fatal(err)
				}
			}
			s.Again(dir)
			if stats := s.Stats(); stats.EvictedWindows != uint64(len(said)) || stats.EvictedBytes == 0 || stats.EvictedBytes > 2*bytes || onDisk(t, dir) != stats.Bytes {
				t.Fatalf("%+v, %d on disk, of %d windows with %d bytes", stats, onDisk(t, dir), len(said), bytes)
			}
			killed := filepath.Join(ofTest(t), "killed") // before the transaction recurs
			filesIn(t, dir).write(t, killed)
			next := openAt(t, killed, 0, 11)
			if _, err := next.Append(undone); err != nil {
				t.Fatal(err)
			}
			if n := next.Stats().EvictedWindows; n != uint64(len(said)) {
				t.Errorf("killed, and the transaction recurs: %d windows are evicted, want %d", n, len(said))
			}
			if err := next.Close(); err != nil {
				t.Fatal(err)
			}
			gone := maps.Clone(said)
			lost := func(at place) bool { return gone[at] != nil }
			check := func() {
				t.Helper()
				got, isGone := fetch(t, s, &moriensv1.Fetch{Window: j.names(j.done)})
				if len(isGone) != len(gone) || len(only(isGone, lost)) != len(gone) || s.Stats().EvictedWindows != uint64(len(gone)) || s.Failed() != nil {
					t.Fatalf("%d windows are gone, %d counted, want %d, %v", len(isGone), s.Stats().EvictedWindows, len(gone), s.Failed())
				}
				for at, want := range said {
					if !lost(at) && (got[at] == nil || !maps.Equal(got[at].Moves, want)) {
						t.Fatalf("%v is not held", at)
					}
				}
			}
			if _, err := s.Append(undone); err != nil { // it recurs: of windows that are gone
				t.Fatal(err)
			}
			j.play(t, s, 13, 10, 3, said, nil)
			check()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, 0, 22)
			defer func() { s.Close() }()
			if s.Last() != 22 {
				t.Errorf("goes on behind %d", s.Last())
			}
			check()
			j.play(t, s, 23, 2, 3, said, nil)
			check()
		})
	}
}
