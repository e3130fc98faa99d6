package ring_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
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

// TestCounts has records of three slots go round a ring of eight, so that they wrap at every slot.
func TestCounts(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{Events: "a,b:::c:d,e,f"})
	w, r := thread(t, p, dir, 8)
	values := []int64{1 << 62, -3, 0, shmabi.NoCount}
	buf := make([]ring.Record, 2)
	for i := range uint64(20) {
		rec := ring.Record{Enter: 10 * i, Exit: 10*i + 5, Call: mpicall.Send, Path: 1, Counts: values}
		if i%4 == 1 { // the burst's counts are not known
			rec.Counts = nil
		}
		if !w.Call(rec.Call, rec.Path, rec.Enter, rec.Exit, rec.Counts...) {
			t.Fatal("dropped")
		}
		n, err := r.Read(buf)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		r.Release()
		if diff := cmp.Diff(rec, buf[0], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("record %d:\n%s", i, diff)
		}
	}
	w.Enter(mpicall.Recv, 2, 300, values...)
	p.Exit()
	expectLeft(t, r, true, ring.Record{Enter: 300, Call: mpicall.Recv, Path: 2, Counts: values})
}

// TestCountsFindNoRoom drops a record whole, though there is room for its first slots.
func TestCountsFindNoRoom(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, r := thread(t, p, dir, 4)
	four := []int64{1, 2, 3, 4}
	if !w.Call(mpicall.Send, 1, 10, 20, 7) || w.Call(mpicall.Send, 1, 30, 40, four...) {
		t.Error("a record of three slots fits into two")
	}
	expectLeft(t, r, false)
	if w.Call(mpicall.Send, 1, 30, 40, four...) || r.Dropped() != 2 {
		t.Errorf("dropped %d", r.Dropped())
	}
	if got := readAll(t, r); len(got) != 1 {
		t.Errorf("read %v", got)
	}
	expectLeft(t, r, false) // what was dropped is not taken for the call it died in
	w.Call(mpicall.Send, 1, 50, 60, four...)
	want := []ring.Record{{Enter: 50, Exit: 60, Call: mpicall.Send, Path: 1, Lost: true, Counts: four}}
	if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
		t.Error(diff)
	}
}

// TestPolls follows a run of polls from two places from its first call to its end, with a look at what a
// reader would find had the process died there.
func TestPolls(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 4)
	for round := range uint64(5) { // the run wraps
		at := 1000 * round
		w.Enter(mpicall.Test, 3, at+10, 8)
		record := ring.Record{Enter: at + 10, Call: mpicall.Test, Path: 3, Counts: []int64{8}}
		expectLeft(t, r, true, record)
		w.Return(at + 20)
		record.Exit = at + 20
		expectLeft(t, r, false, record)
		places := []ring.Polls{
			{Call: mpicall.Test, Path: 3, First: at + 30},
			{Call: mpicall.Iprobe, Path: 3, First: at + 60}, // one place that calls either by a pointer
		}
		for i, k := range []int{0, 1, 1, 0, 1} {
			place, enter := &places[k], at+30+uint64(30*i)
			if !w.Poll(place.Call, place.Path, enter) {
				t.Fatal("no room")
			}
			expectLeft(t, r, true, record, ring.Record{Enter: enter, Call: place.Call, Path: place.Path})
			w.Polled(enter + 20)
			place.Count++
			record.Polls, record.Exit = places[:min(i+1, 2)], enter+20
			expectLeft(t, r, false, record)
		}
		if w.Poll(mpicall.Test, 4, at+999) {
			t.Error("there is room for a fifth slot")
		}
		if got := readAll(t, r); got != nil {
			t.Errorf("not published, and read: %v", got)
		}
		w.Publish()
		if diff := cmp.Diff([]ring.Record{record}, readAll(t, r)); diff != "" {
			t.Error(diff)
		}
		expectLeft(t, r, false)
	}
}

// TestPollThatFound ends a run by a poll that was entered as one more of it.
func TestPollThatFound(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 8)
	w.Enter(mpicall.Test, 1, 10)
	w.Return(20)
	w.Poll(mpicall.Test, 1, 30)
	w.Polled(40)
	w.Poll(mpicall.Testany, 2, 50)
	w.Publish()
	w.Call(mpicall.Testany, 2, 50, 60)
	want := []ring.Record{
		{Enter: 10, Exit: 40, Call: mpicall.Test, Path: 1, Polls: []ring.Polls{{Call: mpicall.Test, Path: 1, First: 30, Count: 1}}},
		{Enter: 50, Exit: 60, Call: mpicall.Testany, Path: 2},
	}
	if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
		t.Error(diff)
	}
}

