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

// holds checks that a store holds of what was said exactly the windows that it has to, whole, that it names the
// others as gone, and counts them. It returns the windows that are held.
func holds(t tester, s *window.Store, said map[place]moves) map[place]bool {
	t.Helper()
	names := make(map[anchor.ID]bool)
	for at := range said {
		names[at.window] = true
	}
	got, gone := fetch(t, s, named(names))
	held := make(map[place]bool)
	for at, want := range said {
		if is := got[at]; retained(s, at) {
			held[at] = true
			if gone[at] || is == nil || !maps.Equal(is.Moves, want) {
				t.Fatalf("%v has to be held; gone: %t, fetched: %t", at, gone[at], is != nil)
			}
		} else if !gone[at] || is != nil {
			t.Fatalf("%v cannot be held; gone: %t, fetched: %t", at, gone[at], is != nil)
		}
	}
	if n := s.Stats().EvictedWindows; n != uint64(len(gone)) || len(held)+len(gone) != len(said) {
		t.Fatalf("%d windows, %d are held, %d gone, %d counted", len(said), len(held), len(gone), n)
	}
	return held
}

// bounded checks that a store's files take no more than they may.
func bounded(t tester, s *window.Store, dir string, bound int64) {
	t.Helper()
	if bytes := s.Stats().Bytes; bytes-s.StateBytes() > bound || bytes != onDisk(t, dir) {
		t.Fatalf("%d bytes, of which %d are the state's, %d on disk, at most %d", bytes, s.StateBytes(), onDisk(t, dir), bound)
	}
}

