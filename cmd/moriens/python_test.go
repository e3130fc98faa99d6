package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

const systemPython = "/usr/bin/python3"

// lineOf is the line of a script that ends with a mark.
func lineOf(t *testing.T, script, mark string) int {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "# "+mark) {
			return i + 1
		}
	}
	t.Fatalf("no mark %q in %s", mark, script)
	return 0
}

func needMPI4Py(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(systemPython, "-c", "import mpi4py").CombinedOutput(); err != nil {
		testenv.Lacking(t, "no mpi4py: "+string(out))
	}
}

// Calls of mpi4py are named by the Python line and function in every output, with as many Python frames as were asked
// for, and offsets are nowhere.
func TestPythonLines(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	testenv.Need(t, systemPython, mpitest.OpenMPI.Launcher)
	needMPI4Py(t)
	script := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "jac.py")
	exchange, step, residual, main := lineOf(t, script, "exchange"), lineOf(t, script, "step"), lineOf(t, script, "residual"), lineOf(t, script, "main")
	for _, cells := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "run")
		args := []string{binary(t), "run", "--keep-bursts", "all", "--callpath", "3", "--out", out, "--"}
		if cells {
			args = []string{binary(t), "run", "--cells", "--callpath", "3", "--out", out, "--"}
		}
		o := execute(t, nil, append(args, mpitest.OpenMPI.Args(2, "", systemPython, script)...)...)
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		contains(t, long(t, out), fmt.Sprintf("MPI_Sendrecv@jac.py:%d → MPI_Allreduce@jac.py:%d", exchange, residual))
		r, err := prv.ReadFile(filepath.Join(out, "trace.prv"), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, path := range r.Run.Threads[0].Calls.Path {
			p := r.Run.CallPaths[path]
			text := p.Function
			for _, f := range p.Frames {
				text += "<" + place(f)
			}
			got[text]++
		}
		want := map[string]int{
			fmt.Sprintf("MPI_Sendrecv<Solver.exchange jac.py:%d<Solver.step jac.py:%d<main jac.py:%d", exchange, step, main): 40,
			fmt.Sprintf("MPI_Allreduce<Solver.step jac.py:%d<main jac.py:%d<<module> jac.py:%d", residual, main, main+3):     40,
		}
		for text := range got {
			if strings.HasPrefix(text, "MPI_Init_thread<<module> jac.py:5") || strings.HasPrefix(text, "MPI_Finalize") {
				delete(got, text)
			}
		}
		if cells { // of some windows
			for text, n := range got {
				if n > want[text] {
					t.Errorf("%d times %s", n, text)
				}
			}
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// A program that finds MPI by dlopen ends with a result that says so, what to do, and 3.
func TestFoundByDlopen(t *testing.T) {
	testenv.Need(t, systemPython, mpitest.OpenMPI.Launcher)
	script, out := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "ctypes_calls.py"), filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--out", out, "--"}, mpitest.OpenMPI.Args(2, "", systemPython, script, "handle", "libmpi.so.40")...)
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...)
	if o.status != 3 {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	contains(t, o.stderr, "no rank could record: an MPI library was loaded by dlopen, bypassing libmoriens.so; its calls were not recorded: /", "docs/limits.md")
	if m := readManifest(t, out); m.Complete == nil || *m.Complete || len(m.Incomplete) != 1 || !strings.Contains(m.Incomplete[0], "2 of 2 ranks not recorded") {
		t.Errorf("complete: %v, %q", m.Complete, m.Incomplete)
	}
}
