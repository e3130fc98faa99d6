package cshim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// program is a mini-app of the conformance set.
type program struct {
	name  string
	large bool // made of the forms with large counts
	child bool // it spawns child
	args  []string
}

func (p program) build(t *testing.T, mpi mpitest.MPI) []string {
	t.Helper()
	var options []string
	if p.large {
		options = append(options, "-DLARGE")
	}
	command := append([]string{mpi.App(t, p.name, options...)}, p.args...)
	if p.child {
		command = append(command, mpi.App(t, "child"))
	}
	return command
}

// golden names the file that says what the program's calls mean: the forms with large counts mean the same as the
// ordinary ones.
func (p program) golden(mpi mpitest.MPI) string {
	if p.name == "sessions" {
		return strings.Join(append([]string{p.name}, p.args...), "-") + "." + mpi.Name
	}
	return p.name + "." + mpi.Name
}

// conformance lists the programs that together call every wrapped function that the library offers.
func conformance(t *testing.T, mpi mpitest.MPI) []program {
	t.Helper()
	programs := []program{
		{name: "allcalls"},
		{name: "persistent"},
		{name: "neighbours"},
		{name: "onesided"},
		{name: "files", args: []string{t.TempDir()}},
		{name: "communicators"},
		{name: "meaning"},
	}
	if mpi.Name == mpitest.OpenMPI.Name {
		return append(programs, program{name: "processes", child: true})
	}
	return append(programs,
		program{name: "allcalls", large: true},
		program{name: "persistent", large: true},
		program{name: "neighbours", large: true},
		program{name: "onesided", large: true},
		program{name: "files", large: true, args: []string{t.TempDir()}},
		program{name: "partitioned"},
		program{name: "sessions"},
		program{name: "sessions", args: []string{"world"}},
		program{name: "sessions", args: []string{"crossed"}},
	)
}

// TestEveryFunction runs the conformance set, compares the records of each program, and sees to it that
// nothing that the MPI library offers is left out.
func TestEveryFunction(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		called := map[string]bool{}
		for _, p := range conformance(t, mpi) {
			name := p.name
			if p.large {
				name += "-large"
			}
			t.Run(name, func(t *testing.T) {
				o := job{mpi: mpi, preload: library, program: p.build(t, mpi)}.run(t)
				succeed(t, o)
				ranks := expectExact(t, o)
				expectEnded(t, ranks)
				expectGolden(t, p.golden(mpi), ranks)
				for _, counts := range o.counts {
					for name := range counts {
						called[name] = true
					}
				}
			})
		}
		offered := offers(t, mpi)
		for _, id := range mpicall.All() {
			if offered[id.String()] && !called[id.String()] && !uncallable(mpi, id) {
				t.Errorf("no program calls %v", id)
			}
		}
	})
}

// offers lists the functions that a library has in any binding.
func offers(t *testing.T, mpi mpitest.MPI) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, path := range mpi.Libraries(t) {
		for name := range mpitest.Functions(t, path) {
			all[name] = true
		}
	}
	return all
}

// uncallable reports whether a library has a function that no program here can call.
func uncallable(mpi mpitest.MPI, id mpicall.ID) bool {
	switch {
	case id == mpicall.Abort: // TestDeath and TestFortranAbort call it
		return true
	case mpi.Name == mpitest.MPICH.Name:
		return id.Class() == mpicall.Process && id != mpicall.CommDisconnect // Debian's has a network layer without ports
	}
	return false
}

var fortranSymbol = regexp.MustCompile(`^(?i)(mpi_[a-z_]+?)(_f08ts_large_|_f08_large_|_cptr_f08|_cptr_f|_cptr__|_cptr_|_cptr|_f08ts_|_f08_|_f08|_f|__|_|)$`)

// unmangled are the names that are left to C programs: see cshim/gen/fortran.go.
var unmangled = regexp.MustCompile(`^mpi_.*[^_]$`)

// wrappedFunction finds the C function whose Fortran form a symbol is, if it is one that is wrapped.
func wrappedFunction(symbol string) (mpicall.ID, bool) {
	m := fortranSymbol.FindStringSubmatch(symbol)
	if m == nil {
		return 0, false
	}
	name := strings.ToLower(m[1])
	if strings.Contains(m[2], "large") {
		name += "_c"
	}
	id, known := byLowerName[name]
	return id, known
}

