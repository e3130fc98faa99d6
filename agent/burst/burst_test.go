package burst_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/burst"
	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/shmabi"
)

type row = sectiontest.Row

// A mark is what a block says of one of its marks.
type mark struct {
	Number uint64
	section.Mark
	Counts []int64
}

// rowsOf are the rows and the marks of blocks.
func rowsOf(t interface{ Fatalf(string, ...any) }, blocks []*section.Block) (rows []row, marks []mark) {
	for _, b := range blocks {
		if b.Ring != 7 || b.Rows > section.MaxRows || len(b.Marks) > section.MaxRows {
			t.Fatalf("%d rows and %d marks of ring %d", b.Rows, len(b.Marks), b.Ring)
		}
		rows = append(rows, sectiontest.RowsOf(b)...)
		for i, m := range b.Marks {
			marks = append(marks, mark{b.FirstMark + uint64(i), m, nil})
		}
		first := len(marks) - len(b.Marks)
		b.EachMark(func(i int, _ *section.Mark, counts []int64) {
			if len(counts) > 0 {
				marks[first+i].Counts = slices.Clone(counts)
			}
		})
	}
	return rows, marks
}

// every is a log that defines all numbers, but those from 100 on.
type every struct{}

func (every) Path(n uint32) uint32 { return every{}.Name(n) }
func (every) Name(n uint32) uint32 {
	if n >= 100 {
		return 0
	}
	return n
}

func newFormer(events int) *burst.Former { return burst.NewFormer(7, events, every{}, new(burst.Room)) }

// form has a Former take records.
func form(f *burst.Former, records ...ring.Record) {
	for i := range records {
		r := records[i]
		if r.Mark != 0 {
			f.Mark(&r)
			continue
		}
		n := f.Calls()
		f.Call(&r)
		if r.IsCollective {
			f.Meet(n, section.Collective{Comm: r.Collective.Comm})
		}
	}
}

func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("-want +got:\n%s", d)
	}
}

func TestForm(t *testing.T) {
	f := newFormer(0)
	if f.Take(nil) != nil {
		t.Fatal("blocks of nothing")
	}
	form(f, ring.Record{Enter: 100, Exit: 140, Call: 1, Path: 3}, ring.Record{Enter: 200, Exit: 201, Call: 2, Path: 100})
	var blocks []*section.Block
	blocks = f.Take(blocks)
	form(f, ring.Record{Enter: 201, Exit: 250, Call: 1, Path: 3})
	blocks = f.Take(blocks)
	form(f, ring.Record{Enter: 900, Exit: 910, Call: 1, Path: 3, Lost: true}, ring.Record{Enter: 905, Exit: 890, Call: 2})
	f.Unfinished(&ring.Record{Enter: 1000, Exit: 77, Call: 2})
	blocks = f.Take(blocks)
	rows, _ := rowsOf(t, blocks)
	same(t, []row{
		{Number: 0, Enter: 100, Exit: 140, Call: 1, Path: 3, NoBurst: true, Polls: 1},
		{Number: 1, Enter: 200, Exit: 201, Burst: 60, Call: 2, Polls: 1},
		{Number: 2, Enter: 201, Exit: 250, Call: 1, Path: 3, Polls: 1},
		{Number: 3, Enter: 900, Exit: 910, Burst: 650, Call: 1, Path: 3, NoBurst: true, Polls: 1},
		{Number: 4, Enter: 910, Exit: 910, Call: 2, Polls: 1}, // the clock steps back
		{Number: 5, Enter: 1000, Exit: 1000, Burst: 90, Call: 2, Inside: true, Polls: 1},
	}, rows)
	if len(blocks) != 3 || f.Calls() != 6 || f.Waiting() != 0 {
		t.Errorf("%d blocks, %d calls, %d wait", len(blocks), f.Calls(), f.Waiting())
	}
}

// Polls from several places become rows that share the run's time; counts go with the first.
func TestFormPollsAndCounts(t *testing.T) {
	f := newFormer(2)
	polls := func(call mpicall.ID, first, count uint64) ring.Polls {
		return ring.Polls{Call: call, Path: uint32(call), First: first, Count: count}
	}
	form(f,
		ring.Record{Enter: 100, Exit: 110, Call: 1, Path: 1},
		ring.Record{Enter: 150, Exit: 200, Call: 2, Path: 2, Counts: []int64{5, -6}, Polls: []ring.Polls{polls(3, 170, 1), polls(2, 175, 9), polls(4, 190, 3)}},
		ring.Record{Enter: 230, Exit: 240, Call: 1, Path: 1, Counts: []int64{1}}, // not as many as there are events
		ring.Record{Enter: 260, Exit: 261, Call: 3, Path: 3, Counts: []int64{7, shmabi.NoCount}},
	)
	rows, _ := rowsOf(t, f.Take(nil))
	same(t, []row{
		{Number: 0, Enter: 100, Exit: 110, Call: 1, Path: 1, NoBurst: true, Polls: 1},
		{Number: 1, Enter: 150, Exit: 170, Burst: 40, Call: 2, Path: 2, Polls: 10, Counts: []int64{5, -6}},
		{Number: 2, Enter: 170, Exit: 190, Call: 3, Path: 3, NoBurst: true, Polls: 1},
		{Number: 3, Enter: 190, Exit: 200, Call: 4, Path: 4, NoBurst: true, Polls: 3},
		{Number: 4, Enter: 230, Exit: 240, Burst: 30, Call: 1, Path: 1, Polls: 1},
		{Number: 5, Enter: 260, Exit: 261, Burst: 20, Call: 3, Path: 3, Polls: 1, Counts: []int64{7, shmabi.NoCount}},
	}, rows)
}

