package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// Whatever way a rank dies, all its calls up to then are in the result.
func TestJobDies(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "die")
		for _, how := range []string{"kill", "segv", "abort", "exit", "inside"} {
			t.Run(how, func(t *testing.T) {
				counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
				args := append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", app, how, "2000")...)
				o := execute(t, []string{"MINIAPP_OUT=" + counts}, args...)
				// Of a rank that leaves by exit(0) MPICH's launcher thinks differently from time to time, with and without us.
				if how != "exit" {
					plain := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, mpi.Args(2, "", app, how, "2000")...)
					if o.status == 0 || o.status != plain.status {
						t.Errorf("status %d, without moriens %d", o.status, plain.status)
					}
				}
				m := readManifest(t, out)
				made, inside := sum(mpitest.Counts(t, counts)), int64(0) // calls in which a rank dies
				if how == "inside" {
					made["MPI_Recv"]++
					inside = 1
				}
				if d := cmp.Diff(made, m.MPICalls); d != "" {
					t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
				}
				if len(m.Losses.RanksDied) == 0 || m.ExitCode != o.status {
					t.Errorf("manifest %+v", m)
				}
				contains(t, o.stderr, "did not call MPI_Finalize", "hint: ")
				checkTrace(t, out, readBursts(t, out))
				if died := unexplained(t, out, "calls in which the process ended"); died != inside {
					t.Errorf("%d calls in which a rank died are not explained, want %d", died, inside)
				}
			})
		}
	})
}

// A rank without the library runs all the same, and the result says that it is missing.
func TestRankWithoutShim(t *testing.T) {
	app := mpitest.OpenMPI.App(t, "planted")
	counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + counts}, binary(t), "run", "--keep-bursts", "all", "--out", out, "--", mpitest.OpenMPI.Launcher, "--oversubscribe",
		"-n", "1", app, "1", "50", "1500", "45000", "20", "5", ":", "-n", "1", "env", "-u", "LD_PRELOAD", app, "1", "50", "1500", "45000", "20", "5")
	if o.status != 3 {
		t.Fatalf("status %d, want 3\n%s%s", o.status, o.stdout, o.stderr)
	}
	m := readManifest(t, out)
	if d := cmp.Diff(mpitest.Counts(t, counts)[0], m.MPICalls); d != "" {
		t.Errorf("MPI calls of rank 0 differ (-made +recorded):\n%s", d)
	}
	if m.Ranks != 2 || len(m.Worlds) != 1 || m.Worlds[0].RanksRecorded != 1 {
		t.Errorf("manifest %+v", m)
	}
	if u := m.Worlds[0].Unrecorded; len(u) != 1 || u[0].Ranks != 1 || !slices.Equal(u[0].List, []int{1}) || u[0].Host != "" || *m.Complete {
		t.Errorf("complete %v, unrecorded %+v", *m.Complete, u)
	}
	contains(t, o.stderr, "1 of 2 ranks sent nothing", "hint: ")
	contains(t, o.stdout, "\nincomplete: 1 of 2 ranks not recorded: no data from them")
	checkTrace(t, out, readBursts(t, out))
}

// Open MPI's mpirun refuses to start with both -x and what moriens sets otherwise.
func TestExports(t *testing.T) {
	app := mpitest.OpenMPI.App(t, "planted")
	counts, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	o := execute(t, []string{"MINIAPP_OUT=" + counts, "MORIENS_TEST=7"}, binary(t), "run", "--keep-bursts", "all", "--out", out, "--",
		mpitest.OpenMPI.Launcher, "--oversubscribe", "-x", "MORIENS_TEST", "-n", "2", app, "1", "50", "1500", "45000", "20", "5")
	if o.status != 0 {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if d := cmp.Diff(sum(mpitest.Counts(t, counts)), readManifest(t, out).MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
}

// Two programs that a script starts one after the other are two worlds of one run.
func TestTwoPrograms(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "planted")
		counts := [2]string{t.TempDir(), t.TempDir()}
		script := filepath.Join(t.TempDir(), "job.sh")
		text := "#!/bin/sh\nset -e\n"
		for i, iterations := range []int{1, 2} {
			text += fmt.Sprintf("MINIAPP_OUT=%s", counts[i])
			for _, word := range mpi.Args(2, "", app, fmt.Sprint(iterations), "50", "1500", "45000", "20", "5") {
				text += " '" + word + "'"
			}
			text += "\n"
		}
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "run")
		o := execute(t, nil, binary(t), "run", "--keep-bursts", "all", "--out", out, "--", script)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		m := readManifest(t, out)
		want := sum(mpitest.Counts(t, counts[0]))
		for name, n := range sum(mpitest.Counts(t, counts[1])) {
			want[name] += n
		}
		if d := cmp.Diff(want, m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		if len(m.Worlds) != 2 || m.Ranks != 4 || m.Worlds[0].RanksRecorded != 2 || m.Worlds[1].RanksRecorded != 2 {
			t.Errorf("worlds %+v", m.Worlds)
		}
		run := readBursts(t, out)
		if a, b := run.Threads[0].Bursts.Len(), run.Threads[2].Bursts.Len(); a != 26+2 || b != 52+2 {
			t.Errorf("%d and %d bursts, want 28 and 54", a, b)
		}
		checkTrace(t, out, run)
	})
}
