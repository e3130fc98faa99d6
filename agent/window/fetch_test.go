package window_test

import (
	"os"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/window"
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// fetchBetween fetches, and calls between before each part that arrives, to change the store. It returns what has
// arrived by process and window, and what is reported as gone.
func fetchBetween(t tester, s *window.Store, f *moriensv1.Fetch, between func()) (arrived map[[2]uint64]map[flat]int, gone map[[2]uint64]bool) {
	t.Helper()
	arrived, gone = make(map[[2]uint64]map[flat]int), make(map[[2]uint64]bool)
	end := s.Fetch(f, func(p *moriensv1.WindowPart) error {
		between()
		at := [2]uint64{p.Process, p.Window}
		if arrived[at] == nil {
			arrived[at] = make(map[flat]int)
		}
		flatten(p.Messages, arrived[at])
		return nil
	})
	if end.Error != "" {
		t.Fatalf("fetch: %v", end)
	}
	for i, id := range end.GoneProcess {
		gone[[2]uint64{id, end.GoneWindow[i]}] = true
	}
	return arrived, gone
}

// byWindow is what a job's messages say, by process and window. A ring has its process's id.
func byWindow(messages []*moriensv1.ReportRequest, to map[[2]uint64]map[flat]int) {
	all := make(map[flat]int)
	flatten(messages, all)
	for line, n := range all {
		at := [2]uint64{line.ring, uint64(windowOf(line))}
		if to[at] == nil {
			to[at] = make(map[flat]int)
		}
		to[at][line] += n
	}
}

// While windows are fetched others arrive, and files are sorted, merged and cut: each window is returned whole and
// once, or is reported as gone.
func TestFetchWhileTheStoreChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "moriens-window-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := open(t, dir, rapid.SampledFrom([]int64{0, 32 << 10, 64 << 10}).Draw(t, "max"))
		defer s.Close()
		s.FetchBy(rapid.IntRange(1, 8).Draw(t, "runs"))
		j := &job{ranks: 2}
		transaction := uint64(1)
		if err := s.Append(transaction, j.introduce()); err != nil {
			t.Fatal(err)
		}
		said := make(map[[2]uint64]map[flat]int)
		commit := func() {
			messages := j.iterate(3, 20, -1)
			byWindow(messages, said)
			transaction++
			if err := s.Append(transaction, messages); err != nil {
				t.Fatal(err)
			}
		}
		pinned := rapid.SliceOf(rapid.Uint64Range(0, 300)).Draw(t, "pinned")
		s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: pinned})
		for range rapid.IntRange(1, 60).Draw(t, "commits") {
			commit()
		}
		before := make(map[[2]uint64]int) // how much had been said when the fetch began
		for at, lines := range said {
			before[at] = len(lines)
		}
		steps := rapid.SliceOfN(rapid.IntRange(0, 25), 1, 6).Draw(t, "steps")
		arrived, gone := fetchBetween(t, s, &moriensv1.Fetch{Window: numbered(int(j.meets))}, func() {
			if len(steps) == 0 {
				return
			}
			for range steps[0] {
				commit()
			}
			steps = steps[1:]
			if err := s.Sort(); err != nil {
				t.Fatal(err)
			}
		})
		for at, n := range before {
			if got := arrived[at]; gone[at] != (got == nil) || !gone[at] && len(got) < n {
				t.Fatalf("process %d, window %d: %d of %d lines arrived, reported as gone: %t", at[0], at[1], len(got), n, gone[at])
			}
		}
		for at, lines := range arrived {
			for line, n := range lines {
				if said[at][line] != n {
					t.Fatalf("process %d, window %d: %+v is there %d times, was said %d times", at[0], at[1], line, n, said[at][line])
				}
			}
		}
	})
}

// Of a window with missing parts nothing is returned, though the rest of it is still there, wherever that is.
func TestFetchTorn(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	defer s.Close()
	j := &job{ranks: 2}
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	play(t, s, j, 2, 10, -1)
	if err := s.Sort(); err != nil {
		t.Fatal(err)
	}
	play(t, s, j, 12, 10, -1)
	for _, n := range []uint64{7, 40} {
		s.Tear(2, anchor.After(n))
	}
	arrived, gone := fetchBetween(t, s, &moriensv1.Fetch{Window: numbered(59)}, func() {})
	for n := range uint64(60) {
		for process := range uint64(2) {
			at := [2]uint64{process + 1, uint64(anchor.After(n))}
			if torn := process == 1 && (n == 7 || n == 40); gone[at] != torn || (arrived[at] == nil) != torn {
				t.Errorf("process %d, window %d: %d lines, reported as gone: %t", at[0], n, len(arrived[at]), gone[at])
			}
		}
	}
}

// While a collector is slow to take what it asked for there is room for what ranks write: nothing is lost for its sake,
// only what is evicted in its turn.
func TestSlowFetchLosesNothing(t *testing.T) {
	for name, f := range map[string]*moriensv1.Fetch{"windows": {Window: numbered(1000)}, "transfers": {Transfers: true}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), 96<<10)
			defer s.Close()
			s.FetchBy(4)
			j := &job{ranks: 2}
			if err := s.Append(1, j.introduce()); err != nil {
				t.Fatal(err)
			}
			play(t, s, j, 2, 100, -1)
			was := s.Stats().EvictedWindows
			slow := false
			fetchBetween(t, s, f, func() {
				if !slow {
					slow = true
					play(t, s, j, 102, 200, -1)
				}
			})
			stats := s.Stats()
			if !slow || stats.EvictedWindows < was+100 {
				t.Fatalf("%d windows were evicted before, %d in all", was, stats.EvictedWindows)
			}
			_, gone := fetch(t, s, numbered(int(j.meets)))
			for _, w := range gone {
				if hash := anchor.ID(w).Hash(run); hash <= stats.Below {
					t.Errorf("window %d is gone with hash %x, all up to %x should be here", w, hash, stats.Below)
				}
			}
		})
	}
}
