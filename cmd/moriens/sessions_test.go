package main_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/testenv"
)

// What a program does in a session that it opens long after the last one has ended is recorded too. Its MPI is one of
// ours, as rank 3 of 5: MPICH 4.0.2 does not survive a second session.
func TestSessionsInTurn(t *testing.T) {
	testenv.Need(t, "gcc")
	build, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	program := filepath.Join(build, "sessions")
	library := filepath.Dir(binary(t))
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", filepath.Join(build, "libfakempi.so"), "../../cshim/test/fakempi.c"},
		{"-o", program, "../../cshim/test/sessions.c", filepath.Join(library, "libmoriens.so"), "-L" + build, "-Wl,--no-as-needed", "-lfakempi", "-Wl,-rpath," + build + ":" + library},
	} {
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	o := execute(t, nil, binary(t), "run", "--keep-bursts", "all", "--out", out, "--", program, "slowly")
	if o.status != 3 { // there are no other ranks
		t.Errorf("status %d, want 3\n%s", o.status, o.stderr)
	}
	m := readManifest(t, out)
	want := map[string]int{"MPI_Session_init": 2, "MPI_Session_finalize": 2, "MPI_Barrier": 2}
	if d := cmp.Diff(want, m.MPICalls); d != "" || m.Ranks != 5 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("manifest %+v\nMPI calls differ (-made +recorded):\n%s", m, d)
	}
	checkTrace(t, out, readBursts(t, out))
}
