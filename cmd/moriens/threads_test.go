package main_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// Of many threads those are recorded for which shared memory has room; the others are counted, and the result says so.
func TestManyThreads(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
		o := execute(t, []string{"MINIAPP_OUT=" + counts, "MORIENS_RING=65536"},
			append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--shm", tmpfs(t, "1m"), "--"}, mpi.Args(2, "", mpi.App(t, "middle"), "nothing", "300", "20")...)...)
		if o.status != 0 {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
		m := readManifest(t, out)
		want := sum(mpitest.Counts(t, counts))
		want["MPI_Recv"] -= m.Losses.CallsUnrecorded
		if d := cmp.Diff(want, m.MPICalls); d != "" || m.Losses.ThreadsUnrecorded == 0 || m.Losses.CallsUnrecorded != 20*m.Losses.ThreadsUnrecorded {
			t.Errorf("%+v\nMPI calls differ (-made +recorded):\n%s", m.Losses, d)
		}
		contains(t, o.stdout, "threads could not record", "MPI calls of such threads")
		checkTrace(t, out, readBursts(t, out))
	})
}
