package main_test

import (
	"path/filepath"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// The same program where the bursts are kept with the agent: kinds are reported of all bursts, and each burst of the
// ranks in full has its own.
func TestKindsOfCellsJob(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	app := mpitest.OpenMPI.App(t, "kinds")
	const ranks = 8
	out := filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--cells", "--moriens-timeout", "10m", "--out", out, "--"}, mpitest.OpenMPI.Args(ranks, "", app, "-r", "3", "-n", "100", "-s")...)
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	contains(t, long(t, out), "kinds: ")
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cells == nil || m.Cells.BurstsAstray != 0 || m.Cells.RanksInFull < 1 || len(m.Speed) != ranks {
		t.Errorf("%+v, speeds %v", m.Cells, m.Speed)
	}
	_, _, c, err := rundir.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	stand, bursts := 0, 0 // kinds between the same two calls with a twentieth of the time each
	for _, x := range c.Clusters {
		if len(x.Before) == 1 && len(x.After) == 1 && x.Before[0].Path == x.After[0].Path {
			bursts += x.Bursts
			if x.VariantOf == nil && x.Share >= .05 {
				stand++
			}
		}
	}
	rows := readKinds(t, out)
	for _, row := range rows {
		if row.Kind == 0 || row.Kind > int32(len(c.Clusters)) {
			t.Errorf("a burst of rank %d has kind %d", row.Rank, row.Kind)
		}
	}
	t.Logf("%d kinds, %d bursts of theirs\n%s", stand, bursts, o.stdout)
	if *stormRuns > 1 && stand != 4 { // which depends on what others do to the machine
		t.Errorf("%d kinds, want 4", stand)
	}
	if bursts == 0 || len(rows) == 0 {
		t.Errorf("%d bursts between the same two calls, %d bursts are kept", bursts, len(rows))
	}
}
