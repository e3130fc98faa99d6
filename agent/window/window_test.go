package window_test

import (
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const run = "run1"

// tester is a test, or a round of a property's.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// temporary makes a directory where syncing costs nothing.
func temporary(t tester) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "moriens-window-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ofTest is a temporary directory of a test.
func ofTest(t *testing.T) string {
	t.Helper()
	dir := temporary(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openAt(t tester, dir string, maxBytes int64, committed uint64) *window.Store {
	t.Helper()
	return openWith(t, window.Config{Run: run, Dir: dir, Committed: committed, Log: quiet}, maxBytes)
}

func openWith(t tester, config window.Config, maxBytes int64) *window.Store {
	t.Helper()
	if maxBytes > 0 {
		config.Max = func() int64 { return maxBytes }
	}
	s, err := window.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var request = sectiontest.Request

// moves are some, of whichever place among the lanes of its section, with how often each is there.
type moves map[window.Move]int

func (m moves) add(x window.Move) {
	x.Transfer.Lane, x.Lane.Bytes, x.Lane.Ordinal = 0, 0, 0
	m[x]++
}

// reading is what sections are read with: it is large.
var reading struct {
	section section.Section
	decoder section.Decoder
	block   section.Block
}

// decode adds the moves of sections, and calls visit for each section.
func decode(t tester, sections []byte, to moves, visit func(*section.Section)) {
	t.Helper()
	x, b := &reading.section, &reading.block
	for len(sections) > 0 {
		var err error
		if sections, err = x.Read(sections); err != nil {
			t.Fatal(err)
		}
		if visit != nil {
			visit(x)
		}
		if x.Kind != section.Moves {
			continue
		}
		if err := reading.decoder.Moves(x, b); err != nil {
			t.Fatal(err)
		}
		for _, at := range b.Transfers {
			to.add(window.Move{Ring: b.Ring, Epoch: b.Epoch, Lane: b.Lanes[at.Lane], Transfer: at})
		}
	}
}

// A place is a window of a process.
type place struct {
	process uint64
	window  anchor.ID
}

// A windowed is what a window of a process has: the rows of each of its rings, and what they moved.
type windowed struct {
	Rows  map[uint64][2]uint64
	Moves moves
}

// fetch returns what a store has of windows, and those that are gone.
func fetch(t tester, s *window.Store, f *moriensv1.Fetch) (got map[place]*windowed, gone map[place]bool) {
	t.Helper()
	return fetchBetween(t, s, f, func() {})
}

// fetchBetween is fetch that calls between before each part that arrives, to change the store.
func fetchBetween(t tester, s *window.Store, f *moriensv1.Fetch, between func()) (got map[place]*windowed, gone map[place]bool) {
	t.Helper()
	f.Number = 9
	got, gone = make(map[place]*windowed), make(map[place]bool)
	parts := uint64(0)
	end := s.Fetch(f, func(p *moriensv1.WindowPart) error {
		between()
		parts++
		if p.Number != f.Number {
			t.Fatalf("an answer to %d", p.Number)
		}
		at := place{p.Process, anchor.ID(p.Window)}
		w := got[at]
		if w == nil {
			w = &windowed{make(map[uint64][2]uint64), make(moves)}
			got[at] = w
		} else if len(p.Ring) > 0 {
			t.Fatalf("%v has rows in two parts", at)
		}
		for i, ring := range p.Ring {
			w.Rows[ring] = [2]uint64{p.FirstRow[i], p.BehindRow[i]}
		}
		decode(t, p.Sections, w.Moves, nil)
		return nil
	})
	if end.Error != "" || end.Number != f.Number || end.Parts != parts || len(end.GoneProcess) != len(end.GoneWindow) {
		t.Fatalf("%d parts have arrived: %v", parts, end)
	}
	for i, process := range end.GoneProcess {
		at := place{process, anchor.ID(end.GoneWindow[i])}
		if gone[at] {
			t.Fatalf("%v is gone twice", at)
		}
		gone[at] = true
	}
	return got, gone
}

// fetchMoves returns all moves that a store has.
func fetchMoves(t tester, s *window.Store) moves {
	t.Helper()
	all := make(moves)
	for _, w := range must(fetch(t, s, &moriensv1.Fetch{Transfers: true})) {
		for x, n := range w.Moves {
			all[x] += n
		}
	}
	return all
}

func must[T any](got T, _ map[place]bool) T { return got }

// named asks for windows by their names.
func named[T any](windows map[anchor.ID]T, processes ...uint64) *moriensv1.Fetch {
	f := &moriensv1.Fetch{Process: processes}
	for _, w := range slices.Sorted(maps.Keys(windows)) {
		f.Window = append(f.Window, uint64(w))
	}
	return f
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