// Marks are no rows and end no burst; what was lost or paused before them concerns the call that follows. Where the
// clock steps back a mark has the time of the one before it.
func TestFormMarks(t *testing.T) {
	at := func(ticks uint64, kind ring.MarkKind, name uint32, value int64) ring.Record {
		return ring.Record{Enter: ticks, Exit: ticks, Mark: kind, Name: name, Value: value}
	}
	lost, paused := at(130, ring.Event, 4, -9), at(230, ring.End, 3, 0)
	lost.Lost, paused.Paused = true, true
	f := newFormer(0)
	form(f, at(90, ring.Begin, 3, 0))
	blocks := f.Take(nil)
	form(f, ring.Record{Enter: 100, Exit: 110, Call: 1}, ring.Record{Enter: 120, Exit: 125, Call: 1}, lost, at(129, ring.Event, 400, 1<<62),
		ring.Record{Enter: 150, Exit: 200, Call: 1}, paused)
	blocks = f.Take(blocks)
	form(f, at(240, ring.End, 0, 0), ring.Record{Enter: 300, Exit: 310, Call: 1}, ring.Record{Enter: 400, Exit: 410, Call: 1, Paused: true})
	rows, marks := rowsOf(t, f.Take(blocks))
	same(t, []row{
		{Number: 0, Enter: 100, Exit: 110, Call: 1, NoBurst: true, Polls: 1},
		{Number: 1, Enter: 120, Exit: 125, Burst: 10, Call: 1, Polls: 1},
		{Number: 2, Enter: 150, Exit: 200, Burst: 25, Call: 1, NoBurst: true, Polls: 1},
		{Number: 3, Enter: 300, Exit: 310, Burst: 100, Call: 1, NoBurst: true, Paused: true, Polls: 1},
		{Number: 4, Enter: 400, Exit: 410, Burst: 90, Call: 1, NoBurst: true, Paused: true, Polls: 1},
	}, rows)
	same(t, []mark{
		{0, section.Mark{Ticks: 90, What: section.BeginPhase, Name: 3}, nil},
		{1, section.Mark{Ticks: 130, What: section.Event, Name: 4, Value: -9}, nil},
		{2, section.Mark{Ticks: 130, What: section.Event, Value: 1 << 62}, nil},
		{3, section.Mark{Ticks: 230, What: section.EndPhase, Name: 3}, nil},
		{4, section.Mark{Ticks: 240, What: section.EndPhase}, nil},
	}, marks)
	if f.Marks() != 5 {
		t.Errorf("Marks() = %d, want 5", f.Marks())
	}
}

// A record lost before the very first must not be named twice.
func TestFormLostFirst(t *testing.T) {
	f := newFormer(0)
	form(f, ring.Record{Enter: 5, Exit: 6, Call: 1, Lost: true, Paused: true})
	if b := f.Take(nil)[0]; !slices.Equal(b.NoBurst, []uint32{0}) || len(b.Paused) > 0 {
		t.Errorf("NoBurst %v, paused %v, want row 0 once", b.NoBurst, b.Paused)
	}
}

