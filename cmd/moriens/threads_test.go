package main_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
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
		contains(t, long(t, out), "threads could not record", "MPI calls of such threads")
		checkTrace(t, out, readBursts(t, out))
	})
}

// Threads that make no collective calls: their kept data has their sends and receives, and the summary reports no loss.
func TestKeptThreads(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, threads := range []string{"2", "3"} {
			counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
			o := execute(t, []string{"MINIAPP_OUT=" + counts}, append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "helpers"), threads, "400")...)...)
			if o.status != 0 {
				t.Fatalf("status %d\n%s", o.status, o.stderr)
			}
			if d := cmp.Diff(sum(mpitest.Counts(t, counts)), readManifest(t, out).MPICalls); d != "" {
				t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
			}
			rundirtest.CheckWaits(t, out)
			rundirtest.CheckPairs(t, out)
			m, err := rundir.ReadManifest(out)
			if err != nil {
				t.Fatal(err)
			}
			if m.Losses.TransfersLost > 0 || len(m.Reduction.Missing) > 0 {
				t.Errorf("%s threads: %d transfers lost, missing: %q", threads, m.Losses.TransfersLost, m.Reduction.Missing)
			}
		}
	})
}