// TestPollsFindNoRoom has a run that cannot be counted: the one call that has its record keeps it.
func TestPollsFindNoRoom(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 2)
	w.Call(mpicall.Send, 1, 1, 2)
	w.Enter(mpicall.Iprobe, 1, 3)
	w.Return(4)
	if w.Poll(mpicall.Iprobe, 1, 5) {
		t.Fatal("there is room for a third slot")
	}
	w.Publish()
	want := []ring.Record{{Enter: 1, Exit: 2, Call: mpicall.Send, Path: 1}, {Enter: 3, Exit: 4, Call: mpicall.Iprobe, Path: 1}}
	if diff := cmp.Diff(want, readAll(t, r)); diff != "" || r.Dropped() != 0 {
		t.Errorf("dropped %d\n%s", r.Dropped(), diff)
	}
}

// TestMarks has marks and calls share a ring, round which they go; a mark says what happened before it, once.
func TestMarks(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, r := thread(t, p, dir, 4)
	name := p.Name("a phase")
	for i := range uint64(5) {
		at := 100 * i
		w.Mark(shmabi.MarkBegin, name, at, 0)
		w.Call(mpicall.Send, 1, at+1, at+2)
		w.Mark(shmabi.MarkEvent, name, at+3, -1<<63)
		w.Skip()
		w.Mark(shmabi.MarkEnd, name, at+4, 0)
		w.Mark(shmabi.MarkEnd, name, at+5, 0) // dropped
		want := []ring.Record{
			{Enter: at, Exit: at, Mark: ring.Begin, Name: name, Lost: i > 0},
			{Enter: at + 1, Exit: at + 2, Call: mpicall.Send, Path: 1},
			{Enter: at + 3, Exit: at + 3, Mark: ring.Event, Name: name, Value: -1 << 63},
			{Enter: at + 4, Exit: at + 4, Mark: ring.End, Name: name, Paused: true},
		}
		if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
			t.Fatal(diff)
		}
		if r.Dropped() != i+1 || r.Paused() != i+1 {
			t.Errorf("dropped %d, paused %d, want %d", r.Dropped(), r.Paused(), i+1)
		}
		expectLeft(t, r, false)
	}
	p.Exit()
}

// TestMarkIsWhole: a process that died before it had published a mark leaves it.
func TestMarkIsWhole(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, r := thread(t, p, dir, 4)
	name := p.Name("a phase")
	w.Call(mpicall.Send, 1, 1, 2)
	w.Mark(shmabi.MarkEvent, name, 3, 4)
	p.Exit()
	path := filepath.Join(dir, w.FileName())
	r.Close()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{1}, 128); err != nil { // head
		t.Fatal(err)
	}
	if r, err = ring.OpenReader(path); err != nil {
		t.Fatal(err)
	}
	readAll(t, r)
	expectLeft(t, r, false, ring.Record{Enter: 3, Exit: 3, Mark: ring.Event, Name: name, Value: 4})
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

