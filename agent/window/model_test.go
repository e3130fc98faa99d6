package window_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A call is one of a thread of a process.
type call struct {
	ring       uint64
	row        uint64
	enter, end uint64
	comm       uint32 // of whose collectives it is one, 0: it is none
	ordinal    uint64
	window     anchor.ID
}

// A posted is a move, and up to which rows of which rings its process has to be read for it to be known.
type posted struct {
	window.Move
	row, done uint64
	by        int // ring of the process that completed it
	at        anchor.ID
}

// A program is what the threads of a process do.
type program struct {
	process uint64
	rings   [][]call
	inOrder []*call // in which calls end
	moves   []posted
}

// draw draws a program of a process, a long one or not.
func draw(t *rapid.T, process uint64, long bool) *program {
	p := &program{process: process}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "program"), process))
	threads := rapid.IntRange(1, 3).Draw(t, "threads")
	most := rapid.SampledFrom([]int{5, 30, 120}).Draw(t, "calls")
	if long {
		most = 100
	}
	pauses := rapid.IntRange(0, 2).Draw(t, "pauses") // enough for windows that are cut by time
	meets := rapid.IntRange(0, 3).Draw(t, "anchors")
	base := rapid.SampledFrom([]uint64{0, 0, 60, 4000, 4090, 20000}).Draw(t, "missed anchors")
	step := rapid.SampledFrom([]uint64{1, 1, 50}).Draw(t, "of so many anchors one is read")
	for thread := range threads {
		ticks := 1000 + random.Uint64N(50)
		var calls []call
		for range random.IntN(most + 1) {
			c := call{ring: process<<8 + uint64(thread+1), row: uint64(len(calls))}
			c.enter = ticks + random.Uint64N(20)
			if random.IntN(20) < pauses {
				c.enter += random.Uint64N(uint64(25 * time.Second))
			}
			c.end = c.enter + random.Uint64N(30)
			if random.IntN(4) < meets {
				c.comm = 1 + uint32(random.IntN(2))
			}
			ticks = c.end
			calls = append(calls, c)
		}
		p.rings = append(p.rings, calls)
	}
	for _, calls := range p.rings {
		for i := range calls {
			p.inOrder = append(p.inOrder, &calls[i])
		}
	}
	slices.SortStableFunc(p.inOrder, func(a, b *call) int { return cmp.Compare(a.end, b.end) })
	p.giveWindows(base, step)
	p.post(random)
	return p
}

// giveWindows says in which window each call is: in the one that was open when it ended, of which parts begin with a
// call that begins late enough. Of the first communicator so many collectives are missing, and of all of them all but
// one in a step.
func (p *program) giveWindows(base, step uint64) {
	next := map[uint32]uint64{1: base}
	had := make(map[uint32]uint64)
	var now anchor.ID
	since := uint64(0)
	for i, c := range p.inOrder {
		if i == 0 {
			since = c.enter
		}
		if c.enter > since {
			now = max(now, now.At(time.Duration(c.enter-since)))
		}
		c.window = now
		if c.comm != 0 {
			c.ordinal = next[c.comm]
			had[c.comm] = c.ordinal + 1
			next[c.comm] += step
			if next := anchor.After(had[1] + had[2]); next > now {
				now, since = next, c.end
			}
		}
	}
}

// post has calls post moves, which other calls of the process complete.
func (p *program) post(random *rand.Rand) {
	for _, calls := range p.rings {
		for _, c := range calls {
			if c.comm != 0 || random.IntN(3) == 0 {
				continue
			}
			for range random.IntN(3) {
				by := random.IntN(len(p.rings))
				x := posted{row: c.row, done: c.row, by: by, at: c.window, Move: window.Move{
					Ring: c.ring, Epoch: uint32(random.IntN(3)),
					Lane: section.Lane{
						Kind: section.MoveKind([]moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED, moriensv1.Transfers_KIND_COLLECTIVE}[random.IntN(3)]), Comm: uint32(random.IntN(2)), Peer: int32(random.IntN(4)) - 1, Tag: int32(random.IntN(3)) - 1,
					},
					Transfer: section.Transfer{Row: c.row, Bytes: random.Uint64N(1 << 20)},
				}}
				if random.IntN(3) > 0 {
					x.Ordinal = 1 + random.Uint64N(1000)
				}
				if random.IntN(8) == 0 {
					x.Channel = 1 + uint32(random.IntN(5))
				}
				x.Untold = random.IntN(8) == 0
				if list := p.rings[by]; len(list) > 0 && random.IntN(5) > 0 {
					other := list[random.IntN(len(list))]
					x.done = other.row
					if x.Done = int64(other.row - c.row); x.Done >= 0 {
						x.Done++
					}
					if other.ring != c.ring {
						x.Transfer.Ring = other.ring
					}
				} else {
					x.by = -1
				}
				p.moves = append(p.moves, x)
			}
		}
	}
}