// Nodes with room for more or less keep the chunks of the lowest hashes, whole: what more than one keeps is the
// same. So does a node whose agent is restarted.
func TestNodesKeepTheSame(t *testing.T) {
	type node struct {
		windows map[anchor.ID]bool
		below   uint64
	}
	var nodes []node
	for i, ranks := range []int{1, 2, 4} {
		bound := int64(ranks * (20<<10 + i*8<<10))
		dir := ofTest(t)
		s := openAt(t, dir, bound, 0)
		j := &job{ranks: ranks, sends: 20, skip: 64}
		if _, err := s.Append(j.introduce()); err != nil {
			t.Fatal(err)
		}
		said := make(map[place]moves)
		j.play(t, s, 2, 60, 4, said, func() { bounded(t, s, dir, bound) })
		held := holds(t, s, said)
		stats := s.Stats()
		if len(held) == 0 || len(held) == len(said) || stats.EvictedBytes == 0 || s.Failed() != nil {
			t.Fatalf("node %d: %d of %d windows are held, %+v, %v", i, len(held), len(said), stats, s.Failed())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, dir, bound, 61)
		again := s.Stats()
		stats.Bytes, again.Bytes = 0, 0
		if again != stats || !maps.Equal(holds(t, s, said), held) {
			t.Fatalf("node %d: restarted: %+v, it was %+v", i, again, stats)
		}
		n := node{make(map[anchor.ID]bool), stats.Below}
		for at := range held {
			n.windows[at.window] = true
		}
		if len(n.windows)*ranks != len(held) {
			t.Errorf("node %d: %d windows are held of %d processes: %d in all", i, len(n.windows), ranks, len(held))
		}
		nodes = append(nodes, n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(nodes, func(a, b node) int { return len(a.windows) - len(b.windows) })
	for i := range nodes[1:] {
		if nodes[i].below > nodes[i+1].below {
			t.Errorf("%d windows below %x, and %d below %x", len(nodes[i].windows), nodes[i].below, len(nodes[i+1].windows), nodes[i+1].below)
		}
		for w := range nodes[i].windows {
			if !nodes[i+1].windows[w] {
				t.Errorf("window %d is kept by a node with %d windows and not by one with %d", w, len(nodes[i].windows), len(nodes[i+1].windows))
			}
		}
	}
	if len(nodes[0].windows) == len(nodes[len(nodes)-1].windows) {
		t.Error("all nodes have room for the same")
	}
}

// Of a chunk windows go together, however many there are.
func TestChunksGoTogether(t *testing.T) {
	dir := ofTest(t)
	const bound = 32 << 10
	s := openAt(t, dir, bound, 0)
	defer s.Close()
	j := &job{ranks: 2, sends: 2, skip: 1}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	said := make(map[place]moves)
	j.play(t, s, 2, 60, 21, said, func() { bounded(t, s, dir, bound) })
	chunks := make(map[anchor.ID]int)
	for at := range holds(t, s, said) {
		chunks[at.window>>22]++
	}
	if len(chunks) == 0 || len(chunks) == 60*21/64+1 {
		t.Fatalf("%d chunks are held", len(chunks))
	}
	for c, n := range chunks {
		if want := 2 * min(64, 60*21-64*int(c)); n != want {
			t.Errorf("chunk %d has %d windows, want %d", c, n, want)
		}
	}
}

// Unmarked windows are evicted first, then unusual ones, then pinned ones, whether they were marked before they
// began or later, for one process or for all; each until there are none left, and restarted agents go on alike.
func TestMarkedAreKeptLongest(t *testing.T) {
	const ranks, iterations, bound = 2, 500, 26 << 10
	dir := ofTest(t)
	s := openAt(t, dir, bound, 0)
	defer func() { s.Close() }()
	j := &job{ranks: ranks, sends: 20, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	keep := func(why moriensv1.Keep_Why, windows []uint64, processes ...uint64) *moriensv1.Kept {
		return s.Keep(&moriensv1.Keep{Number: 4, Why: why, Reason: "a test", Window: windows, Process: processes})
	}
	var marked [3][]uint64 // by class
	for i, w := range j.names(iterations) {
		marked[i%3] = append(marked[i%3], w)
	}
	one := uint64(j.window(0)) // pinned once it is there
	pins, unusual := marked[2], marked[1]
	if got := keep(moriensv1.Keep_WHY_PINNED, pins); got.Error != "" || got.Ahead != ranks*uint64(len(pins)) || got.Held != 0 {
		t.Fatal(got)
	}
	if got := keep(moriensv1.Keep_WHY_UNUSUAL, unusual, 1); got.Error != "" || got.Ahead != uint64(len(unusual)) {
		t.Fatal(got)
	}
	said := make(map[place]moves)
	number := uint64(2)
	var seen [3]bool // classes that were evicted from
	for ; j.done < iterations; number++ {
		was := s.Below()
		before := maps.Clone(said)
		j.play(t, s, number, 1, 4, said, nil)
		bounded(t, s, dir, bound)
		if j.done == 4 {
			if got := keep(moriensv1.Keep_WHY_PINNED, []uint64{one}, 2); got.Held != 1 || got.Ahead != 0 {
				t.Fatal(got)
			}
		}
		is := s.Below()
		for class := range is {
			if is[class] > was[class] || class > 0 && is[class] < is[class-1] {
				t.Fatalf("transaction %d: below %x, it was %x", number, is, was)
			}
			if is[class] == was[class] || class == 0 {
				seen[class] = seen[class] || is[class] != was[class]
				continue
			}
			seen[class] = true
			for at := range before { // nothing of the class before is left
				if s.Class(at.process, at.window) < class && retained(s, at) {
					t.Fatalf("transaction %d: class %d is evicted, and %v of class %d is there", number, class, at, s.Class(at.process, at.window))
				}
			}
		}
		if number%20 == 0 {
			held := holds(t, s, said)
			for at := range said {
				class := 0
				if i := int(at.window>>16) / 64; i%3 == 2 || i == 0 && at.process == 2 {
					class = 2
				} else if i%3 == 1 && at.process == 1 {
					class = 1
				}
				if s.Class(at.process, at.window) != class {
					t.Fatalf("%v is of class %d, want %d", at, s.Class(at.process, at.window), class)
				}
				if !held[at] && is[class] == math.MaxUint64 {
					t.Fatalf("%v of class %d is gone, of which none was evicted", at, class)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, bound, number)
			if s.Below() != is || !maps.Equal(holds(t, s, said), held) {
				t.Fatalf("transaction %d: restarted: below %x, it was %x", number, s.Below(), is)
			}
		}
	}
	if seen != [3]bool{true, true, true} {
		t.Fatalf("classes that were evicted from: %v", seen)
	}
	held := holds(t, s, said)
	if len(held) == 0 || s.Stats().Pinned != uint64(len(pins))+1 || s.Failed() != nil {
		t.Errorf("%d windows are held, %+v, %v", len(held), s.Stats(), s.Failed())
	}
	// What is gone cannot be pinned any more, for any process.
	for at := range said {
		got := keep(moriensv1.Keep_WHY_PINNED, []uint64{uint64(at.window)}, at.process)
		if wantHeld := held[at]; (got.Held == 1) != wantHeld || (len(got.GoneWindow) == 1) == wantHeld || got.Ahead != 0 || got.Error != "" {
			t.Fatalf("%v, held: %t, is pinned: %v", at, held[at], got)
		}
	}
	holds(t, s, said)
	if wrong := keep(moriensv1.Keep_WHY_UNSPECIFIED, []uint64{one}); wrong.Error == "" {
		t.Error("kept for no reason")
	}
}

// What is pinned of one process is kept, and of another not.
func TestPinsOfOneProcess(t *testing.T) {
	const bound = 24 << 10
	s := openAt(t, ofTest(t), bound, 0)
	defer s.Close()
	j := &job{ranks: 2, sends: 20, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	highest := slices.MaxFunc(j.names(150), func(a, b uint64) int {
		if chunkHash(anchor.ID(a)) < chunkHash(anchor.ID(b)) {
			return -1
		}
		return 1
	})
	if got := s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: []uint64{highest}, Process: []uint64{2}}); got.Ahead != 1 {
		t.Fatal(got)
	}
	said := make(map[place]moves)
	j.play(t, s, 2, 50, 3, said, nil)
	held := holds(t, s, said)
	if w := anchor.ID(highest); held[place{1, w}] || !held[place{2, w}] {
		t.Errorf("window %d is held of process 1: %t, of process 2: %t", highest, held[place{1, w}], held[place{2, w}])
	}
}

// A window that took far longer than others is kept longer, of the rank that it did on, by a restarted agent too.
// Polls do not count among the calls by which windows are compared: how many there are is chance.
func TestUnusual(t *testing.T) {
	for _, polls := range []bool{false, true} {
		t.Run(fmt.Sprintf("polls %t", polls), func(t *testing.T) {
			const bound, slow = 24 << 10, 13
			dir := ofTest(t)
			s := openAt(t, dir, bound, 0)
			defer func() { s.Close() }()
			j := &job{ranks: 2, sends: 20, skip: 64, slow: slow, polls: polls}
			if _, err := s.Append(j.introduce()); err != nil {
				t.Fatal(err)
			}
			said := make(map[place]moves)
			j.play(t, s, 2, 50, 1, said, nil)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, bound, 51)
			j.play(t, s, 52, 70, 3, said, nil)
			held := holds(t, s, said)
			w := j.window(slow)
			if s.Stats().Unusual != 1 || s.Class(1, w) != 1 || s.Class(2, w) != 0 || !held[place{1, w}] || len(held) == len(said) {
				t.Errorf("%+v, classes %d and %d, held: %t", s.Stats(), s.Class(1, w), s.Class(2, w), held[place{1, w}])
			}
			if chunkHash(w) > s.Stats().Below && held[place{2, w}] {
				t.Error("the window is held of a rank where it was not unusual")
			}
		})
	}
}

// While windows are fetched others arrive and are evicted: each window is returned whole and once, or is reported as
// gone.
func TestFetchWhileTheStoreChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := temporary(t)
		defer os.RemoveAll(dir)
		bound := rapid.SampledFrom([]int64{0, 12 << 10, 24 << 10}).Draw(t, "bound")
		s := openAt(t, dir, bound, 0)
		defer s.Close()
		j := &job{ranks: 2, sends: 10, skip: rapid.SampledFrom([]int{1, 16, 64}).Draw(t, "skip")}
		if _, err := s.Append(j.introduce()); err != nil {
			t.Fatal(err)
		}
		said := make(map[place]moves)
		transactions := uint64(1)
		more := func(n int) {
			j.play(t, s, transactions+1, n, 5, said, nil)
			transactions += uint64(n)
		}
		var pins []uint64
		for _, i := range rapid.SliceOf(rapid.IntRange(0, 200)).Draw(t, "pinned") {
			pins = append(pins, uint64(j.window(i)))
		}
		s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: pins})
		more(rapid.IntRange(1, 30).Draw(t, "transactions"))
		before := maps.Clone(said)
		steps := rapid.SliceOfN(rapid.IntRange(0, 12), 1, 6).Draw(t, "steps")
		got, gone := fetchBetween(t, s, &moriensv1.Fetch{Window: j.names(j.done)}, func() {
			if len(steps) > 0 {
				more(steps[0])
				steps = steps[1:]
			}
		})
		for at, want := range before {
			if is := got[at]; gone[at] == (is != nil) || is != nil && !maps.Equal(is.Moves, want) {
				t.Fatalf("%v: fetched: %t, gone: %t", at, is != nil, gone[at])
			}
		}
		if len(got)+len(gone) != len(before) {
			t.Fatalf("%d windows were there, %d are fetched, %d gone", len(before), len(got), len(gone))
		}
		holds(t, s, said)
	})
}

