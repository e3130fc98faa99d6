package ring_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// readOnce reads records that keep what they have.
func readOnce(t *testing.T, r *ring.Reader) []ring.Record {
	t.Helper()
	list := make([]ring.Record, 64)
	n, err := r.Read(list)
	if err != nil {
		t.Fatal(err)
	}
	return list[:n]
}

// Marks with counts take the slots that these need, round the end of the ring and from one area to the next. What there
// is no room for is dropped as a whole.
func TestCountedMarks(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	name := p.Name("a phase")
	for n := range shmabi.MaxEvents + 1 {
		t.Run(fmt.Sprint(n, " events"), func(t *testing.T) {
			w, r := thread(t, p, dir, 8)
			var counts []int64
			for k := range n {
				counts = append(counts, []int64{1 << 62, shmabi.NoCount, -3, 0}[k%4])
			}
			slots := 1 + (n+shmabi.SlotEvents-1)/shmabi.SlotEvents
			for i := range uint64(20) {
				var want []ring.Record
				at := 100 * i
				w.Call(mpicall.Send, 1, at+1, at+2)
				want = append(want, ring.Record{Enter: at + 1, Exit: at + 2, Call: mpicall.Send, Path: 1, Lost: i > 0})
				for k := 0; k <= (8-1)/slots; k++ { // one too many
					what, is := uint16(shmabi.MarkBegin), ring.Begin
					if k%2 == 1 {
						what, is = shmabi.MarkEnd, ring.End
					}
					w.CountedMark(what, name, at+3, counts...)
					if 1+(k+1)*slots <= 8 {
						want = append(want, ring.Record{Enter: at + 3, Exit: at + 3, Mark: is, Name: name, Counts: counts})
					}
				}
				if d := cmp.Diff(want, readOnce(t, r), cmpopts.EquateEmpty()); d != "" || r.Dropped() != i+1 {
					t.Fatalf("dropped %d\n%s", r.Dropped(), d)
				}
				r.Release()
				expectLeft(t, r, false)
			}
		})
	}
}

// A ring that is full goes on in its next area with a mark that has counts.
func TestCountedMarksGrow(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, err := p.GrowingThread(8, 4)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ring.OpenReader(filepath.Join(dir, w.FileName()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var want []ring.Record
	for i := range uint64(12) {
		w.CountedMark(shmabi.MarkBegin, 0, i, int64(i), 2, 3, 4)
		want = append(want, ring.Record{Enter: i, Exit: i, Mark: ring.Begin, Counts: []int64{int64(i), 2, 3, 4}})
	}
	if d := cmp.Diff(want, readOnce(t, r)); d != "" || r.Dropped() != 0 || w.Segments() < 2 {
		t.Errorf("dropped %d, %d segments\n%s", r.Dropped(), w.Segments(), d)
	}
}
