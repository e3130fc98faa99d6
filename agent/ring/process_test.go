package ring_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
)

func TestProcess(t *testing.T) {
	identity := ringwriter.Identity{
		Rank: 3, Size: 8, World: "job.0", Parent: "node7/4242/99", Host: "node7", Executable: "/opt/app\xff",
		Library: "Open MPI v4.1.4", PID: 4711, Clock: shmabi.ClockTSC,
		Events: "PAPI_TOT_INS,sde:::a::b", Unavailable: "sw:x: no such event\nhw::Y: no PMU\n",
	}
	w, p := opened(t, identity)
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
	if n, err := p.Damaged(); n != 0 || err != nil {
		t.Errorf("%d damaged, %v", n, err)
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

// Figures of a damaged file that cannot be true are reported as none, each is named, and the others count.
func TestDamagedLosses(t *testing.T) {
	w, dir := process(t, ringwriter.Identity{})
	defer w.Exit()
	path := filepath.Join(dir, w.FileName())
	p, err := ring.OpenProcess(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w.ThreadFailed(syscall.ENOSPC, 12)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var h shmabi.Process
	for _, offset := range []uintptr{unsafe.Offsetof(h.Comms_lost), unsafe.Offsetof(h.Paths_lost)} {
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, 8), int64(offset)); err != nil {
			t.Fatal(err)
		}
	}
	got := p.Losses()
	damaged, err := p.Damaged()
	if want := (ring.Losses{Threads: 1, ThreadsFailed: 1, Fault: syscall.ENOSPC, Unrecorded: 12}); got != want || damaged != 2 || !errors.Is(err, ring.ErrCorrupt) {
		t.Errorf("%+v, %d damaged, %v", got, damaged, err)
	}
	if err == nil || !strings.Contains(err.Error(), "communicators without room is 18446744073709551615") || !strings.Contains(err.Error(), w.FileName()) {
		t.Errorf("%v", err)
	}
	if _, err := file.WriteAt([]byte{9}, int64(unsafe.Offsetof(h.Threads_failed))); err != nil {
		t.Fatal(err)
	}
	if n := p.Threads(); n != 0 {
		t.Errorf("%d threads", n)
	}
	if damaged, _ := p.Damaged(); p.Losses().ThreadsFailed != 0 || damaged != 3 {
		t.Errorf("%+v, %d damaged", p.Losses(), damaged)
	}
}

func TestLog(t *testing.T) {
	w, p := opened(t, ringwriter.Identity{})
	defer w.Exit()
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
	w.Unseen("a tool hides MPI_Barrier")
	w.Path(ringwriter.Frame{Module: lib, Offset: 0x30})
	w.Path()
	expect(ring.Log{
		Modules: []ring.Module{{ID: 2, Path: "/lib/odd name"}},
		Paths:   []ring.Path{{ID: 2, Frames: []ring.Frame{{Module: 2, Offset: 0x30}}}, {ID: 3, Frames: []ring.Frame{}}},
		Notes:   []string{"a note"},
		Unseen:  []string{"a tool hides MPI_Barrier"},
	})
	w.Name("solve")
	w.Name("")
	w.Name("\xff\"\n→")
	expect(ring.Log{Names: []ring.Name{{Number: 1, Text: "solve"}, {Number: 2}, {Number: 3, Text: "\uFFFD\"\n→"}}})
	jac, main := w.Place("/home/größe/jac.py", "Solver.step", 7), w.Place("jac.py", "", 0)
	if again := w.Place("/home/größe/jac.py", "Solver.step", 7); jac != 1 || main != 2 || again != jac {
		t.Errorf("places %d, %d, and the first again: %d", jac, main, again)
	}
	w.Path(ringwriter.Frame{Place: jac}, ringwriter.Frame{Place: main})
	expect(ring.Log{
		Places: []ring.Place{{Number: 1, File: "/home/größe/jac.py", Function: "Solver.step", Line: 7}, {Number: 2, File: "jac.py"}},
		Paths:  []ring.Path{{ID: 4, Frames: []ring.Frame{{Place: 1}, {Place: 2}}}},
	})
	expect(ring.Log{})
}

// Where there is no room for more places, the known ones are kept.
func TestManyPlaces(t *testing.T) {
	w, p := opened(t, ringwriter.Identity{LogBytes: 1 << 20})
	defer w.Exit()
	const most = 3072
	for i := range uint32(most + 5) {
		want := i + 1
		if i >= most {
			want = 0
		}
		if got := w.Place("a.py", "f", i); got != want {
			t.Fatalf("place %d has number %d", i, got)
		}
	}
	if got := w.Place("a.py", "f", most/2); got != most/2+1 {
		t.Errorf("a known one has number %d", got)
	}
	if log, err := p.ReadLog(); err != nil || len(log.Places) != most || log.Places[most-1].Line != most-1 {
		t.Errorf("%d places, %v", len(log.Places), err)
	}
}

// The lock that shows that a process lives hangs on its mapping: an application that closes descriptors that
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

// Recursion is folded: however deep, and whichever way a tree is walked, there are few paths.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ chain, want []uint64 }{
		{nil, nil},
		{[]uint64{7, 1, 1, 1, 1, 9}, []uint64{7, 1, 1, 1, 1, 9}},
		{[]uint64{7, 1, 1, 1, 1, 1, 9}, []uint64{7, 1, 0, 1, 9}},
		{[]uint64{7, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 9}, []uint64{7, 1, 0, 1, 2, 9}},
		{[]uint64{7, 2, 1, 1, 1, 1, 1, 2, 2, 2, 2}, []uint64{7, 2, 0, 2}},
		{[]uint64{7, 1, 1, 1, 1, 1, 3, 2, 2, 2, 2, 2, 9}, []uint64{7, 1, 0, 1, 3, 2, 0, 2, 9}},
		{[]uint64{1, 1, 1, 1, 1}, []uint64{1, 0, 1}},
	} {
		if got := ringwriter.Fold(tt.chain); !slices.Equal(got, tt.want) {
			t.Errorf("%d folds to %d, want %d", tt.chain, got, tt.want)
		}
	}
	tree := make(map[string]bool)
	const frames = 16
	for depth := range frames {
		for way := range 1 << depth {
			chain := []uint64{7}
			for at := range depth {
				chain = append(chain, 1+uint64(way>>at&1))
			}
			tree[fmt.Sprint(ringwriter.Fold(chain))] = true
		}
	}
	if n := len(tree); n > 1000 {
		t.Errorf("a binary tree has %d paths of %d frames", n, frames)
	}
}