// The bound may change: with less room windows are evicted by the next transaction, and with none at all nothing of
// it can be held. Then the next windows are held again.
func TestBoundChanges(t *testing.T) {
	dir := filepath.Join(ofTest(t), "windows")
	bound := int64(1 << 30)
	s, err := window.Open(window.Config{Run: run, Dir: dir, Max: func() int64 { return bound }, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{ranks: 2, sends: 20, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	said := make(map[place]moves)
	j.play(t, s, 2, 30, 3, said, nil)
	if len(holds(t, s, said)) != len(said) {
		t.Fatal("there is room for all")
	}
	bound = 24 << 10
	j.play(t, s, 32, 1, 3, said, nil)
	if held := holds(t, s, said); len(held) == 0 || len(held) == len(said) {
		t.Fatalf("%d of %d windows are held", len(held), len(said))
	}
	bounded(t, s, dir, bound)
	bound = 1
	j.play(t, s, 33, 1, 3, said, nil)
	if held := holds(t, s, said); len(held) > 0 || s.Stats().Bytes != s.StateBytes() {
		t.Fatalf("%d of %d windows are held", len(held), len(said))
	}
	bound = 1 << 30
	below := s.Stats().Below
	j.play(t, s, 34, 60, 3, said, nil)
	held := holds(t, s, said)
	for at := range held {
		if at.window < j.window(j.done-180) {
			t.Errorf("%v is held, and there was no room for it", at)
		}
	}
	if len(held) == 0 || s.Stats().Below != below {
		t.Errorf("%d windows are held, below %x, it was %x", len(held), s.Stats().Below, below)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir, 0, 93)
	defer s.Close()
	if d := gocmp.Diff(held, holds(t, s, said)); d != "" {
		t.Error(d)
	}
}
