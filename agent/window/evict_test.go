package window_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/window"
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// play appends iterations of a job, a few a commit, and returns what they say by window.
func play(t tester, s *window.Store, j *job, first uint64, commits, slow int) map[anchor.ID]map[flat]int {
	t.Helper()
	said := make(map[anchor.ID]map[flat]int)
	for i := range commits {
		at := -1
		if i == slow {
			at = 1
		}
		messages := j.iterate(3, 20, at)
		if err := s.Append(first+uint64(i), messages); err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(); err != nil { // as it has the time to do in a job
			t.Fatal(err)
		}
		all := make(map[flat]int)
		flatten(messages, all)
		for line, n := range all {
			w := windowOf(line)
			if said[w] == nil {
				said[w] = make(map[flat]int)
			}
			said[w][line] += n
		}
	}
	return said
}

// windowOf is where a line of play is: 21 calls an iteration, marks one.
func windowOf(line flat) anchor.ID {
	if line.what == "mark" {
		return anchor.After(line.row)
	}
	return anchor.After(line.row / 21)
}

func onDisk(t tester, dir string) (n int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// most watches what a store says it has on disk, until the result is called, and says what was most.
func most(s *window.Store) func() int64 {
	end, most := make(chan struct{}), make(chan int64)
	go func() {
		bytes := int64(0)
		for {
			select {
			case <-end:
				most <- bytes
				return
			default:
				bytes = max(bytes, s.Stats().Bytes)
			}
		}
	}()
	return func() int64 {
		close(end)
		return <-most
	}
}

// A rewrite takes its room twice for a while: that is within the bound too, also where everything is marked.
func TestRewriteIsWithinTheBound(t *testing.T) {
	for name, pinned := range map[string][]uint64{"ordinary": nil, "pinned": numbered(3000)} {
		t.Run(name, func(t *testing.T) {
			const bound = 192 << 10
			s := open(t, t.TempDir(), bound)
			defer s.Close()
			j := &job{ranks: 2}
			if err := s.Append(1, j.introduce()); err != nil {
				t.Fatal(err)
			}
			s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: pinned})
			bytes := most(s)
			play(t, s, j, 2, 300, -1)
			if n := bytes(); n > bound {
				t.Errorf("%d bytes on disk at a time, at most %d", n, bound)
			}
		})
	}
}

