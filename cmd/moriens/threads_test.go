package main_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/trace/rundir"
)

// Of many threads those are recorded for which shared memory has room; the others are counted, and the result says so.
func TestManyThreads(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
		o := execute(t, []string{"MINIAPP_OUT=" + counts, "MORIENS_RING=65536"},
			append([]string{binary(t), "run", "--out", out, "--shm", tmpfs(t, "1m"), "--"}, mpi.Args(2, "", mpi.App(t, "middle"), "nothing", "300", "20")...)...)
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

// Processes that a job starts by MPI_Comm_spawn are a world of their own.
func TestSpawn(t *testing.T) {
	mpi := mpitest.OpenMPI // Debian's MPICH has a network layer without ports
	counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + counts},
		append([]string{binary(t), "run", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "processes"), mpi.App(t, "child"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	m := readManifest(t, out)
	if d := cmp.Diff(sum(mpitest.Counts(t, counts)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	ranks := 0
	for _, w := range m.Worlds {
		ranks += w.RanksRecorded
		if w.RanksRecorded != w.Size {
			t.Errorf("world %+v", w)
		}
	}
	if len(m.Worlds) < 2 || m.Worlds[0].Size != 2 || ranks != len(mpitest.Counts(t, counts)) || m.Dropped != 0 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("manifest %+v", m)
	}
}

// Worlds that were spawned one after the other have communicators with their parents that are made in the same way. No message of one is taken for
// the other's.
func TestSiblings(t *testing.T) {
	mpi := mpitest.OpenMPI
	out := filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "siblings"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	m := readManifest(t, out)
	want := []rundir.Unmatched{{Why: "the other side is of another MPI world, which is not known", Sends: 40, Receives: 40}}
	if d := cmp.Diff(want, m.Messages.Unmatched); d != "" || m.Messages.Sends != 40 || m.Messages.Matched != 0 || len(m.Worlds) != 3 {
		t.Errorf("%+v\n%s", m.Messages, d)
	}
}
