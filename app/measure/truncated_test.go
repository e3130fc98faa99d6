package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moriens/analysis/grouping"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
)

// A rank whose files are truncated while they are mapped does not affect the others of the node: what was read of it is
// kept, and the loss of the rest is reported.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ what, said string }{{"ring", "a thread's records end early"}, {"process", "the records of a rank cannot be read"}} {
		t.Run(tt.what, func(t *testing.T) { truncated(t, tt.what, tt.said) })
	}
}

func truncated(t *testing.T, what, said string) {
	t.Helper()
	const calls = 20
	r := newRig(t)
	var rings []*ringwriter.Ring
	var processes []*ringwriter.Process
	for rank := range 2 {
		p := r.process(ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
		w := r.thread(p, 64)
		for i := range uint64(calls) {
			r.call(w, mpicall.Barrier, 0, 100*i, 100*i+10)
		}
		processes, rings = append(processes, p), append(rings, w)
	}
	for end := time.Now().Add(patience); rings[0].Free() < 64 || rings[1].Free() < 64; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the rings are not read")
		}
	}
	file := rings[0].FileName()
	if what == "process" {
		file = processes[0].FileName()
	}
	if err := os.Truncate(filepath.Join(r.dir, file), 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // for some looks at it
	for i := range uint64(calls) {
		r.call(rings[1], mpicall.Barrier, 0, 1e6+100*i, 1e6+100*i+10)
	}
	processes[1].Finalize()
	for _, p := range processes {
		p.Exit()
	}
	result := r.finish(grouping.Options{})
	result.Describe()
	m := result.Manifest
	if n := m.MPICalls["MPI_Barrier"]; n != 3*calls || m.Ranks != 2 {
		t.Errorf("%d calls of %d ranks, want %d of 2; %+v", n, m.Ranks, 3*calls, m.Losses)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, said) || !strings.Contains(notes, "ring: incomplete") {
		t.Errorf("%q lacks %q", notes, said)
	}
}
