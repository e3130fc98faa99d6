package measure

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
)

// A program that overwrites what its process has counted makes no loss of what it lost: no result has such a figure,
// one note names all, and the rest is there.
func TestDamagedCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1, World: "w"})
	w := r.thread(p, 64)
	for i := range uint64(5) {
		r.call(w, named(t, "MPI_Barrier"), 0, 1_000_000_000+i*1000, 1_000_000_300+i*1000)
	}
	file, err := os.OpenFile(filepath.Join(r.dir, p.FileName()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var h shmabi.Process
	for _, offset := range []uintptr{unsafe.Offsetof(h.Comms_lost) + 4, unsafe.Offsetof(h.Unrecorded) + 4, unsafe.Offsetof(h.Threads_failed)} {
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xf0}, 4), int64(offset)); err != nil { // the upper half of the larger ones
			t.Fatal(err)
		}
	}
	p.Finalize()
	p.Exit()
	result := r.finish(byDuration)
	m := result.Manifest
	if l := m.Losses; l.CommunicatorsLost != 0 || l.CallsUnrecorded != 0 || l.ThreadsUnrecorded != 0 || l.FiguresDamaged != 3 || l.RanksUnrecorded != 0 {
		t.Errorf("%+v", l)
	}
	if n := result.Run.Threads[0].Bursts.Len(); n != 4 {
		t.Errorf("%d bursts", n)
	}
	said := 0
	for _, note := range m.Notes {
		if strings.Contains(note, "loss counters are damaged") && strings.Contains(note, "communicators without room is ") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("notes %q", m.Notes)
	}
}
