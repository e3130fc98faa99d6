package main_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/trace/prv"
	"moriens/trace/rundir/rundirtest"
)

// Processes that a job starts by MPI_Comm_spawn are a world of their own.
func TestSpawn(t *testing.T) {
	mpi := mpitest.OpenMPI // Debian's MPICH has a network layer without ports
	counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + counts},
		append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "processes"), mpi.App(t, "child"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	rundirtest.CheckWaits(t, out)
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

// Worlds that were spawned one after the other have communicators with their parents that are made in the same way. No
// message of one is taken for the other's.
func TestSiblings(t *testing.T) {
	mpi := mpitest.OpenMPI
	out := filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "siblings"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	rundirtest.CheckWaits(t, out)
	m := readManifest(t, out)
	if x := m.Messages; len(x.Unmatched) != 0 || x.Sends != 40 || x.Matched != 40 || x.Bytes != 4000 || len(m.Worlds) != 3 {
		t.Errorf("%+v", x)
	}
}

// TestWorlds: messages between worlds that were spawned at the same time, and that met at a port, are matched, also
// those in communicators that were made of what connects them.
func TestWorlds(t *testing.T) {
	mpi := mpitest.OpenMPI
	counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + counts}, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", mpi.App(t, "worlds"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	rundirtest.CheckWaits(t, out)
	m := readManifest(t, out)
	if d := cmp.Diff(sum(mpitest.Counts(t, counts)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	if x := m.Messages; len(x.Unmatched) != 0 || x.Sends != 28 || x.Matched != 28 || len(m.Worlds) != 3 || m.Ranks != 5 {
		t.Errorf("%d worlds, %d ranks: %+v", len(m.Worlds), m.Ranks, x)
	}
	verified(t, out)
	back := filepath.Join(t.TempDir(), "back")
	if r := execute(t, nil, binary(t), "analyze", "--application", "all", "--out", back, filepath.Join(out, "trace.prv")); r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	verified(t, back)
	run, err := prv.ReadFile(filepath.Join(out, "trace.prv"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := func(thread int) string {
		x := run.Run.Threads[thread]
		if x.World == 0 {
			return fmt.Sprintf("parent %d", x.Rank)
		}
		return fmt.Sprintf("child %d of %d", x.Rank, m.Worlds[x.World].Size)
	}
	var got []string
	for _, x := range run.Run.Messages {
		got = append(got, fmt.Sprintf("%s to %s: %d", name(x.From), name(x.To), x.Bytes))
	}
	want := plantedBetweenWorlds()
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages differ (-sent +matched):\n%s", d)
	}
}

// plantedBetweenWorlds is which rank sends how many bytes to which in the mini-app worlds.
func plantedBetweenWorlds() []string {
	var list []string
	send := func(from, to string, bytes int) { list = append(list, fmt.Sprintf("%s to %s: %d", from, to, bytes)) }
	across := func(first string, others []string, way int) {
		for i, other := range others {
			send(first, other, 1+i+4*way)
			send(other, first, 1+i+4*way+32)
		}
	}
	round := func(ranks []string, way int) {
		for i, rank := range ranks {
			send(rank, ranks[(i+1)%len(ranks)], 1+i+4*way)
		}
	}
	worlds := [][]string{{"child 0 of 1"}, {"child 0 of 2", "child 1 of 2"}}
	for i, children := range worlds {
		all := append([]string{fmt.Sprintf("parent %d", i)}, children...)
		across(all[0], children, 0)
		round(all, 1)
		var parts [2][]string
		for k, rank := range slices.Backward(all) {
			parts[k%2] = append(parts[k%2], rank)
		}
		for _, part := range parts {
			round(part, 2)
			round(part, 3)
		}
	}
	const port = 1024 // MPI_MAX_PORT_NAME
	send("child 0 of 1", "parent 0", port)
	send("parent 0", "parent 1", port)
	send("parent 1", "child 1 of 2", port)
	across("child 0 of 1", worlds[1], 4)
	return list
}
