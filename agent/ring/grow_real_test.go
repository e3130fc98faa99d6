//go:build !quick

package ring_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

var seeds = flag.Uint64("seeds", 60, "rings of random growth")

// growing is a ring with room for so many areas, and its reader.
func growing(t *testing.T, slots, areas int) (*ringwriter.Process, *ringwriter.Ring, *ring.Reader, string) {
	t.Helper()
	p, dir := process(t, ringwriter.Identity{})
	w, err := p.GrowingThread(slots, areas)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, w.FileName())
	r, err := ring.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	return p, w, r, path
}

// allocated is how many bytes of a file there are.
func allocated(t *testing.T, path string) int64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// A ring without a reader grows until there is no more room, and loses nothing before. What was read is freed, and the
// writer returns to where it began.
func TestRingGrows(t *testing.T) {
	const slots, areas = 1 << 10, 4 // 32 to 256 KiB
	p, w, r, path := growing(t, slots, areas)
	defer p.Exit()
	first := allocated(t, path)
	room := slots * (1<<areas - 1)
	ticks := uint64(0)
	write := func() bool { ticks++; return w.Call(mpicall.Send, 0, ticks, ticks) }
	for i := range room {
		if !write() {
			t.Fatalf("record %d of %d was dropped", i, room)
		}
	}
	if write() || r.Dropped() != 1 {
		t.Fatalf("%d slots are full, %d dropped", room, r.Dropped())
	}
	if got := allocated(t, path); got < int64(room)*shmabi.SlotBytes {
		t.Errorf("%d bytes are allocated for %d slots", got, room)
	}
	got := readAll(t, r)
	for i, record := range got {
		if record.Enter != uint64(i)+1 || record.Lost {
			t.Fatalf("record %d: %+v", i, record)
		}
	}
	if len(got) != room || w.Area() != areas-1 {
		t.Errorf("%d of %d records, in area %d", len(got), room, w.Area())
	}
	for range 2 * slots << areas {
		if !write() {
			t.Fatal("dropped")
		}
		readAll(t, r)
	}
	if w.Area() != 0 {
		t.Errorf("still in area %d", w.Area())
	}
	if got := allocated(t, path); got > first {
		t.Errorf("%d bytes are allocated, %d were in the beginning", got, first)
	}
}

// A ring whose file was removed does not grow; that costs records as a full ring does.
func TestGrowRemoved(t *testing.T) {
	p, w, r, path := growing(t, 4, 3)
	defer p.Exit()
	defer r.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(10) {
		if got := w.Call(mpicall.Send, 0, i, i); got != (i < 4) {
			t.Fatalf("record %d: %t", i, got)
		}
	}
	if got := readAll(t, r); len(got) != 4 || r.Dropped() != 6 || w.Segments() != 1 {
		t.Errorf("%d records, %d dropped, %d segments", len(got), r.Dropped(), w.Segments())
	}
}

// Another file in its place is left alone.
func TestGrowReplaced(t *testing.T) {
	p, w, r, path := growing(t, 4, 3)
	defer p.Exit()
	defer r.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 4096)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5) {
		w.Call(mpicall.Send, 0, i, i)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) || r.Dropped() != 1 {
		t.Errorf("%v; %d dropped", err, r.Dropped())
	}
}

// A record that outgrows the area that it is in is found whole where its process dies: finished or not.
func TestOpenRecordMoves(t *testing.T) {
	for _, finished := range []bool{false, true} {
		p, w, r, _ := growing(t, 8, 4)
		defer r.Close()
		want := ring.Record{Enter: 10, Call: mpicall.Waitall}
		for i := range uint64(5) {
			w.Call(mpicall.Send, 0, i, i)
		}
		if !w.Enter(mpicall.Waitall, 0, 10) {
			t.Fatal("dropped")
		}
		for i := range uint64(40) {
			if !ringwriter.Add(w, shmabi.Request{Request: i, Event: shmabi.RequestCompleted, Kind: shmabi.SlotRequest}) {
				t.Fatalf("no room for request %d", i)
			}
			want.Requests = append(want.Requests, ring.Request{Event: ring.Completed, Handle: i})
		}
		if finished {
			w.Exit(11)
			want.Exit = 11
		} else {
			w.Commit()
		}
		p.Exit()
		if got := readAll(t, r); len(got) < 5 || got[4].Enter != 4 {
			t.Fatalf("%+v", got)
		} else if left, unfinished := r.Left(); !finished && (!unfinished || len(left) != 1 || cmp.Diff(want, left[0]) != "") {
			t.Errorf("left, unfinished %t: %+v", unfinished, left)
		} else if finished && (len(left) != 0 || len(got) != 6 || cmp.Diff(want, got[5], cmpopts.EquateEmpty()) != "") {
			t.Errorf("read %d, left %d: %s", len(got), len(left), cmp.Diff(want, got[len(got)-1]))
		}
	}
}