// TestReaderGoesOnWhereTheLastStopped is an agent that was restarted.
func TestReaderGoesOnWhereTheLastStopped(t *testing.T) {
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

func TestProcess(t *testing.T) {
	identity := ringwriter.Identity{
		Rank: 3, Size: 8, World: "job.0", Parent: "node7/4242/99", Host: "node7", Executable: "/opt/app\xff",
		Library: "Open MPI v4.1.4", PID: 4711, Clock: shmabi.ClockTSC,
		Events: "PAPI_TOT_INS,sde:::a::b", Unavailable: "sw:x: no such event\nhw::Y: no PMU\n",
	}
	w, dir := process(t, identity)
	p, err := ring.OpenProcess(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := ring.Identity{
		ID: w.ID(), Rank: 3, Size: 8, World: "job.0", Parent: "node7/4242/99", Host: "node7",
		Executable: "/opt/app\uFFFD", Library: "Open MPI v4.1.4", PID: 4711, Clock: shmabi.ClockTSC,
		Events: []string{"PAPI_TOT_INS", "sde:::a::b"}, Unavailable: []string{"sw:x: no such event", "hw::Y: no PMU"},
	}
	if diff := cmp.Diff(want, p.Identity); diff != "" {
		t.Error(diff)
	}
	if p.State() != ring.Running {
		t.Errorf("state %v", p.State())
	}
	if alive, err := p.Alive(); !alive || err != nil {
		t.Errorf("alive: %v, %v", alive, err)
	}
	w.ThreadFailed(syscall.ENOSPC, 12)
	wantLosses := ring.Losses{Threads: 1, ThreadsFailed: 1, Fault: syscall.ENOSPC, Unrecorded: 12}
	if got := p.Losses(); got != wantLosses {
		t.Errorf("losses %+v", got)
	}
	w.Finalize()
	if p.State() != ring.Finalized {
		t.Errorf("state %v", p.State())
	}
	w.Exit()
	if alive, err := p.Alive(); alive || err != nil {
		t.Errorf("after the end: alive %v, %v", alive, err)
	}
}

func TestLog(t *testing.T) {
	w, dir := process(t, ringwriter.Identity{})
	defer w.Exit()
	p, err := ring.OpenProcess(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	expect := func(want ring.Log) {
		t.Helper()
		log, err := p.ReadLog()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, log); diff != "" {
			t.Error(diff)
		}
	}
	expect(ring.Log{})
	app := w.Module("/bin/app", []byte{1, 2, 3})
	w.Path(ringwriter.Frame{Module: app, Offset: 0x10}, ringwriter.Frame{Offset: 0x20})
	expect(ring.Log{
		Modules: []ring.Module{{ID: 1, Path: "/bin/app", BuildID: []byte{1, 2, 3}}},
		Paths:   []ring.Path{{ID: 1, Frames: []ring.Frame{{Module: 1, Offset: 0x10}, {Offset: 0x20}}}},
	})
	lib := w.Module("/lib/odd name", nil)
	w.Note("a note")
	w.Path(ringwriter.Frame{Module: lib, Offset: 0x30})
	w.Path()
	expect(ring.Log{
		Modules: []ring.Module{{ID: 2, Path: "/lib/odd name"}},
		Paths:   []ring.Path{{ID: 2, Frames: []ring.Frame{{Module: 2, Offset: 0x30}}}, {ID: 3, Frames: []ring.Frame{}}},
		Notes:   []string{"a note"},
	})
	w.Name("solve")
	w.Name("")
	w.Name("\xff\"\n→")
	expect(ring.Log{Names: []ring.Name{{Number: 1, Text: "solve"}, {Number: 2}, {Number: 3, Text: "\uFFFD\"\n→"}}})
	expect(ring.Log{})
}

func TestDirectory(t *testing.T) {
	shm := t.TempDir()
	path := ring.DirectoryPath(shm, 1000, "job7")
	if path != filepath.Join(shm, "moriens-1000-job7") {
		t.Error(path)
	}
	d := ring.NewDirectory(path)
	expect := func(want ring.Found) {
		t.Helper()
		got, err := d.Scan()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	expect(ring.Found{})
	w, err := ringwriter.New(path, ringwriter.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Exit()
	expect(ring.Found{Processes: []string{filepath.Join(path, w.FileName())}})
	thread, err := w.Thread(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := ringwriter.Fault(path, 5, syscall.ENOSPC); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".0123456789abcdef.0.ring", "fault-x-1", "notes", "0.ring"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(ring.Found{
		Rings:  []string{filepath.Join(path, thread.FileName())},
		Faults: []ring.Fault{{Name: "fault-5-28", Rank: 5, Errno: syscall.ENOSPC}},
	})
	expect(ring.Found{})
	// What is not ours stays, and so does the directory.
	if err := d.Remove(); err == nil {
		t.Error("a directory with strangers' files was removed")
	}
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, entry := range left {
		os.Remove(filepath.Join(path, entry.Name()))
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// Only what no living process uses, and what is not brand-new, is swept away.
func TestSweep(t *testing.T) {
	shm := t.TempDir()
	old := time.Now().Add(-time.Hour)
	make := func(run string, lives bool, at time.Time) string {
		path := ring.DirectoryPath(shm, os.Getuid(), run)
		w, err := ringwriter.New(path, ringwriter.Identity{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Thread(2); err != nil {
			t.Fatal(err)
		}
		if lives {
			t.Cleanup(w.Exit)
		} else {
			w.Exit()
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := make("dead", false, old)
	kept := []string{make("alive", true, old), make("young", false, time.Now()), make("open", false, old), filepath.Join(shm, "moriens-8-other")}
	if err := os.Chmod(kept[2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(kept[3], 0o700); err != nil {
		t.Fatal(err)
	}
	n, err := ring.Sweep(shm, os.Getuid())
	if n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s stays", dead)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, shmabi.HeaderBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, short, link, dir, filepath.Join(dir, "absent")} {
		if _, err := ring.OpenReader(path); err == nil {
			t.Errorf("opened ring %s", path)
		}
		if _, err := ring.OpenProcess(path); err == nil {
			t.Errorf("opened process %s", path)
		}
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

// The lock that tells that a process lives hangs on its mapping: an application that closes descriptors that
// are not its own does not lose it, nor does one that opens and closes the file.
func TestAliveNeedsNoDescriptor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := ringwriter.New(dir, ringwriter.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, w.FileName())
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if target, _ := os.Readlink(d); target == path {
			t.Errorf("%s is %s", d, target)
		}
	}
	for range 2 {
		p, err := ring.OpenProcess(path) // opens it, and Close closes it
		if err != nil {
			t.Fatal(err)
		}
		if alive, err := p.Alive(); !alive || err != nil {
			t.Errorf("Alive = %v, %v", alive, err)
		}
		p.Close()
	}
	p, err := ring.OpenProcess(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w.Exit()
	if alive, err := p.Alive(); alive || err != nil {
		t.Errorf("after its end Alive = %v, %v", alive, err)
	}
}