// The fuller the log, the fewer frames of a new path are kept. No path is lost until the log has no room for one frame.
func TestShortenedPaths(t *testing.T) {
	const room = 64 << 10
	w, p := opened(t, ringwriter.Identity{LogBytes: room})
	defer w.Exit()
	var places []uint32
	for i := range uint32(28) {
		places = append(places, w.Place("a.py", "f", i))
	}
	path := func(i int) []uint32 { // another one for each i
		list := slices.Clone(places[12:])
		for at := range 4 { // no place is there more than four times
			list[at] = places[i>>(4*at)&15]
		}
		return list
	}
	numbers := make(map[uint32]bool)
	n := 0
	for ; n < 1<<16; n++ {
		number := w.PathOfPlaces(path(n)...)
		if number == 0 {
			break
		}
		numbers[number] = true
	}
	log, err := p.ReadLog()
	if err != nil || len(log.Paths) != len(numbers) {
		t.Fatalf("%d paths, %d numbers, %v", len(log.Paths), len(numbers), err)
	}
	count, least := make(map[int]int), 16
	for _, x := range log.Paths {
		if len(x.Frames) > least {
			t.Errorf("path %d has %d frames after one of %d", x.ID, len(x.Frames), least)
		}
		least = len(x.Frames)
		count[least]++
	}
	if len(count) != 3 || count[16] < 150 || count[8] < 60 || count[1] == 0 || count[1] > 20 {
		t.Errorf("paths by their frames: %d", count)
	}
	if len(log.Notes) != 2 || !strings.Contains(log.Notes[0], " 8 frames at most") || !strings.Contains(log.Notes[1], " 1 frame at most") {
		t.Errorf("notes %q", log.Notes)
	}
	if again := w.PathOfPlaces(path(0)...); again != log.Paths[0].ID || len(log.Paths[0].Frames) != 16 {
		t.Errorf("the first path has number %d, with %d frames", again, len(log.Paths[0].Frames))
	}
}