// introduce says who the process is.
func (p *program) introduce() []*moriensv1.ReportRequest {
	list := []*moriensv1.ReportRequest{request(&moriensv1.Process{Process: p.process, Size: 2, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW})}
	for comm := uint32(1); comm <= 2; comm++ {
		list = append(list,
			request(&moriensv1.Communicator{Communicator: comm, Id: uint64(comm), Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}),
			request(&moriensv1.Member{Process: p.process, Comm: comm, Communicator: comm}))
	}
	for thread := range p.rings {
		list = append(list, request(&moriensv1.Ring{Ring: p.process<<8 + uint64(thread+1), Process: p.process, Thread: uint32(thread)}))
	}
	return list
}

// report is what some calls of a thread become. before is when the call before them ended.
func report(calls []call, before uint64) *section.Block {
	x := &sectiontest.Rows{Ring: calls[0].ring, First: calls[0].row, Origin: before}
	for _, at := range calls {
		function := mpicall.Send
		if at.comm != 0 {
			function = mpicall.Allreduce
		}
		x.Add(uint32(function), 1, at.enter-before, at.end-at.enter)
		if at.comm != 0 {
			x.Meet(at.comm, at.ordinal, -1, 8, 8)
		}
		before = at.end
	}
	return x.Block()
}

// A model is what a store has to have.
type model struct {
	programs []*program
	position
	before position // the latest transaction
	number uint64   // of the latest transaction
	keep   map[place]int
}

// A position is how far programs were read.
type position struct {
	known []bool     // the process was introduced
	read  [][]int    // calls of each ring
	told  []([]bool) // moves
}

func newModel(programs []*program) *model {
	m := &model{programs: programs, keep: make(map[place]int)}
	for _, p := range programs {
		m.known, m.read, m.told = append(m.known, false), append(m.read, make([]int, len(p.rings))), append(m.told, make([]bool, len(p.moves)))
	}
	m.before = m.clone()
	return m
}

func (p *position) clone() position {
	c := position{known: slices.Clone(p.known)}
	for i := range p.read {
		c.read, c.told = append(c.read, slices.Clone(p.read[i])), append(c.told, slices.Clone(p.told[i]))
	}
	return c
}

// finished reports whether all was read.
func (m *model) finished() bool {
	for i, p := range m.programs {
		for k, calls := range p.rings {
			if m.read[i][k] < len(calls) {
				return false
			}
		}
		if slices.Contains(m.told[i], false) || !m.known[i] {
			return false
		}
	}
	return true
}

