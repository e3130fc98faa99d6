package main_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"moriens/conclude/retention"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// reduced measures a mini-app under Open MPI with the default options and reads what is left of it.
func reduced(t *testing.T, ranks int, app string, args ...string) (o outcome, m *rundir.Manifest) {
	t.Helper()
	return left(t, mpitest.OpenMPI.Args(ranks, "", append([]string{mpitest.OpenMPI.App(t, app, "-lm")}, args...)...))
}

// left measures a job with the default options and reads what is left of it, by our readers and by way of every export.
func left(t *testing.T, job []string) (o outcome, m *rundir.Manifest) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	o = execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--verbose", "--moriens-timeout", "10m", "--out", out, "--"}, job...)...)
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	rundirtest.CheckWaits(t, out)
	run, _, _, err := rundir.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if m.Kept.Bursts == 0 || m.Kept.Calls == 0 || len(run.Windows) == 0 || len(run.Windows) != len(m.Kept.Windows) {
		t.Errorf("%d bursts and %d calls are kept in %d windows\n%s", m.Kept.Bursts, m.Kept.Calls, len(run.Windows), o.stdout)
	}
	for _, w := range m.Kept.Windows {
		if w.Reason == "" || w.EndNS <= w.BeginNS || len(w.Threads) == 0 {
			t.Errorf("a window without a reason, time or threads: %+v", w)
		}
	}
	if m.Reduction.Error == nil || !(m.Reduction.Error.Weighted.Time < .1) || m.Reduction.Bytes > int64(retention.DefaultBudget) || len(m.Reduction.Missing) > 0 {
		t.Errorf("reduction %+v", m.Reduction)
	}
	dir := t.TempDir()
	for format, name := range map[string]string{"prv": "x.prv", "perfetto": "x.pftrace", "csv": "csv", "parquet": "parquet"} {
		if e := execute(t, nil, binary(t), "export", out, "--format", format, "--out", filepath.Join(dir, name)); e.status != 0 || e.stderr != "" {
			t.Errorf("export as %s: status %d\n%s", format, e.status, e.stderr)
		}
	}
	read, err := prv.ReadFile(filepath.Join(dir, "x.prv"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if bursts := read.Run.Bursts(); bursts != m.Kept.Bursts || len(read.Run.Messages) != len(run.Messages) || len(read.Run.Windows) != len(run.Windows) {
		t.Errorf("Paraver has %d bursts, %d messages, %d windows, want %d, %d, %d",
			bursts, len(read.Run.Messages), len(read.Run.Windows), m.Kept.Bursts, len(run.Messages), len(run.Windows))
	}
	return o, m
}

// inWindow says that a thread is in one of the windows.
func inWindow(t *testing.T, m *rundir.Manifest, name rundir.ThreadName) {
	t.Helper()
	if !slices.ContainsFunc(m.Kept.Windows, func(w rundir.Window) bool { return slices.Contains(w.Threads, name) }) {
		t.Errorf("%+v is in no window: %+v", name, m.Kept.Windows)
	}
}

// A stencil code whose ranks take turns on the machine's cores: its two phases are found, its slow rank, which computes
// two and a half times as much, is distinguished from the others, and little of the run is kept.
func TestReductionOfHalo(t *testing.T) {
	const slow, iterations = 2, 3000
	o, m := reduced(t, 8, "halo", "-r", "320", "-c", "1024", "-i", strconv.Itoa(iterations), "-s", "2", "-m", "3", "-o", "100")
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	of := make(map[int]int) // iterations by their bursts
	for _, p := range m.Kept.Phases {
		of[p.PeriodBursts] += p.Iterations
	}
	if of[6] < iterations/2*9/10 || of[11] < iterations/2*9/10 {
		t.Errorf("of two phases of %d iterations of 6 and of 11 bursts there are %v: %+v", iterations/2, of, m.Kept.Phases)
	}
	if !slices.ContainsFunc(m.Kept.Outliers, func(x rundir.Outlier) bool { return x.Rank == slow }) &&
		!slices.ContainsFunc(m.Kept.Classes, func(c rundir.Class) bool { return c.Size == 1 && c.Exemplar.Rank == slow }) {
		t.Errorf("the slow rank is like others: classes %+v, outliers %+v", m.Kept.Classes, m.Kept.Outliers)
	}
	if !(m.Reduction.Ratio >= 50) {
		t.Errorf("%d bytes of %d are left: %+v", m.Reduction.Bytes, m.Reduction.FullBytes, m.Files)
	}
	contains(t, o.stdout, "iterations: ", "ranks: ", "kept: ", "reduction: ", "error: ")
}

// A molecular dynamics code that looks for neighbours every 20 steps and prints every 50: its iterations are 20 steps,
// of 246 bursts a rank, or the 100 after which both come together again. A long run of them leaves little.
func TestReductionOfLAMMPS(t *testing.T) {
	testenv.Need(t, "lmp", mpitest.OpenMPI.Launcher)
	input, err := filepath.Abs("../../testdata/lammps/in.lj")
	if err != nil {
		t.Fatal(err)
	}
	const steps, between, ranks = 40000, 20, 2
	o, m := left(t, mpitest.OpenMPI.Args(ranks, "", "lmp", "-in", input, "-log", "none", "-screen", "none", "-var", "cells", "4", "-var", "steps", strconv.Itoa(steps)))
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	searches, bursts := 0, 0
	for _, p := range m.Kept.Phases {
		switch {
		case p.PeriodBursts > 200 && p.PeriodBursts < 300:
			searches += p.Iterations
		case p.PeriodBursts > 1200 && p.PeriodBursts < 1300:
			searches += 5 * p.Iterations
		default:
			continue
		}
		bursts += p.Iterations * p.PeriodBursts * p.Threads
	}
	if searches < steps/between*9/10 || searches > steps/between || bursts < m.Bursts*9/10 {
		t.Errorf("iterations with %d searches for neighbours and %d of %d bursts: %+v", searches, bursts, m.Bursts, m.Kept.Phases)
	}
	if m.Reduction.Error == nil || !(m.Reduction.Error.Represented > 0) || len(m.Reduction.Error.Windows.Clusters) == 0 {
		t.Errorf("error %+v", m.Reduction.Error)
	}
	if !(m.Reduction.Ratio >= 50) {
		t.Errorf("%d bytes of %d are left: %+v", m.Reduction.Bytes, m.Reduction.FullBytes, m.Files)
	}
}

// Runs that are no good for choosing from leave something useful all the same: one without any repetition, one that has
// only just begun.
func TestReductionOfOddRuns(t *testing.T) {
	t.Run("random tasks", func(t *testing.T) {
		o, m := reduced(t, 4, "tasks", "-n", "1500", "-u", "200")
		if o.status != 0 || len(m.Kept.Classes) == 0 {
			t.Errorf("status %d, classes %+v\n%s", o.status, m.Kept.Classes, o.stderr)
		}
		for _, c := range m.Kept.Classes {
			inWindow(t, m, c.Exemplar)
		}
		for _, x := range m.Kept.Outliers {
			inWindow(t, m, x.ThreadName)
		}
	})
	t.Run("three iterations", func(t *testing.T) {
		o, m := reduced(t, 4, "halo", "-r", "64", "-c", "512", "-i", "3")
		if o.status != 0 || m.Kept.Bursts != m.Bursts {
			t.Errorf("status %d, %d of %d bursts are kept\n%s", o.status, m.Kept.Bursts, m.Bursts, o.stderr)
		}
	})
	t.Run("killed in the middle", func(t *testing.T) {
		o, m := reduced(t, 4, "tasks", "-n", "1500", "-u", "200", "-k", "700")
		if o.status == 0 || len(m.Losses.RanksDied) == 0 || !slices.ContainsFunc(m.Losses.RanksDied, func(d rundir.RankDied) bool { return d.Rank == 1 }) {
			t.Errorf("status %d, died: %+v", o.status, m.Losses.RanksDied)
		}
		contains(t, o.stderr, "did not call MPI_Finalize", "hint: ")
	})
}
