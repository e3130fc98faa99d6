package window_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// rowsOf makes sections of blocks, each cut where a store wants it.
func rowsOf(blocks []*section.Block, cuts func(ring, from, behind uint64) []uint64) (list []window.Rows) {
	part, encoder := &reading.block, new(section.Encoder)
	for _, b := range blocks {
		from := 0
		for _, row := range cuts(b.Ring, b.First, b.First+uint64(b.Rows)) {
			to := int(row - b.First)
			b.Part(part, from, to)
			list = append(list, window.Rows{Ring: part.Ring, First: part.First, Section: encoder.Calls(nil, part)})
			from = to
		}
	}
	return list
}

// Where all detail is kept, sections of calls are cut where chunks of windows begin, and nowhere else. A restarted
// agent gets those that are held back, each ring's in the order of rows, behind who the processes are and before
// the ends of their rings; rows that are gone are counted. A fetch of everything returns the same for the processes
// that are asked for, with what was moved.
func TestWhole(t *testing.T) {
	evicted := 0
	rapid.Check(t, func(t *rapid.T) {
		base := temporary(t)
		defer os.RemoveAll(base)
		dir := filepath.Join(base, "windows")
		bound := rapid.SampledFrom([]int64{0, 16 << 10}).Draw(t, "bound")
		number := uint64(0)
		reopen := func() *window.Store {
			t.Helper()
			return openWith(t, window.Config{Run: run, Dir: dir, Whole: true, Committed: number, Log: quiet}, bound)
		}
		s := reopen()
		defer func() { s.Close() }()
		var programs []*program
		for i := range rapid.IntRange(1, 3).Draw(t, "processes") {
			programs = append(programs, draw(t, uint64(i+1), bound > 0))
		}
		m := newModel(programs)
		type at struct{ ring, first uint64 }
		rows := make(map[at]uint64) // of sections
		put := func(x window.Transaction) {
			t.Helper()
			number++
			x.Number = number
			x.Rows = rowsOf(x.Blocks, s.Cuts(x.Messages, x.Blocks))
			for _, r := range x.Rows {
				_, ring, first := section.Of(r.Section)
				n := uint64(0)
				decode(t, r.Section, nil, func(x *section.Section) { n = uint64(x.Rows) })
				rows[at{ring, first}] = n
			}
			compared, err := s.Append(x)
			if err != nil || len(compared) > 0 { // where all detail is kept here, so are the moves
				t.Fatalf("%d bytes, %v", len(compared), err)
			}
			if rapid.IntRange(0, 5).Draw(t, "the outbox fails") == 0 {
				s.Undo()
				if rapid.Bool().Draw(t, "cuts again") {
					s.Cuts(x.Messages, x.Blocks)
				}
				if _, err := s.Append(x); err != nil {
					t.Fatal(err)
				}
			}
		}
		for !m.finished() {
			put(m.advance(t))
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = reopen()
			}
		}
		first := programs[0].process
		put(window.Transaction{Messages: []*moriensv1.ReportRequest{
			request(&moriensv1.CallPath{Process: first, Path: 3}), request(&moriensv1.RingEnd{Ring: first<<8 + 1}), request(&moriensv1.CallPath{Process: 99, Path: 1})}})
		m.check(t, s) // what was moved
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = reopen()
		m.check(t, s)

		windowsOf := func(ring, first, n uint64) (list []anchor.ID) {
			for _, c := range programs[ring>>8-1].rings[ring&0xff-1][first : first+n] {
				list = append(list, c.window)
			}
			return list
		}
		chunk := func(w anchor.ID) [2]uint64 { return [2]uint64{uint64(w) >> 22, uint64(w) & 0xffff} }
		all, gone := uint64(0), uint64(0)
		least := make(map[at]bool) // sections that have to be there
		for x, n := range rows {
			all += n
			list := windowsOf(x.ring, x.first, n)
			for _, w := range list {
				if chunk(w) != chunk(list[0]) {
					t.Fatalf("the section of row %d of ring %d has chunks %v and %v", x.first, x.ring, chunk(list[0]), chunk(w))
				}
				if retained(s, place{x.ring >> 8, w}) {
					least[x] = true
				}
			}
		}
		sections := make(map[uint64][]at) // by ring
		take := func(x *section.Section) {
			k := at{x.Ring, x.First}
			if before := sections[x.Ring]; len(before) > 0 && before[len(before)-1].first >= x.First {
				t.Fatalf("row %d of ring %d behind row %d", x.First, x.Ring, before[len(before)-1].first)
			}
			if rows[k] != uint64(x.Rows) {
				t.Fatalf("a section of %d rows from %d of ring %d", x.Rows, x.First, x.Ring)
			}
			sections[x.Ring] = append(sections[x.Ring], k)
		}
		kinds := make(map[string]int)
		calls := 0
		missing, err := s.Replay(func(messages []*moriensv1.ReportRequest) {
			for _, m := range messages {
				switch {
				case m.GetProcess() != nil && calls == 0:
					kinds["process"]++
				case m.GetCallPath() != nil && calls == 0:
					kinds["path"]++
				case m.GetRingEnd() != nil:
					kinds["end"]++
				}
			}
			if calls == 0 && kinds["end"] > 0 && len(least) > 0 {
				t.Fatal("the end of a ring comes before its rows")
			}
		}, func(bytes []byte) error {
			calls++
			decode(t, bytes, nil, take)
			return nil
		})
		if err != nil || kinds["process"] != len(programs) || kinds["path"] != 1 || kinds["end"] != 1 {
			t.Fatalf("%v, %v", kinds, err)
		}
		for ring := range sections {
			for _, x := range sections[ring] {
				gone += rows[x]
				delete(least, x)
			}
		}
		if missing != all-gone || len(least) > 0 || bound == 0 && missing > 0 {
			t.Fatalf("%d of %d rows are reported as gone, %d are there; sections %v are missing", missing, all, gone, least)
		}
		if missing > 0 {
			evicted++
		}

		fetched, moved := make(map[at]int), make(moves)
		end := s.Fetch(&moriensv1.Fetch{Everything: true, Process: []uint64{first}}, func(p *moriensv1.WindowPart) error {
			decode(t, p.Sections, moved, func(x *section.Section) {
				if x.Ring>>8 != first {
					t.Fatalf("ring %d of another process", x.Ring)
				}
				if x.Kind == section.Calls {
					fetched[at{x.Ring, x.First}]++
				}
			})
			return nil
		})
		want := make(map[at]int)
		for ring, list := range sections {
			for _, x := range list {
				if ring>>8 == first {
					want[x]++
				}
			}
		}
		goneNow := 0
		for place := range m.windows() {
			if place.process == first && !retained(s, place) {
				goneNow++
			}
		}
		all2 := fetchMoves(t, s)
		maps.DeleteFunc(all2, func(x window.Move, _ int) bool { return x.Ring>>8 != first })
		if end.Error != "" || !maps.Equal(fetched, want) || !maps.Equal(moved, all2) || len(end.GoneWindow) != goneNow {
			t.Fatalf("%d sections of calls, want %d; %d moves, want %d; %d windows are gone, want %d; %s",
				len(fetched), len(want), len(moved), len(all2), len(end.GoneWindow), goneNow, end.Error)
		}
	})
	t.Logf("rows were evicted in %d rounds", evicted)
}

// Rows that cannot be written are gone with their windows.
func TestWholeWithoutRoom(t *testing.T) {
	bound := int64(1 << 20)
	s, err := window.Open(window.Config{Run: run, Dir: ofTest(t), Whole: true, Log: quiet, Max: func() int64 { return bound }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j := &job{ranks: 1, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(9) {
		if bound = 1 << 20; n == 4 {
			bound = 1
		}
		x := j.iterate(n+2, 1)
		x.Rows = rowsOf(x.Blocks, s.Cuts(x.Messages, x.Blocks))
		if _, err := s.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := s.Replay(func([]*moriensv1.ReportRequest) {}, func([]byte) error { return nil })
	_, gone := fetch(t, s, &moriensv1.Fetch{Window: j.names(9)})
	if err != nil || missing != uint64(len(gone)) || !gone[place{1, j.window(4)}] || gone[place{1, j.window(8)}] != (s.Stats().Below < chunkHash(j.window(8))) || s.Stats().EvictedWindows != missing {
		t.Errorf("%d rows are missing, windows %v are gone, %+v, %v", missing, slices.Collect(maps.Keys(gone)), s.Stats(), err)
	}
}