// advance reads more of some programs, each up to a time, and returns what is new.
func (m *model) advance(t *rapid.T) (x window.Transaction) {
	last := rapid.IntRange(0, 9).Draw(t, "all of it") == 0
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "transaction"), 0))
	for i, p := range m.programs {
		if !last && random.IntN(2) == 0 {
			continue
		}
		if !m.known[i] {
			m.known[i] = true
			x.Messages = append(x.Messages, p.introduce()...)
		}
		until := uint64(1 << 62)
		if rest := slices.IndexFunc(p.inOrder, func(c *call) bool { return int(c.row) >= m.read[i][c.ring&0xff-1] }); !last && rest >= 0 {
			until = p.inOrder[rest+random.IntN(min(len(p.inOrder)-rest, 1+len(p.inOrder)/2))].end
		}
		for _, k := range random.Perm(len(p.rings)) {
			calls, from := p.rings[k], m.read[i][k]
			to, _ := slices.BinarySearchFunc(calls, until+1, func(c call, ticks uint64) int { return cmp.Compare(c.end, ticks) })
			m.read[i][k] = max(from, to)
			for from < to { // in so many messages
				n := from + 1 + random.IntN(to-from)
				before := calls[from].enter
				if from > 0 {
					before = calls[from-1].end
				}
				x.Blocks = append(x.Blocks, report(calls[from:n], before))
				from = n
			}
		}
		for k := range p.moves {
			at := &p.moves[k]
			read := int(at.row) < m.read[i][at.Move.Ring&0xff-1] && (at.by < 0 || int(at.done) < m.read[i][at.by])
			if !m.told[i][k] && read && (last || random.IntN(4) > 0) {
				m.told[i][k] = true
				x.Moves = append(x.Moves, at.Move)
			}
		}
	}
	random.Shuffle(len(x.Moves), func(i, k int) { x.Moves[i], x.Moves[k] = x.Moves[k], x.Moves[i] })
	return x
}

// windows are those that the model's processes have been in.
func (m *model) windows() map[place]*windowed {
	list := make(map[place]*windowed)
	for i, p := range m.programs {
		for k, calls := range p.rings {
			for _, c := range calls[:m.read[i][k]] {
				at := place{p.process, c.window}
				w := list[at]
				if w == nil {
					w = &windowed{make(map[uint64][2]uint64), make(moves)}
					list[at] = w
				}
				rows, begun := w.Rows[c.ring]
				if !begun {
					rows[0] = c.row
				}
				w.Rows[c.ring] = [2]uint64{rows[0], c.row + 1}
			}
		}
		for k, x := range p.moves {
			if m.told[i][k] {
				list[place{p.process, x.at}].Moves.add(x.Move)
			}
		}
	}
	return list
}

// chunkHash is by what windows are evicted.
func chunkHash(w anchor.ID) uint64 { return anchor.ID(uint64(w)>>22<<16 | uint64(w)&0xffff).Hash(run) }

// retained reports whether a store has to hold a window.
func retained(s *window.Store, at place) bool {
	return chunkHash(at.window) <= s.Below()[s.Class(at.process, at.window)] && !s.Torn(at.process, at.window)
}

// check compares what a store says with the model.
func (m *model) check(t *rapid.T, s *window.Store) {
	t.Helper()
	has := m.windows()
	held, gone := make(map[place]*windowed), make(map[place]bool)
	names := make(map[anchor.ID]bool)
	for at, w := range has {
		names[at.window] = true
		if retained(s, at) {
			held[at] = w
		} else {
			gone[at] = true
		}
	}
	if n := s.Stats().EvictedWindows; n != uint64(len(gone)) {
		t.Fatalf("%d windows are evicted, want %d: %v", n, len(gone), gone)
	}
	for at, class := range m.keep {
		if is := s.Class(at.process, at.window); is < class {
			t.Fatalf("%v is of class %d, want %d at least", at, is, class)
		}
	}
	same := func(what string, want map[place]*windowed, wantGone map[place]bool, f *moriensv1.Fetch) {
		t.Helper()
		got, isGone := fetch(t, s, f)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("windows by %s (-want +got):\n%s", what, gocmp.Diff(want, got))
		}
		if !maps.Equal(wantGone, isGone) {
			t.Fatalf("windows that are gone, by %s (-want +got):\n%s", what, gocmp.Diff(wantGone, isGone))
		}
	}
	same("name", held, gone, named(names))
	one := m.programs[rapid.IntRange(0, len(m.programs)-1).Draw(t, "process")].process
	ofOne := func(at place) bool { return at.process == one }
	same("name, of one process", only(held, ofOne), only(gone, ofOne), named(names, one))
	// By calls, some of which are not there.
	f := new(moriensv1.Fetch)
	wanted := make(map[place]bool)
	for i, p := range m.programs {
		for k, calls := range p.rings {
			if !m.known[i] || rapid.Bool().Draw(t, "not this ring") {
				continue
			}
			first := rapid.IntRange(0, len(calls)).Draw(t, "first")
			behind := rapid.IntRange(first, len(calls)+2).Draw(t, "behind")
			f.Ring, f.FirstRow, f.BehindRow = append(f.Ring, p.process<<8+uint64(k+1)), append(f.FirstRow, uint64(first)), append(f.BehindRow, uint64(behind))
			for row := first; row < min(behind, m.read[i][k]); row++ {
				wanted[place{p.process, calls[row].window}] = true
			}
		}
	}
	inWanted := func(at place) bool { return wanted[at] }
	same("calls", only(held, inWanted), only(gone, inWanted), f)
	// All moves; those of windows that are gone may be there beside others of their chunk.
	got, want, least := fetchMoves(t, s), make(moves), make(moves)
	for at, w := range has {
		for x, n := range w.Moves {
			want[x] += n
			if held[at] != nil {
				least[x] += n
			}
		}
	}
	for x, n := range got {
		if n > want[x] {
			t.Fatalf("%+v is there %d times, was said %d times", x, n, want[x])
		}
	}
	for x, n := range least {
		if n > got[x] {
			t.Fatalf("%+v is there %d times, want %d", x, got[x], n)
		}
	}
}

