package cshim_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
	"moriens/internal/shmabi"
)

// TestOptionsThatAreNoNumbers: "16M" is not 16. What is no number is not obeyed, and said; what is out of range is its
// end.
func TestOptionsThatAreNoNumbers(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.MPI(mpitest.OpenMPI)
	for _, c := range []struct {
		env  []string
		ring int64 // bytes, without the header
		most int64 // that it may grow to
		note []string
	}{
		{[]string{"MORIENS_RING=16M", "MORIENS_POLL_GAP=20us", "MORIENS_DRAIN=-1", "MORIENS_CALLPATH=0x2"}, 2 << 20, 64 << 20,
			[]string{"ignored, not an integer: MORIENS_RING MORIENS_POLL_GAP MORIENS_DRAIN MORIENS_CALLPATH"}},
		{[]string{"MORIENS_RING=-1", "MORIENS_RING_MAX=1048576"}, 2 << 20, 0, []string{"ignored, not an integer: MORIENS_RING"}},
		{[]string{"MORIENS_RING=300000", "MORIENS_DRAIN=0", "MORIENS_CALLPATH=99999999999999999999"}, 256 << 10, 64 << 20, nil},
		{[]string{"MORIENS_RING=0", "MORIENS_POLL_GAP=", "MORIENS_RING_MAX=300000"}, 64 << 10, 300000, nil},
		{[]string{"MORIENS_RING_MAX=64M"}, 2 << 20, 64 << 20, []string{"ignored, not an integer: MORIENS_RING_MAX"}},
	} {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "die"), "none", "10"}, env: c.env}.run(t)
		succeed(t, o)
		ranks, _ := read(t, o.dir)
		if !slices.Equal(ranks[0].notes, c.note) {
			t.Errorf("%v: notes %q", c.env, ranks[0].notes)
		}
		rings, _ := filepath.Glob(o.dir + "/*.ring")
		if len(rings) != 1 {
			t.Fatalf("rings %q", rings)
		}
		if r, err := ring.OpenReader(rings[0]); err != nil || int64(r.Slots())*shmabi.SlotBytes != c.ring {
			t.Errorf("%v: a ring of %d slots, %v", c.env, r.Slots(), err)
		}
		if info, err := os.Stat(rings[0]); err != nil || info.Size() > max(c.most, c.ring)+4096 || info.Size() <= max(c.most, c.ring)/2 {
			t.Errorf("%v: room for %d bytes, %v", c.env, info.Size(), err)
		}
	}
}
