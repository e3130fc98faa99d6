package ring_test

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
)

// process writes a process file into a directory of its own.
func process(t *testing.T, identity ringwriter.Identity) (*ringwriter.Process, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "moriens-0-run")
	p, err := ringwriter.New(dir, identity)
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

// opened writes a process file, and has it open to be read.
func opened(t *testing.T, identity ringwriter.Identity) (*ringwriter.Process, *ring.Process) {
	t.Helper()
	w, dir := process(t, identity)
	p, err := ring.OpenProcess(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return w, p
}

func thread(t *testing.T, p *ringwriter.Process, dir string, slots int) (*ringwriter.Ring, *ring.Reader) {
	t.Helper()
	w, err := p.Thread(slots)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ring.OpenReader(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return w, r
}

func readAll(t *testing.T, r *ring.Reader) []ring.Record {
	t.Helper()
	var all []ring.Record
	buf := make([]ring.Record, 7)
	for {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
		if n == 0 {
			return all
		}
		all = append(all, buf[:n]...)
	}
}

func TestRoundTrip(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 16)
	if r.ID != w.ID() || r.Process != p.ID() || r.Thread != 0 || r.Slots() != 16 {
		t.Errorf("header: %+v", r)
	}
	var ticks uint64
	for round := range 10 { // several times round the ring
		var want []ring.Record
		for i := range 11 {
			rec := ring.Record{Enter: ticks, Exit: ticks + uint64(i), Call: mpicall.Send + mpicall.ID(i), Path: uint32(round)}
			ticks += 100
			if !w.Call(rec.Call, rec.Path, rec.Enter, rec.Exit) {
				t.Fatal("dropped")
			}
			want = append(want, rec)
		}
		if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
			t.Fatal(diff)
		}
	}
	if r.Dropped() != 0 || r.Head() != 110 || r.Tail() != 110 {
		t.Errorf("dropped %d, head %d, tail %d", r.Dropped(), r.Head(), r.Tail())
	}
}

func TestFullRingDropsAndSaysSo(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 4)
	written := 0
	for i := range 10 {
		if w.Call(mpicall.Recv, 0, uint64(i), uint64(i)) {
			written++
		}
	}
	if written != 4 || r.Dropped() != 6 {
		t.Errorf("wrote %d, dropped %d", written, r.Dropped())
	}
	if got := readAll(t, r); len(got) != 4 || got[3].Enter != 3 || got[3].Lost {
		t.Errorf("read %+v", got)
	}
	w.Call(mpicall.Recv, 0, 10, 11)
	w.Call(mpicall.Recv, 0, 12, 13)
	want := []ring.Record{{Enter: 10, Exit: 11, Call: mpicall.Recv, Lost: true}, {Enter: 12, Exit: 13, Call: mpicall.Recv}}
	if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
		t.Error(diff)
	}
}

// expectLeft compares what a thread has left open.
func expectLeft(t *testing.T, r *ring.Reader, wantUnfinished bool, want ...ring.Record) {
	t.Helper()
	for range 2 { // asking does not change the answer
		got, unfinished := r.Left()
		if diff := cmp.Diff(want, got); diff != "" || unfinished != wantUnfinished {
			t.Errorf("unfinished %v, want %v\n%s", unfinished, wantUnfinished, diff)
		}
	}
}

func TestUnfinished(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, r := thread(t, p, dir, 2)
	expectLeft(t, r, false)
	w.Call(mpicall.Send, 1, 10, 20)
	w.Call(mpicall.Send, 1, 30, 40)
	w.Call(mpicall.Send, 1, 50, 60) // dropped
	expectLeft(t, r, false)         // before all is read
	readAll(t, r)
	expectLeft(t, r, false) // the slot at head is stale
	w.Enter(mpicall.Barrier, 7, 70)
	p.Exit()
	expectLeft(t, r, true, ring.Record{Enter: 70, Call: mpicall.Barrier, Path: 7, Lost: true})
}

