package window_test

import (
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"moriens/agent/window"
	"moriens/internal/anchor"
)

// Windows whose files were removed, or that were given up on a full disk, are gone and counted; later ones are held,
// also by a restarted agent.
func TestAgain(t *testing.T) {
	for _, what := range []string{".", "fresh", "sorted", "state", "full disk"} {
		t.Run(what, func(t *testing.T) {
			const commits, ranks = 30, 2
			dir := filepath.Join(t.TempDir(), "windows")
			s := openAt(t, dir, 0, 1<<62)
			j := &job{ranks: ranks}
			if err := s.Append(1, j.introduce()); err != nil {
				t.Fatal(err)
			}
			play(t, s, j, 2, commits, -1)
			if err := s.Sort(); err != nil {
				t.Fatal(err)
			}
			before := j.meets
			s.Again(dir)
			if _, gone := fetch(t, s, numbered(int(before))); len(gone) > 0 {
				t.Fatalf("%d windows are gone, and nobody has removed any", len(gone))
			}
			if what == "full disk" {
				s.GiveWay()
			} else if err := os.RemoveAll(filepath.Join(dir, what)); err != nil {
				t.Fatal(err)
			}
			s.Again(dir)
			said := play(t, s, j, commits+2, commits, -1)
			check := func(s *window.Store) {
				t.Helper()
				windows, gone := fetch(t, s, numbered(int(j.meets)))
				if d := gocmp.Diff(said, windows); d != "" || len(gone) != int(before) || s.Stats().EvictedWindows != ranks*before || s.Failed() != nil {
					t.Errorf("%d gone of %d, %+v, %v; windows differ (-want +got):\n%s", len(gone), before, s.Stats(), s.Failed(), d)
				}
				for _, w := range gone {
					if anchor.ID(w) >= anchor.After(before) {
						t.Errorf("window %d is gone", w)
					}
				}
			}
			check(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, 0, 2*commits+1)
			defer s.Close()
			if s.Last() != 2*commits+1 {
				t.Errorf("goes on behind %d", s.Last())
			}
			check(s)
		})
	}
}