// Nodes with room for more or less keep the windows of the lowest hashes, whole, and those that more than one keeps are
// the same.
func TestNodesKeepTheSame(t *testing.T) {
	const commits = 300
	var kept []map[anchor.ID]map[flat]int
	for node, ranks := range []int{1, 2, 4} {
		max := int64(96<<10 + node*32<<10)
		dir := t.TempDir()
		s := open(t, dir, max)
		j := &job{ranks: ranks}
		if err := s.Append(1, j.introduce()); err != nil {
			t.Fatal(err)
		}
		said := play(t, s, j, 2, commits, -1)
		if err := s.Sort(); err != nil {
			t.Fatal(err)
		}
		if bytes := onDisk(t, dir); bytes > max || bytes != s.Stats().Bytes {
			t.Errorf("node %d: %d bytes on disk, %d reported, at most %d", node, bytes, s.Stats().Bytes, max)
		}
		list := numbered(int(j.meets))
		windows, gone := fetch(t, s, list)
		for w, lines := range windows {
			if d := gocmp.Diff(said[w], lines); d != "" {
				t.Fatalf("node %d: window %d differs (-want +got):\n%s", node, w, d)
			}
		}
		stats := s.Stats()
		list = sorted(list[:len(list)-1]) // after the last anchor there is nothing yet
		n := len(windows)
		for i, w := range list {
			if held := windows[anchor.ID(w)] != nil; held != (i < n) {
				t.Fatalf("node %d: %d windows, held is number %d by hash: %v", node, n, i, held)
			}
			if below := anchor.ID(w).Hash(run) <= stats.Below; below != (i < n) {
				t.Fatalf("node %d: window %d by hash, below %x: %v", node, i, stats.Below, below)
			}
		}
		if len(gone) != len(list)-n || stats.EvictedWindows != uint64(ranks*len(gone)) || n == len(list) || n == 0 || stats.EvictedBytes == 0 {
			t.Errorf("node %d: %d of %d windows, %d gone, %+v", node, n, len(list), len(gone), stats)
		}
		t.Logf("%d ranks: %d of %d windows, below %x, %d bytes evicted", ranks, n, len(list), stats.Below, stats.EvictedBytes)
		kept = append(kept, windows)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(kept, func(a, b map[anchor.ID]map[flat]int) int { return len(a) - len(b) })
	for i := range kept[1:] {
		for w := range kept[i] {
			if kept[i+1][w] == nil {
				t.Errorf("window %d is kept by a node with %d windows and not by one with %d", w, len(kept[i]), len(kept[i+1]))
			}
		}
	}
}

// What is pinned or unusual is kept when the rest goes, unusual windows less long.
func TestMarkedAreKeptLongest(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 96<<10)
	defer s.Close()
	j := &job{ranks: 2}
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	said := play(t, s, j, 2, 10, 8)
	slow := anchor.After(8*3 + 1)
	list := sorted(numbered(800))
	last, wanted := list[len(list)-1], list[len(list)-40:]
	var here, ahead []uint64 // of the highest hashes
	for _, w := range wanted {
		if w < uint64(anchor.After(j.meets)) {
			here = append(here, w)
		} else {
			ahead = append(ahead, w)
		}
	}
	answer := s.Keep(&moriensv1.Keep{Number: 4, Why: moriensv1.Keep_WHY_PINNED, Reason: "a test", Window: wanted})
	if answer.Number != 4 || answer.Error != "" || answer.Held != 2*uint64(len(here)) || answer.Ahead != 2*uint64(len(ahead)) || len(answer.GoneWindow) > 0 {
		t.Fatalf("%d here, %d ahead: %v", len(here), len(ahead), answer)
	}
	maps.Copy(said, play(t, s, j, 12, 250, -1))
	if err := s.Sort(); err != nil {
		t.Fatal(err)
	}
	if s.Stats().Below > math.MaxUint64/10*3 || s.Stats().Unusual != 1 || s.Stats().Pinned != uint64(len(wanted)) {
		t.Fatalf("%+v", s.Stats())
	}
	windows, gone := fetch(t, s, append(slices.Clone(wanted), uint64(slow)))
	for _, w := range wanted {
		if anchor.ID(w) >= anchor.After(j.meets) {
			continue
		}
		if d := gocmp.Diff(said[anchor.ID(w)], windows[anchor.ID(w)]); d != "" {
			t.Fatalf("window %d, pinned, differs (-want +got):\n%s", w, d)
		}
	}
	// Unusual it was on rank 0 alone.
	for line := range windows[slow] {
		if line.ring != 1 && slow.Hash(run) > s.Stats().Below {
			t.Errorf("of the unusual window: %v", line)
		}
	}
	if len(windows[slow]) == 0 || len(gone) > 1 {
		t.Errorf("the unusual window has %d lines; gone are %v", len(windows[slow]), gone)
	}
	highest := s.Keep(&moriensv1.Keep{Number: 5, Why: moriensv1.Keep_WHY_PINNED, Window: sorted(numbered(700))[600:601]})
	if highest.Held != 0 || len(highest.GoneWindow) != 2 || len(highest.GoneProcess) != 2 {
		t.Errorf("pinned after eviction: %v", highest)
	}
	if wrong := s.Keep(&moriensv1.Keep{Number: 6, Window: []uint64{last}}); wrong.Error == "" {
		t.Error("kept for no reason")
	}
}

// Where pinned windows alone are too many, the bound still holds.
func TestPinsHaveABound(t *testing.T) {
	for _, max := range []int64{144 << 10, 192 << 10} {
		t.Run(fmt.Sprint(max), func(t *testing.T) { pinAll(t, max) })
	}
}

func pinAll(t *testing.T, max int64) {
	dir := t.TempDir()
	s := open(t, dir, max)
	defer s.Close()
	j := &job{ranks: 4}
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	if answer := s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: numbered(600)}); answer.Ahead != 4*600 && answer.Ahead+answer.Held != 4*601 {
		t.Fatal(answer)
	}
	said := play(t, s, j, 2, 200, -1)
	if err := s.Sort(); err != nil {
		t.Fatal(err)
	}
	if bytes := onDisk(t, dir); bytes > max {
		t.Errorf("%d bytes on disk, at most %d", bytes, max)
	}
	if n := s.Disordered(); n > 0 {
		t.Errorf("%d runs of marked windows are not in the order of hashes", n)
	}
	windows, gone := fetch(t, s, numbered(int(j.meets)))
	for w, lines := range windows {
		if d := gocmp.Diff(said[w], lines); d != "" {
			t.Fatalf("window %d differs (-want +got):\n%s", w, d)
		}
	}
	stats := s.Stats()
	if len(windows) == 0 || len(gone) == 0 || len(windows)+len(gone) != 600 || stats.EvictedWindows != uint64(4*len(gone)) {
		t.Errorf("%d windows, %d gone, %+v", len(windows), len(gone), stats)
	}
}

