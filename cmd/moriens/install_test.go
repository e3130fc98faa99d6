package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// What make install leaves is whole: the program finds its library, and programs find the headers.
func TestInstall(t *testing.T) {
	testenv.Need(t, "make", "gcc", "install", mpitest.OpenMPI.CC, mpitest.OpenMPI.Launcher)
	root := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", mpitest.Root(t), "install", "DESTDIR="+root, "PREFIX=/opt/moriens").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	prefix := filepath.Join(root, "opt", "moriens")
	version, err := os.ReadFile(filepath.Join(mpitest.Root(t), "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	if o := execute(t, nil, filepath.Join(prefix, "bin", "moriens"), "--version"); !strings.HasPrefix(o.stdout, "moriens "+strings.TrimSpace(string(version))) {
		t.Errorf("version %s, but %s", version, o.stdout)
	}
	app := mpitest.OpenMPI.App(t, "annotate", "-I"+filepath.Join(prefix, "include"))
	mpitest.OpenMPI.Fortran(t, "annotatef", "F08", filepath.Join(prefix, "include", "moriens.F90"))
	tau := mpitest.OpenMPI.App(t, "taumarks", "-I"+filepath.Join(prefix, "include", "moriens", "tau"))
	mpitest.OpenMPI.App(t, "taumarkscxx", "-I"+filepath.Join(prefix, "include", "moriens", "tau"))
	mpitest.OpenMPI.Fortran(t, "taumarksf", "F08", "-Wl,--undefined=tau_start_", filepath.Join(prefix, "lib", "libmoriens_tau.a"))
	solved := filepath.Join(t.TempDir(), "run")
	command := append([]string{filepath.Join(prefix, "bin", "moriens"), "run", "--regions", "tau", "--keep-bursts", "all", "--out", solved, "--"}, mpitest.OpenMPI.Args(2, "", tau, "solver", "4")...)
	if o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, command...); o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	if rows := readRows[phaseRow](t, filepath.Join(solved, "phases.parquet")); len(rows) != 2*(3*4+2) {
		t.Errorf("%d phases of TAU's", len(rows))
	}
	out := filepath.Join(t.TempDir(), "run")
	command = append([]string{filepath.Join(prefix, "bin", "moriens"), "run", "--keep-bursts", "all", "--out", out, "--"}, mpitest.OpenMPI.Args(2, "", app, "nest", "4")...)
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, command...)
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	if rows := readRows[phaseRow](t, filepath.Join(out, "phases.parquet")); len(rows) != 2*(1+2*4) {
		t.Errorf("%d phases", len(rows))
	}
}
