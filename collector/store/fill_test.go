package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// newStaying is a stub whose agent keeps its calls, with two rings of one process.
func newStaying(t *testing.T) *agentStub {
	s := New()
	a, _, err := s.Greet(&moriensv1.Hello{Agent: 1, Host: "n1", Cells: "as agreed"})
	if err != nil {
		t.Fatal(err)
	}
	stub := &agentStub{t: t, store: s, agent: a}
	stub.must(process(1, 0, 2))
	stub.must(ring(11, 1))
	stub.must(ring(12, 1))
	stub.must(callPath(1, 1))
	stub.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 7, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}}})
	stub.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 1, Communicator: 1}}})
	return stub
}

// A drawnWindow is calls of a ring and what they have moved. The call in row r takes 1000·ring + r ticks; a transfer
// has its row as its tag, and as its bytes the row that completed it, plus 1; a collective has its row as what it has
// sent.
type drawnWindow struct {
	ring        uint64
	first, rows uint64
	parts       [][]byte              // sections
	done        map[uint64]completing // by row
}

// completing is the call that completed a transfer.
type completing struct{ ring, row uint64 }

// drawWindows draws what two rings did: rows[ring] of them in all.
func drawWindows(t *rapid.T) (list []drawnWindow, rows map[uint64]uint64) {
	rows = make(map[uint64]uint64)
	for _, ring := range []uint64{11, 12} {
		rows[ring] = uint64(rapid.IntRange(1, 30).Draw(t, "rows"))
	}
	for _, ring := range []uint64{11, 12} {
		ticks := 50 * ring
		for first := uint64(0); first < rows[ring]; {
			n := min(uint64(rapid.IntRange(1, 8).Draw(t, "window")), rows[ring]-first)
			b := &section.Block{Ring: ring, First: first, Origin: ticks, Sites: []section.Site{{Function: 1, Path: 1}}}
			b.Grow(int(n), 0)
			var moved []sectiontest.Move
			completed := make(map[uint64]completing)
			for row := first; row < first+n; row++ {
				b.Burst[row-first], b.Call[row-first] = 10, 1000*ring+row
				ticks += 10 + 1000*ring + row
				switch rapid.IntRange(0, 2).Draw(t, "what") {
				case 0:
					b.Collectives = append(b.Collectives, section.Collective{Row: uint32(row - first), Comm: 1, Ordinal: row, Sent: row, Root: -1})
				case 1:
					by := rapid.SampledFrom([]uint64{11, 12}).Draw(t, "by")
					done := rapid.Uint64Range(0, rows[by]-1).Draw(t, "done")
					completed[row] = completing{by, done}
					x := section.Transfer{Row: row, Done: sectiontest.Done(row, done), Bytes: done + 1}
					if by != ring {
						x.Ring = by
					}
					moved = append(moved, sectiontest.Move{Kind: moriensv1.Transfers_KIND_SENT, Peer: 1, Tag: int32(row), Comm: 1, Transfer: x})
				}
			}
			if first == 0 {
				b.NoBurst = []uint32{0}
			}
			w := drawnWindow{ring: ring, first: first, rows: n, parts: [][]byte{sectiontest.Calls(b)}, done: completed}
			if len(moved) > 0 {
				w.parts = append(w.parts, sectiontest.Moves(ring, 0, moved...))
			}
			list = append(list, w)
			first += n
		}
	}
	return list, rows
}

// What was fetched is as if it had arrived unasked; where windows are missing, what is there belongs to the calls that
// it belonged to.
func TestFill(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		windows, rows := drawWindows(rt)
		stub := newStaying(t)
		var parts [][]byte
		has := map[uint64]map[uint64]bool{11: {}, 12: {}}
		burstless := map[uint64]int{}
		next := map[uint64]uint64{}
		kept := uint64(0)
		for _, w := range windows {
			if rapid.IntRange(0, 3).Draw(rt, "evicted") == 0 {
				continue
			}
			parts = append(parts, w.parts...)
			for row := w.first; row < w.first+w.rows; row++ {
				has[w.ring][row] = true
				kept++
			}
			if w.first != next[w.ring] || w.first == 0 {
				burstless[w.ring]++
			}
			next[w.ring] = w.first + w.rows
		}
		last := map[uint64]uint64{} // rows of a ring, as far as is known
		for ring, n := range rows {
			last[ring] = next[ring]
			if rapid.Bool().Draw(rt, "ended") {
				stub.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: ring, Calls: n}}})
				last[ring] = n
			}
		}
		for _, w := range windows {
			for row, by := range w.done {
				if has[w.ring][row] {
					last[by.ring] = max(last[by.ring], by.row+1)
				}
			}
		}
		f := stub.store.Freeze()
		order := rapid.Permutation(parts).Draw(rt, "order")
		filled := f.Fill(order)
		f.Renumber()
		lost := last[11] + last[12] - kept
		if kept == 0 {
			lost = 0 // nothing is known of the process's calls
		}
		if len(filled.Refused) > 0 {
			rt.Fatal(filled.Refused)
		}
		if filled.Calls != kept || filled.Missing != lost || f.Totals.Calls != kept {
			rt.Fatalf("%+v, want %d calls, %d missing; %+v", filled, kept, lost, f.Totals)
		}
		if kept > 0 && len(f.CallPaths) != 2 {
			rt.Fatalf("call paths %v", f.CallPaths)
		}
		for _, id := range []uint64{11, 12} {
			checkFilled(rt, f.Ring(id), id, has[id], burstless[id])
		}
	})
}

