package ring_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

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