func only[T any](windows map[place]T, those func(place) bool) map[place]T {
	list := maps.Clone(windows)
	maps.DeleteFunc(list, func(at place, _ T) bool { return !those(at) })
	return list
}

// append has a store take a transaction, and checks what it gives to the collector.
func (m *model) append(t *rapid.T, s *window.Store, x window.Transaction) {
	t.Helper()
	sections, err := s.Append(x)
	if err != nil {
		t.Fatal(err)
	}
	got, want := make(moves), make(moves)
	decode(t, sections, got, nil)
	m.eachOf(x.Moves, func(w anchor.ID, x window.Move) {
		if w.Compared(run) || x.Lane.Kind == section.MoveKind(moriensv1.Transfers_KIND_COLLECTIVE) {
			want.add(x)
		}
	})
	if !maps.Equal(want, got) {
		t.Fatalf("moves for the collector (-want +got):\n%s", gocmp.Diff(want, got))
	}
	if again, err := s.Append(x); len(again) > 0 || err != nil {
		t.Fatalf("again: %d bytes, %v", len(again), err)
	}
}

// eachOf calls visit for moves with the windows that they are in.
func (m *model) eachOf(list []window.Move, visit func(anchor.ID, window.Move)) {
	for _, x := range list {
		p := m.programs[slices.IndexFunc(m.programs, func(p *program) bool { return p.process == x.Ring>>8 })]
		visit(p.rings[x.Ring&0xff-1][x.Row].window, x)
	}
}

// pin marks windows, and compares the answer.
func (m *model) pin(t *rapid.T, s *window.Store) {
	t.Helper()
	k := &moriensv1.Keep{Number: 3, Why: rapid.SampledFrom([]moriensv1.Keep_Why{moriensv1.Keep_WHY_UNUSUAL, moriensv1.Keep_WHY_PINNED}).Draw(t, "why")}
	processes := m.programs
	if rapid.Bool().Draw(t, "one") {
		processes = processes[:1]
		k.Process = []uint64{processes[0].process}
	}
	names := make(map[anchor.ID]bool)
	for range rapid.IntRange(1, 3).Draw(t, "windows") {
		p := m.programs[rapid.IntRange(0, len(m.programs)-1).Draw(t, "whose")]
		if len(p.inOrder) > 0 {
			names[p.inOrder[rapid.IntRange(0, len(p.inOrder)-1).Draw(t, "call")].window] = true
		}
	}
	k.Window = named(names).Window
	class := int(k.Why)
	has := m.windows()
	want := &moriensv1.Kept{Number: 3}
	for w := range names {
		for i, p := range m.programs {
			at := place{p.process, w}
			if !m.known[i] || len(k.Process) > 0 && i > 0 {
				continue
			}
			switch {
			case has[at] == nil: // ahead, or skipped
			case retained(s, at):
				want.Held++
				m.keep[at] = max(m.keep[at], class)
			default:
				want.GoneProcess, want.GoneWindow = append(want.GoneProcess, p.process), append(want.GoneWindow, uint64(w))
			}
			if has[at] == nil && m.ahead(i, w) {
				want.Ahead++
				m.keep[at] = max(m.keep[at], class)
			}
		}
	}
	got := s.Keep(k)
	if got.Number != 3 || got.Error != "" || got.Held != want.Held || len(got.GoneWindow) != len(want.GoneWindow) || len(got.GoneProcess) != len(want.GoneProcess) || got.Ahead != want.Ahead {
		t.Fatalf("%v is answered with %v, want %v", k, got, want)
	}
}