func checkFilled(t *rapid.T, r *Ring, id uint64, has map[uint64]bool, burstless int) {
	reader := new(Reader)
	ticksOf := func(r *Ring) (list []uint64) {
		for i := range r.Chunks {
			list = append(list, reader.Ticks(&r.Chunks[i]).Call...)
		}
		return list
	}
	var want []uint64
	for row := range uint64(100) {
		if has[row] {
			want = append(want, 1000*id+row)
		}
	}
	calls := ticksOf(r)
	if d := cmp.Diff(want, calls); d != "" {
		t.Fatalf("ring %d: %s", id, d)
	}
	without := 0
	for i := range r.Chunks {
		c := &r.Chunks[i]
		none := reader.Paths(c).NoBurst
		without += len(none)
		if c.Bursts() != c.Rows-len(none) {
			t.Fatalf("ring %d: chunk %d has %d bursts in %d rows of which %d have none", id, i, c.Bursts(), c.Rows, len(none))
		}
	}
	if without != burstless {
		t.Fatalf("ring %d: %d calls have no burst before them, want %d", id, without, burstless)
	}
	if first, last := r.Span(); len(calls) > 0 {
		end := &r.Chunks[len(r.Chunks)-1]
		ticks := end.Origin
		for i, call := range reader.Ticks(end).Call {
			ticks += reader.Ticks(end).Burst[i] + call
		}
		if first != r.Chunks[0].Origin || last != ticks {
			t.Fatalf("ring %d: from %d to %d, want %d to %d", id, first, last, r.Chunks[0].Origin, ticks)
		}
	}
	for _, x := range r.Transfers {
		for i, row := range x.Row {
			if calls[row] != 1000*id+uint64(x.Tag[i]) {
				t.Fatalf("ring %d: a transfer of row %d is now in the call of %d ticks", id, x.Tag[i], calls[row])
			}
			by, byID := r, id
			if o := x.DoneRing[i]; o != nil {
				by, byID = o, o.Info.Ring
			}
			was := 1000*byID + x.Bytes[i] - 1
			if done := x.Done[i]; done >= 0 && ticksOf(by)[done] != was {
				t.Fatalf("ring %d: completed by %d, want %d", id, ticksOf(by)[done], was)
			} else if done < 0 && slices.Contains(ticksOf(by), was) {
				t.Fatalf("ring %d: completed by nothing, want %d", id, was)
			}
		}
	}
	for _, x := range r.Collectives {
		for i, row := range x.Row {
			if calls[row] != 1000*id+x.Sent[i] {
				t.Fatalf("ring %d: a collective of row %d is now in the call of %d ticks", id, x.Sent[i], calls[row])
			}
		}
	}
	for _, row := range r.Gaps.Before {
		if row > r.Calls {
			t.Fatalf("ring %d: a gap before row %d of %d", id, row, r.Calls)
		}
	}
}