var byLowerName = func() map[string]mpicall.ID {
	m := map[string]mpicall.ID{}
	for _, id := range mpicall.All() {
		m[strings.ToLower(id.String())] = id
	}
	return m
}()

// TestEverySymbol asks the MPI libraries under which names they have the functions that are wrapped.
func TestEverySymbol(t *testing.T) {
	ours := mpitest.Functions(t, mpitest.Library(t))
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		found := map[mpicall.ID]bool{}
		for _, path := range mpi.Libraries(t) {
			for symbol := range mpitest.Functions(t, path) {
				id, wrapped := wrappedFunction(symbol)
				if !wrapped {
					continue
				}
				found[id] = true
				if ours[symbol] == unmangled.MatchString(symbol) {
					t.Errorf("%s has %s, a form of %v, wrapped: %v", filepath.Base(path), symbol, id, ours[symbol])
				}
			}
		}
		if len(found) < 150 {
			t.Errorf("only %d functions found", len(found))
		}
	})
}

// fortran builds the conformance program of a binding and gives its command line.
func fortran(t *testing.T, mpi mpitest.MPI, binding string) []string {
	t.Helper()
	if mpi.Name == mpitest.MPICH.Name {
		return []string{mpi.Fortran(t, "fortran", binding, "-DLARGE"), t.TempDir()}
	}
	return []string{mpi.Fortran(t, "fortran", binding), t.TempDir(), mpi.App(t, "child")}
}

func TestFortran(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range mpitest.Bindings {
			t.Run(binding, func(t *testing.T) {
				o := job{mpi: mpi, preload: library, program: fortran(t, mpi, binding)}.run(t)
				succeed(t, o)
				ranks := expectExact(t, o)
				expectEnded(t, ranks)
				expectGolden(t, "fortran-"+binding+"."+mpi.Name, ranks)
				if mpi.Name == mpitest.OpenMPI.Name {
					return // has no sessions
				}
				o = job{mpi: mpi, preload: library, program: []string{mpi.Fortran(t, "fortransessions", binding)}}.run(t)
				succeed(t, o)
				ranks = expectExact(t, o)
				expectEnded(t, ranks)
				expectGolden(t, "fortransessions."+mpi.Name, ranks)
			})
		}
	})
}

func TestFortranAbort(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range mpitest.Bindings {
			o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.Fortran(t, "fortran", binding), "abort"}}.run(t)
			if o.err == nil {
				t.Errorf("%s: MPI_Abort made no failure", binding)
			}
			for rank, p := range expectExact(t, o) {
				if p.State() != ring.Aborted {
					t.Errorf("%s: rank %d is %v", binding, rank, p.State())
				}
			}
		}
	})
}

// TestSessionsInTurn: the end of the last session is the end, until there is another.
func TestSessionsInTurn(t *testing.T) {
	program := fakeProgram(t, "sessions", mpitest.Library(t))
	for _, c := range []struct {
		args  []string
		ends  int
		state ring.State
	}{
		{nil, 2, ring.Finalized},
		{[]string{"killed"}, 1, ring.Running},
	} {
		shm := t.TempDir()
		cmd := exec.Command(program, c.args...)
		cmd.Env = append(os.Environ(), "MORIENS_RUN=test", "MORIENS_SHM="+shm)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		ranks, _ := read(t, ring.DirectoryPath(shm, os.Getuid(), "test"))
		p := ranks[3]
		want := map[string]int{"MPI_Session_init": 2, "MPI_Session_finalize": c.ends, "MPI_Barrier": 2}
		if diff := cmp.Diff(want, p.calls()); diff != "" || p.Size != 5 || p.State() != c.state || p.closed != 0 {
			t.Errorf("%v: size %d, %v, %d rings closed\n%s", c.args, p.Size, p.State(), p.closed, diff)
		}
	}
}

// TestPython has mpi4py of the system's Python, which loads Open MPI as a plugin.
func TestPython(t *testing.T) {
	const python = "/usr/bin/python3"
	testenv.Need(t, python, mpitest.OpenMPI.Launcher)
	if out, err := exec.Command(python, "-c", "import mpi4py").CombinedOutput(); err != nil {
		testenv.Lacking(t, "no mpi4py: "+string(out))
	}
	script := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "mpi4py_calls.py")
	o := job{mpi: mpitest.OpenMPI, preload: mpitest.Library(t), program: []string{python, script}}.run(t)
	succeed(t, o)
	ranks := expectExact(t, o)
	expectEnded(t, ranks)
	expectGolden(t, "mpi4py", ranks)
}