// TestStaleContinuation: at head lies a continuation slot whose bytes look like the sequence number of a call.
func TestStaleContinuation(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, r := thread(t, p, dir, 4)
	w.Call(mpicall.Send, 1, 1, 2)
	// The third value's upper half lies where a call slot has its seq; slot 2 will be slot 6, which is head then.
	w.Call(mpicall.Send, 1, 3, 4, 5, 6, 7<<32)
	readAll(t, r)
	for i := range uint64(3) {
		w.Call(mpicall.Send, 1, 10*i+10, 10*i+15)
	}
	readAll(t, r)
	p.Exit()
	expectLeft(t, r, false)
}

// TestReaderContinuesWhereTheLastStopped is an agent that was restarted.
func TestReaderContinuesWhereTheLastStopped(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 8)
	for i := range 6 {
		w.Call(mpicall.Send, 0, uint64(i), uint64(i))
	}
	if n, err := r.Read(make([]ring.Record, 4)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	r.Release()
	if n, err := r.Read(make([]ring.Record, 1)); n != 1 || err != nil || r.Held() != 1 { // and is not released
		t.Fatal(n, r.Held(), err)
	}
	second, err := ring.OpenReader(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := readAll(t, second); len(got) != 2 || got[0].Enter != 4 {
		t.Errorf("read %+v", got)
	}
}

// TestResume is an agent that was killed after it had written down what it had read, and before it released it.
func TestResume(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, first := thread(t, p, dir, 8)
	for i := range 6 {
		w.Call(mpicall.Send, 0, uint64(i), uint64(i))
	}
	for range 2 {
		first.Release()
		if n, err := first.Read(make([]ring.Record, 2)); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	reopen := func() *ring.Reader {
		r, err := ring.OpenReader(filepath.Join(dir, w.FileName()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	for _, wrong := range []uint64{0, 1, 7} {
		if err := reopen().Resume(wrong); err == nil {
			t.Errorf("it resumes at %d", wrong)
		}
	}
	second := reopen()
	if err := second.Resume(4); err != nil || second.Held() != 0 {
		t.Fatal(err)
	}
	if got := readAll(t, second); len(got) != 2 || got[0].Enter != 4 {
		t.Errorf("read %+v", got)
	}
}

// TestConcurrent has a writer and a reader at work on one small ring: what is read is in order, what
// is missing is counted, and a record after a gap says so.
func TestConcurrent(t *testing.T) {
	const calls = 200_000
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 64)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(calls) {
			w.Call(mpicall.Iprobe, uint32(i), i, i)
		}
		w.Close()
	})
	var got, next uint64
	buf := make([]ring.Record, 50)
	for {
		closed := r.Closed()
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
		for _, rec := range buf[:n] {
			if rec.Enter < next || uint64(rec.Path) != rec.Enter || rec.Exit != rec.Enter || rec.Lost != (rec.Enter > next) {
				t.Fatalf("expected call %d, got %+v", next, rec)
			}
			next = rec.Enter + 1
			got++
		}
		if closed && n == 0 {
			break
		}
	}
	wg.Wait()
	if got+r.Dropped() != calls {
		t.Errorf("read %d, dropped %d, wrote %d", got, r.Dropped(), calls)
	}
}

func BenchmarkRead(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "run")
	p, err := ringwriter.New(dir, ringwriter.Identity{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Exit()
	w, err := p.Thread(1 << 12)
	if err != nil {
		b.Fatal(err)
	}
	r, err := ring.OpenReader(filepath.Join(dir, w.FileName()))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	buf := make([]ring.Record, 512)
	records := 0
	for b.Loop() {
		b.StopTimer()
		for w.Call(mpicall.Send, rand.Uint32(), 1, 2) {
		}
		b.StartTimer()
		for {
			n, err := r.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			if n == 0 {
				break
			}
			r.Release()
			records += n
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}