// ahead reports whether the next call of a process may be in a window, or a later one.
func (m *model) ahead(i int, w anchor.ID) bool {
	had := make(map[uint32]uint64)
	var now anchor.ID
	for _, c := range m.programs[i].inOrder {
		if int(c.row) >= m.read[i][c.ring&0xff-1] {
			break
		}
		if now = max(now, c.window); c.comm != 0 {
			had[c.comm] = c.ordinal + 1
			now = max(now, anchor.After(had[1]+had[2]))
		}
	}
	return w >= now
}

// Random programs of several processes and threads, read in transactions of any size, with restarts, transactions
// that the outbox could not keep, windows that are marked, and room for all or for some: a fetch gets exactly the
// windows that are retained, with their rows and what those have moved, once, and what is gone is counted.
func TestModel(t *testing.T) {
	evicted := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		base := temporary(t)
		defer os.RemoveAll(base)
		bound := rapid.SampledFrom([]int64{0, 6 << 10, 12 << 10, 24 << 10}).Draw(t, "bound")
		var programs []*program
		for i := range rapid.IntRange(1, 4).Draw(t, "processes") {
			programs = append(programs, draw(t, uint64(i+1), bound > 0))
		}
		m := newModel(programs)
		dir := filepath.Join(base, "windows")
		s := openAt(t, dir, bound, 0)
		defer func() { s.Close() }()
		reopen := func(committed uint64) {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, dir, bound, committed)
		}
		recurs := false // there is a transaction that may
		for !m.finished() {
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			default:
				m.before = m.clone()
				x := m.advance(t)
				m.number++
				x.Number, recurs = m.number, true
				m.append(t, s, x)
				if rapid.IntRange(0, 4).Draw(t, "the outbox fails") == 0 {
					s.Undo()
					if s.Last() != m.number-1 {
						t.Fatalf("undone: the last transaction is %d", s.Last())
					}
					if rapid.Bool().Draw(t, "more") {
						more := m.advance(t)
						x.Messages, x.Blocks, x.Moves = append(x.Messages, more.Messages...), append(x.Blocks, more.Blocks...), append(x.Moves, more.Moves...)
					}
					m.append(t, s, x)
				}
			case 0:
				was := s.Stats()
				recurs = false
				reopen(m.number)
				if is := s.Stats(); is.EvictedWindows != was.EvictedWindows || is.EvictedBytes != was.EvictedBytes || is.Unusual != was.Unusual || is.Below != was.Below || is.Pinned != was.Pinned {
					t.Fatalf("restarted: %+v, it was %+v", is, was)
				}
			case 1: // the latest transaction recurs
				if recurs {
					recurs = false
					m.number--
					m.position = m.before.clone()
					reopen(m.number)
					m.check(t, s)
				}
			case 2:
				m.pin(t, s)
			case 3:
				m.check(t, s)
			case 4: // as when the next transaction is about to be taken
				recurs = false
				if err := s.Compact(); err != nil {
					t.Fatal(err)
				}
			}
			if bytes := s.Stats().Bytes; bytes != onDisk(t, dir) || bound > 0 && bytes-s.StateBytes() > bound {
				t.Fatalf("%d bytes, %d on disk, %d of the state, at most %d", bytes, onDisk(t, dir), s.StateBytes(), bound)
			}
		}
		m.check(t, s)
		evicted += s.Stats().EvictedWindows
		reopen(m.number)
		m.check(t, s)
		if s.Failed() != nil {
			t.Fatal(s.Failed())
		}
	})
	t.Logf("%d windows were evicted", evicted)
}