// Calls that overlap, of a ring that is not known, and bytes that are no section are refused, and cost the others
// nothing.
func TestFillRefuses(t *testing.T) {
	stub := newStaying(t)
	f := stub.store.Freeze()
	overlap := two(11, 1)
	overlap.Collectives, overlap.GapsInside = []section.Collective{{Comm: 1, Root: -1}}, []uint64{1}
	overlap.Marks = []section.Mark{{Ticks: 5, What: section.Event}}
	filled := f.Fill([][]byte{sectiontest.Calls(two(11, 0), overlap), sectiontest.Calls(two(13, 0)), {7}, sectiontest.Calls(two(12, 0))})
	f.Renumber()
	if len(filled.Refused) != 3 || filled.Calls != 4 || filled.Missing != 0 {
		t.Errorf("%+v", filled)
	}
	if r := f.Ring(11); len(r.Collectives)+len(r.Gaps.Inside)+len(r.Marks) > 0 {
		t.Errorf("what belongs to rows that were refused is there: %+v", r)
	}
	if again := f.Fill([][]byte{sectiontest.Calls(two(11, 2))}); len(again.Refused) != 1 || f.Ring(11).Calls != 2 {
		t.Errorf("a ring was filled twice: %+v", again)
	}
	if f.Number(1, 3, 1) == 0 || f.Number(1, 3, 1) != stub.store.Path(1, 3, 1) {
		t.Error("a function called from a call path has no number, or two")
	}
	f.Renumber()
	if len(f.CallPaths) != 4 {
		t.Errorf("%v", f.CallPaths)
	}
	for _, bad := range [][3]uint32{{1, 1 << 20, 1}, {1, 3, 9}, {2, 3, 1}} {
		if n := f.Number(uint64(bad[0]), bad[1], bad[2]); n != 0 {
			t.Errorf("process %d, function %d from call path %d has number %d", bad[0], bad[1], bad[2], n)
		}
	}
}

// Of sound rows what is refused is collectives, marks, gaps and transfers alone, and each is reported.
func TestFillRefusesWhatIsBesideCalls(t *testing.T) {
	stub := newStaying(t)
	f := stub.store.Freeze()
	b := two(11, 0)
	b.Collectives, b.GapsInside = []section.Collective{{Comm: 7, Root: -1}}, []uint64{2}
	b.Marks = []section.Mark{{Ticks: 5, What: section.BeginPhase, Name: 9}}
	bad := sectiontest.Moves(11, 0, sectiontest.Move{Kind: 1, Peer: 1, Comm: 1, Transfer: section.Transfer{Row: 2}})
	filled := f.Fill([][]byte{bad, sectiontest.Calls(b)})
	if len(filled.Refused) != 4 || filled.Calls != 2 {
		t.Errorf("%+v", filled)
	}
	for i, want := range []string{"communicator 7 is not defined", "name 9 is not defined", "row 2 of 2", "a gap in row 2 of 2"} {
		if err := filled.Refused[i]; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ring 000000000000000b") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if r := f.Ring(11); len(r.Collectives)+len(r.Gaps.Inside)+len(r.Marks)+len(r.Transfers) > 0 {
		t.Errorf("what was refused is there: %+v", r)
	}
}

// Marks that were fetched are taken in order; those of a ring of which some have arrived unasked are not.
func TestFillMarks(t *testing.T) {
	stub := newStaying(t)
	stub.must(markName(1, 3, "solve"))
	stub.must(sections(phase(12, 0)))
	f := stub.store.Freeze()
	solve := func(ring, first, origin uint64) []byte {
		return sectiontest.Calls(&section.Block{Ring: ring, FirstMark: first, Marks: []section.Mark{{Ticks: origin, What: section.BeginPhase, Name: 3}, {Ticks: origin + 5, What: section.EndPhase, Name: 3}}})
	}
	filled := f.Fill([][]byte{solve(11, 9, 2000), solve(11, 3, 1000), solve(12, 3, 1500)})
	if len(filled.Refused) > 0 {
		t.Fatal(filled.Refused)
	}
	origins := func(ring uint64) (list []uint64) {
		for _, m := range f.Ring(ring).Marks {
			list = append(list, m.Origin)
		}
		return list
	}
	if got := origins(11); !slices.Equal(got, []uint64{1000, 2000}) {
		t.Errorf("of the ring without marks those from %v on are taken", got)
	}
	if got := origins(12); !slices.Equal(got, []uint64{1000}) {
		t.Errorf("of the ring with marks there are those from %v on", got)
	}
}

// A ring of which even one call has arrived unasked is not filled.
func TestFillOfFullRings(t *testing.T) {
	stub := newStaying(t)
	one := func(ring, first uint64) []byte {
		b := &section.Block{Ring: ring, First: first, Origin: 10, Sites: []section.Site{{Function: 1, Path: 1}}, NoBurst: []uint32{0}}
		b.Grow(1, 0)
		b.Call[0] = 3
		return sectiontest.Calls(b)
	}
	stub.must(sectiontest.Message(one(12, 0)))
	f := stub.store.Freeze()
	filled := f.Fill([][]byte{one(11, 0), one(12, 1), one(13, 0)})
	if len(filled.Refused) != 2 || f.Ring(11).Calls != 1 || f.Ring(12).Calls != 1 {
		t.Errorf("refused %v; %d and %d calls, want one of each", filled.Refused, f.Ring(11).Calls, f.Ring(12).Calls)
	}
}