// drawRecords is what a thread may record, with where each row and mark of it should be.
func drawRecords(t *rapid.T, events int) (records []ring.Record, rows []row, marks []mark) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	at, lost, paused := random.Uint64N(1<<60), false, false
	marked := uint64(0)
	some := func(n int) bool { return random.IntN(n) == 0 }
	for range rapid.SampledFrom([]int{1, 10, 300, 2*section.MaxRows + 9}).Draw(t, "records") {
		r := ring.Record{Call: mpicall.ID(1 + random.IntN(5)), Path: random.Uint32N(9), Lost: some(10), Paused: some(20)}
		lost, paused = lost || r.Lost, paused || r.Paused
		r.Enter = at + random.Uint64N(1000)
		if some(8) {
			r = ring.Record{Enter: r.Enter, Exit: r.Enter, Mark: ring.Event, Name: random.Uint32N(9), Value: random.Int64(), Lost: r.Lost, Paused: r.Paused}
			marked = max(marked, r.Enter) // that of a clock which steps back is the one before it
			x := mark{uint64(len(marks)), section.Mark{Ticks: marked, What: section.Event, Name: r.Name, Value: r.Value}, nil}
			if some(2) { // which counts, perhaps of another number of events
				r.Mark, r.Value, x.What, x.Value = ring.Begin, 0, section.BeginPhase, 0
				for range events + random.IntN(2) {
					r.Counts = append(r.Counts, random.Int64N(1<<40))
				}
				if n := len(r.Counts); n == events && n > 0 {
					x.Counted, x.Counts = true, slices.Clone(r.Counts)
				}
			}
			marks = append(marks, x)
			records = append(records, r)
			continue
		}
		r.Exit = r.Enter + random.Uint64N(1000)
		x := row{Number: uint64(len(rows)), Enter: r.Enter, Exit: r.Exit, Burst: r.Enter - at, Call: r.Call, Path: r.Path, NoBurst: lost || paused, Paused: paused, Polls: 1}
		if len(rows) == 0 {
			x.Burst, x.NoBurst, x.Paused = 0, true, false
		}
		if events > 0 && !some(6) {
			for range events {
				r.Counts = append(r.Counts, random.Int64N(1<<40))
			}
			if some(5) {
				r.Counts[random.IntN(events)] = shmabi.NoCount
			}
			x.Counts = slices.Clone(r.Counts)
		}
		if some(4) {
			r.IsCollective, r.Collective.Comm = true, random.Uint32()
			x.Met = []section.Collective{{Comm: r.Collective.Comm}}
		}
		if some(7) {
			first := r.Enter + random.Uint64N(r.Exit-r.Enter+1)
			r.Polls = []ring.Polls{{Call: r.Call, Path: r.Path, First: r.Enter, Count: 4}, {Call: 6, Path: 1, First: first, Count: 3}}
			x.Exit, x.Polls = first, 5
			rows = append(rows, x)
			x = row{Number: x.Number + 1, Enter: first, Exit: r.Exit, Call: 6, Path: 1, NoBurst: true, Polls: 3}
		}
		at, lost, paused = r.Exit, false, false
		records, rows = append(records, r), append(rows, x)
	}
	return records, rows, marks
}

// However records are cut into blocks, whatever the memory of these held, and however often a Former is taken down to
// its snapshot, the blocks put end to end are the rows and marks of the records.
func TestFormKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.IntRange(0, 3).Draw(t, "events")
		records, wantRows, wantMarks := drawRecords(t, events)
		room := new(burst.Room)
		f := burst.NewFormer(7, events, every{}, room)
		var rows []row
		var marks []mark
		take := func() {
			blocks := f.Take(nil)
			if f.Waiting() != 0 {
				t.Fatalf("%d rows wait", f.Waiting())
			}
			r, m := rowsOf(t, blocks)
			rows, marks = append(rows, r...), append(marks, m...)
			room.Put(blocks)
			if rapid.IntRange(0, 2).Draw(t, "restart") == 0 {
				calls, m := f.Snapshot()
				f = burst.Restore(7, events, every{}, room, calls, m)
			}
		}
		waiting := 0
		for rest := records; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), section.MaxRows)).Draw(t, "batch")
			form(f, rest[:n]...)
			rest = rest[n:]
			if waiting += n; f.Waiting() < n {
				t.Fatalf("%d wait of %d", f.Waiting(), n)
			}
			if rapid.Bool().Draw(t, "take") {
				take()
			}
		}
		take()
		same(t, wantRows, rows)
		same(t, wantMarks, marks)
		if f.Calls() != uint64(len(rows)) || f.Marks() != uint64(len(marks)) {
			t.Fatalf("%d calls of %d, %d marks of %d", f.Calls(), len(rows), f.Marks(), len(marks))
		}
		if n := len(rows); n > 0 && f.Until() != rows[n-1].Exit {
			t.Fatalf("until %d, the last call ended at %d", f.Until(), rows[n-1].Exit)
		}
	})
}

// Forming allocates nothing once there are blocks.
func TestFormAllocatesNothing(t *testing.T) {
	room := new(burst.Room)
	f := burst.NewFormer(7, 2, every{}, room)
	var blocks []*section.Block
	at := uint64(0)
	round := func() {
		for i := range uint32(3 * section.MaxRows / 2) {
			at += 10
			r := ring.Record{Enter: at, Exit: at + 5, Call: mpicall.Send, Path: i % 20, Counts: []int64{int64(i), math.MaxInt64}}
			f.Call(&r)
		}
		blocks = f.Take(blocks[:0])
		room.Put(blocks)
	}
	round()
	if n := testing.AllocsPerRun(10, round); n > 0 {
		t.Errorf("%.0f allocations for %d calls", n, 3*section.MaxRows/2)
	}
}