// Rings that grow and are freed again at random show what is on a list to readers that are killed at random, and each
// record once.
func TestGrowthIsAList(t *testing.T) {
	segments, drops, again := 0, 0, 0
	for seed := range *seeds {
		random := rand.New(rand.NewPCG(seed, 5))
		m := newModel(t, random)
		for range 400 {
			m.step()
		}
		m.end()
		segments, drops, again = segments+m.w.Segments(), drops+m.drops, again+m.again
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d segments, %d records dropped, readers killed %d times", segments, drops, again)
	if segments < 2*int(*seeds) || drops == 0 || again == 0 {
		t.Error("that is too easy")
	}
}

// A model is a ring, its reader, and the list of what it holds.
type model struct {
	t      *testing.T
	random *rand.Rand
	p      *ringwriter.Process
	w      *ringwriter.Ring
	r      *ring.Reader
	path   string
	ticks  uint64
	lost   bool
	drops  int
	again  int

	written   []ring.Record
	read      int    // of written, by this reader
	committed int    // of these, those that the next reader need not read: it knows
	tail      uint64 // where they end
}

func newModel(t *testing.T, random *rand.Rand) *model {
	m := &model{t: t, random: random}
	m.p, m.w, m.r, m.path = growing(t, 4<<random.IntN(5), 1+random.IntN(7))
	return m
}

func (m *model) step() {
	switch m.random.IntN(8) {
	default:
		for range m.random.IntN(20) {
			m.write()
		}
	case 5:
		for range m.random.IntN(4) {
			m.readSome(1 + m.random.IntN(40))
		}
	case 6:
		m.readSome(1 << 12)
		m.commit()
		if m.random.IntN(2) == 0 {
			m.r.Release()
		}
	case 7:
		if m.random.IntN(4) == 0 {
			m.restart()
		}
	}
}

// write writes a record of any kind, small ones most often.
func (m *model) write() {
	m.ticks += 100
	want := ring.Record{Enter: m.ticks, Exit: m.ticks + 50, Call: mpicall.Waitall, Lost: m.lost}
	n := m.random.IntN(3)
	if m.random.IntN(30) == 0 {
		n = m.random.IntN(300)
	}
	whole := m.w.Enter(want.Call, 0, want.Enter, -7)
	want.Counts = []int64{-7}
	for i := 0; whole && i < n; i++ {
		handle := m.ticks<<16 + uint64(i)
		want.Requests = append(want.Requests, ring.Request{Event: ring.Completed, Handle: handle})
		whole = ringwriter.Add(m.w, shmabi.Request{Request: handle, Event: shmabi.RequestCompleted, Kind: shmabi.SlotRequest})
		if !whole {
			m.w.Drop()
		}
	}
	if !whole {
		m.drops++
		m.lost = true
		return
	}
	if m.random.IntN(4) == 0 {
		m.polls(&want)
	} else {
		m.w.Exit(want.Exit)
	}
	m.written = append(m.written, want)
	m.lost = false
}

// polls makes a run of polls of the record that is open.
func (m *model) polls(want *ring.Record) {
	m.w.Commit()
	m.w.Return(want.Exit)
	for i := range m.random.IntN(12) {
		path := uint32(1 + m.random.IntN(4))
		m.ticks += 100
		if !m.w.Poll(mpicall.Test, path, m.ticks) {
			break
		}
		want.Exit = m.ticks + uint64(i)
		m.w.Polled(want.Exit)
		known := false
		for k := range want.Polls {
			if want.Polls[k].Path == path {
				want.Polls[k].Count++
				known = true
			}
		}
		if !known {
			want.Polls = append(want.Polls, ring.Polls{Call: mpicall.Test, Path: path, First: m.ticks, Count: 1})
		}
	}
	m.w.Publish()
}

func (m *model) readSome(most int) {
	records := make([]ring.Record, most)
	n, err := m.r.Read(records)
	if err != nil {
		m.t.Fatal(err)
	}
	if want := m.written[m.read:min(m.read+most, len(m.written))]; !slices.EqualFunc(want, records[:n], sameCall) {
		m.t.Fatalf("behind %d records: %s", m.read, cmp.Diff(want, records[:n], cmpopts.EquateEmpty()))
	}
	m.read += n
	if _, open := m.r.Open(); open && m.read == len(m.written) {
		m.t.Fatal("a record is open that is not")
	}
}

// sameCall compares what a model writes, faster than cmp does.
func sameCall(a, b ring.Record) bool {
	return a.Enter == b.Enter && a.Exit == b.Exit && a.Call == b.Call && a.Lost == b.Lost && b.Path == 0 && b.Mark == 0 && !b.Paused && !b.IsCollective &&
		len(b.Transfers) == 0 && slices.Equal(a.Counts, b.Counts) && slices.Equal(a.Requests, b.Requests) && slices.Equal(a.Polls, b.Polls)
}

func (m *model) commit() { m.committed, m.tail = m.read, m.r.Tail() }

// restart kills the reader, which may have released less than it has committed.
func (m *model) restart() {
	r, err := ring.OpenReader(m.path)
	if err == nil {
		err = r.Resume(m.tail)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.r.Close()
	m.r, m.read = r, m.committed
	m.again++
}

func (m *model) end() {
	m.readSome(len(m.written) + 1)
	if m.read != len(m.written) || m.r.Dropped() != uint64(m.drops) {
		m.t.Errorf("%d of %d records, %d of %d drops", m.read, len(m.written), m.r.Dropped(), m.drops)
	}
	m.r.Close()
	m.p.Exit()
}

// A writer that grows while it is read, by readers that start and end, loses what it counts and nothing else.
func TestGrowthUnderLoad(t *testing.T) {
	const records = 300_000
	p, w, r, path := growing(t, 64, 6)
	var done atomic.Bool
	var all sync.WaitGroup
	defer func() {
		done.Store(true)
		all.Wait()
		p.Exit()
	}()
	dropped := make(map[uint64]bool)
	all.Go(func() {
		defer done.Store(true)
		random := rand.New(rand.NewPCG(1, 1))
		for i := range uint64(records) {
			if done.Load() {
				return
			}
			n := random.IntN(4)
			if random.IntN(1000) == 0 {
				n = random.IntN(500)
				time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
			}
			m := ringwriter.Meaning{Requests: make([]shmabi.Request, n)}
			for k := range m.Requests {
				m.Requests[k] = shmabi.Request{Request: i<<16 + uint64(k), Event: shmabi.RequestCompleted}
			}
			if !w.CallMeaning(mpicall.Waitall, 0, i, i, m) {
				dropped[i] = true
			}
		}
	})
	random := rand.New(rand.NewPCG(2, 2))
	var got []uint64
	buffer := make([]ring.Record, 200)
	check := func(n int) error {
		for _, record := range buffer[:n] {
			for k, q := range record.Requests {
				if q.Handle != record.Enter<<16+uint64(k) {
					return fmt.Errorf("record %d, request %d: %#x", record.Enter, k, q.Handle)
				}
			}
			got = append(got, record.Enter)
		}
		return nil
	}
	for ended := false; ; {
		n, err := r.Read(buffer[:1+random.IntN(len(buffer))])
		if err == nil {
			err = check(n)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && ended {
			break
		}
		ended = done.Load()
		switch random.IntN(40) {
		default:
			r.Release()
		case 1, 2, 3, 4, 5: // later
		case 0:
			tail := r.Tail()
			r.Close()
			if r, err = ring.OpenReader(path); err == nil {
				err = r.Resume(tail)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	all.Wait()
	i := uint64(0)
	for _, enter := range got {
		for ; dropped[i]; i++ {
		}
		if enter != i {
			t.Fatalf("record %d where %d belongs", enter, i)
		}
		i++
	}
	if len(got)+len(dropped) != records || r.Dropped() != uint64(len(dropped)) || w.Segments() < 3 {
		t.Errorf("%d records and %d dropped, by its count %d, of %d; %d segments", len(got), len(dropped), r.Dropped(), records, w.Segments())
	}
	t.Logf("%d dropped, %d segments", len(dropped), w.Segments())
	r.Close()
}