// A store that is killed at any time, in the middle of any write, resumes with what was committed.
func TestRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "moriens-window-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		bound := rapid.SampledFrom([]int64{0, 96 << 10}).Draw(t, "max")
		j := &job{ranks: 2}
		commits := [][]*moriensv1.ReportRequest{j.introduce()}
		want := make(map[flat]int)
		for range rapid.IntRange(1, 60).Draw(t, "commits") {
			m := j.iterate(rapid.IntRange(1, 5).Draw(t, "iterations"), 8, -1)
			commits = append(commits, m)
			flatten(m, want)
		}
		dir, generation := filepath.Join(base, "0"), 0
		s := openAt(t, dir, bound, 1<<62)
		pinnedWindow := uint64(anchor.After(uint64(rapid.IntRange(0, int(j.meets)-1).Draw(t, "pinned"))))
		s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: []uint64{pinnedWindow}})
		committed := 0
		for i := 0; i < len(commits); {
			if err := s.Append(uint64(i+1), commits[i]); err != nil {
				t.Fatal(err)
			}
			i++
			switch rapid.IntRange(0, 9).Draw(t, "then") {
			case 0:
				committed = max(committed, i)
				if err := s.Sort(); err != nil {
					t.Fatal(err)
				}
			case 1: // what was on disk at that moment is what the next run of the agent finds; the last commit counts, or not
				generation++
				next := filepath.Join(base, fmt.Sprint(generation))
				if err := s.Still(func() error { return os.CopyFS(next, os.DirFS(dir)) }); err != nil {
					t.Fatal(err)
				}
				s.Close()
				committed = max(committed, i-rapid.IntRange(0, 1).Draw(t, "uncommitted"))
				s, dir = openAt(t, next, bound, uint64(committed)), next
				if last := int(s.Last()); last > committed || last < committed-1 {
					t.Fatalf("goes on behind %d, %d are committed", last, committed)
				}
				i = rapid.IntRange(max(0, int(s.Last())-2), int(s.Last())).Draw(t, "again")
			}
		}
		defer s.Close()
		if err := s.Sort(); err != nil {
			t.Fatal(err)
		}
		windows, gone := fetch(t, s, numbered(int(j.meets)))
		got := total(windows)
		for line, n := range got {
			if want[line] != n {
				t.Fatalf("%+v is there %d times, was said %d times", line, n, want[line])
			}
		}
		if bound == 0 && (len(got) != len(want) || len(gone) > 0) {
			t.Fatalf("%d lines of %d, %v gone", len(got), len(want), gone)
		}
		if len(windows[anchor.ID(pinnedWindow)]) == 0 {
			t.Fatal("the pinned window is gone")
		}
		if bytes := s.Stats().Bytes; bound > 0 && bytes > bound {
			t.Fatalf("%d bytes", bytes)
		}
	})
}

// Polls do not count among the calls by which windows are compared: how many there are is chance.
func TestUnusualBesidePolls(t *testing.T) {
	s := open(t, t.TempDir(), 1<<30)
	defer s.Close()
	j := &job{ranks: 1}
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	const sends = 6
	for i := range 16 {
		slow := -1
		if i == 13 {
			slow = 0
		}
		messages := j.iterate(1, sends, slow)
		for _, m := range messages {
			if c := m.GetCalls(); c != nil {
				at := uint32(i % sends)
				c.PollsRow, c.Polls = []uint32{at}, []uint64{2}
				c.Function[at], c.Path = uint32(100+i), slices.Repeat([]uint32{1}, len(c.Path))
			}
		}
		if err := s.Append(2+uint64(i), messages); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sort(); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Unusual; n != 1 {
		t.Errorf("%d unusual windows, want the slow one", n)
	}
}
