package cshim_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
)

const systemPython = "/usr/bin/python3"

// framesProgram builds what reads CPython's structures that a test has written.
func framesProgram(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "pyframes")
	args := []string{"-std=c11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Iinclude", "-Isrc",
		"-o", program, "test/pyframes.c", "src/pyframe.c", "src/os.c", "src/os_process.c", "-lpthread"}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// A lineTable is that of a code object, with what CPython says of its bytes: from, to, line.
type lineTable struct {
	what        string
	first, code int
	table       string
	lines       [][3]int // 0 = none
}

// Of functions with calls over several lines, a try, comprehensions and a gap of 100 lines.
var lineTables = []lineTable{
	{"module, 3.11", 1, 22, "f003010101f006000708f00512010df00012010df00012010df00012010df05a03030106f000030106f000030106f000030106f000030106",
		[][3]int{{0, 2, 0}, {2, 4, 3}, {4, 12, 1}, {12, 22, 110}}},
	{"main, 3.11", 1, 138, "8000f008000d0e8045e50d12903189588c58f00004050af00004050a8801d8080d9511d80c0dd80c0df10503120af40003120af10003090a88058805f00807050de00c11d80e0ff103010d10f00303090af00c00090df8f505000c16d0041fd0041fd0041f9861e0080c8804f005000520f8f8f8f8e0080c880488048804",
		[][3]int{{0, 2, 1}, {2, 6, 5}, {6, 40, 7}, {40, 54, 8}, {54, 56, 9}, {56, 58, 10}, {58, 80, 8}, {80, 82, 12}, {82, 84, 14}, {84, 86, 15}, {86, 90, 14},
			{90, 92, 13}, {92, 94, 19}, {94, 96, 0}, {96, 116, 17}, {116, 120, 19}, {120, 122, 17}, {122, 130, 0}, {130, 138, 19}}},
	{"main, 3.12", 1, 122, "8000f008000d0e8045e40d1290318b58f20004050a8801d8080d9411d80c0dd80c0df30503120af10003090a8905f00304050af00a07050de00c11d80e0ff103010d10f00303090af00c00090df8f405000c16d2041f9861e0080cf005000520fbe0080cfa",
		[][3]int{{0, 2, 1}, {2, 6, 5}, {6, 34, 7}, {34, 46, 8}, {46, 48, 9}, {48, 50, 10}, {50, 66, 8}, {66, 68, 7}, {68, 70, 12}, {70, 72, 14}, {72, 74, 15},
			{74, 78, 14}, {78, 80, 13}, {80, 82, 19}, {82, 84, 0}, {84, 102, 17}, {102, 104, 19}, {104, 106, 17}, {106, 114, 0}, {114, 116, 19}, {116, 122, 0}}},
	{"main, 3.13", 1, 128, "8000f008000d0e8045e40d1290318e588801d8080d9411d80c0dd80c0df30503120af10003090a8a05f103000e16f00a07050de00c11d80e0ff103010d10f00303090af00c00090df8f405000c16d3041f9861e0080cf005000520fbe0080cfa",
		[][3]int{{0, 2, 1}, {2, 6, 5}, {6, 34, 7}, {34, 46, 8}, {46, 48, 9}, {48, 50, 10}, {50, 68, 8}, {68, 72, 7}, {72, 74, 12}, {74, 76, 14}, {76, 78, 15},
			{78, 82, 14}, {82, 84, 13}, {84, 86, 19}, {86, 88, 0}, {88, 108, 17}, {108, 110, 19}, {110, 112, 17}, {112, 120, 0}, {120, 122, 19}, {122, 128, 0}}},
	{"far, 3.13", 110, 64, "8000d90f10f303031406d90f108821934187418971f103031406f000030d06f9f200031406",
		[][3]int{{0, 2, 110}, {2, 6, 111}, {6, 14, 110}, {14, 48, 111}, {48, 54, 110}, {54, 58, 0}, {58, 64, 110}}},
	{"cut within an entry", 5, 8, "8000f0", [][3]int{{0, 2, 5}, {2, 8, 0}}},
	{"a number without end", 5, 4, "8000e8ffffffffffffffffff", [][3]int{{0, 2, 5}, {2, 4, 0}}},
	{"no entry", 5, 4, "8000008000", [][3]int{{0, 2, 5}, {2, 4, 0}}},
	{"below the first line of a file", 5, 4, "8000e815", [][3]int{{0, 2, 5}, {2, 4, 0}}},
}

// allLines has CPython's own say of functions of its library.
const allLines = `
import argparse, inspect, types
def walk(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from walk(c)
for module in argparse, inspect:
    with open(module.__file__) as f:
        for c in walk(compile(f.read(), "x", "exec")):
            lines = [0] * (len(c.co_code) // 2)
            for start, end, line in c.co_lines():
                for i in range(start // 2, end // 2):
                    lines[i] = line or 0
            print(c.co_firstlineno, len(c.co_code), c.co_linetable.hex() or "-", *lines)
`

// TestPythonFrames has memory that is made up read as CPython's.
func TestPythonFrames(t *testing.T) {
	program := framesProgram(t)
	t.Run("lines", func(t *testing.T) { testPythonLines(t, program) })
	t.Run("versions", func(t *testing.T) { testPythonVersions(t, program) })
	t.Run("damage", func(t *testing.T) { testPythonDamage(t, program) })
}

// The lines of instructions are compared with CPython's own.
func testPythonLines(t *testing.T, program string) {
	t.Helper()
	var in, want strings.Builder
	for _, x := range lineTables {
		fmt.Fprintf(&in, "%d %d %s\n", x.first, x.code, x.table)
		var lines []string
		for _, run := range x.lines {
			lines = append(lines, slices.Repeat([]string{strconv.Itoa(run[2])}, (run[1]-run[0])/2)...)
		}
		want.WriteString(strings.Join(lines, " ") + "\n")
	}
	for _, python := range pythons(t) {
		if !python.known() {
			continue
		}
		out, err := exec.Command(python.path, "-c", allLines).Output()
		if err != nil {
			t.Fatalf("%s: %v", python.path, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.SplitN(strings.TrimSpace(line), " ", 4)
			in.WriteString(strings.Join(f[:3], " ") + "\n")
			want.WriteString(f[3] + "\n")
		}
	}
	cmd := exec.Command(program, "lines")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, tables := strings.Split(string(out), "\n"), strings.Split(in.String(), "\n")
	wanted := strings.Split(want.String(), "\n")
	if len(got) != len(wanted) {
		t.Fatalf("%d tables, %d answers", len(wanted), len(got))
	}
	for i := range wanted {
		if got[i] != wanted[i] {
			t.Errorf("%s\n got %s\nwant %s", tables[i], got[i], wanted[i])
		}
	}
	t.Logf("%d tables", len(wanted)-1)
}

// Only what is known is read.
func testPythonVersions(t *testing.T, program string) {
	t.Helper()
	for _, tt := range []struct{ version, build, want string }{
		{"0x030b02f0", "-", "known"},
		{"0x030b00c1", "-", "known"}, // a release candidate
		{"0x030b00b5", "-", "frames of CPython 3.11.0 are not supported, only those of 3.11 to 3.13"},
		{"0x030c07f0", "-", "known"},
		{"0x030d00f0", "-", "known"},
		{"0x030d00f0", "t", "frames of free-threaded CPython 3.13 are not supported"},
		{"0x030d01f0", "-", "frames of CPython 3.13.1 are not supported, only those of 3.11 to 3.13"}, // its offsets are those of another
		{"0x030a0df0", "-", "frames of CPython 3.10.13 are not supported, only those of 3.11 to 3.13"},
		{"0x030e00f0", "-", "frames of CPython 3.14.0 are not supported, only those of 3.11 to 3.13"},
		{"0x040b00f0", "-", "frames of CPython 4.11.0 are not supported, only those of 3.11 to 3.13"},
	} {
		out, err := exec.Command(program, "layout", tt.version, tt.build).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
			t.Errorf("%s %s: %v, %s", tt.version, tt.build, err, got)
		}
	}
}

// Structures are read whose words are not what they should be, and by offsets of another version: nothing is a fault.
func testPythonDamage(t *testing.T, program string) {
	t.Helper()
	for _, version := range []string{"0x030b02f0", "0x030c01f0", "0x030d00f0"} {
		seed := rand.Uint64()
		t.Logf("%s: seed %d", version, seed)
		out, err := exec.Command(program, "damage", version, strconv.FormatUint(seed, 10), "1500").CombinedOutput()
		if want := "b.py:14 b.step\n/home/a.py:5 <module>\nsurvived\n"; err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

type python struct {
	path, version, suffix, include string
	mpi4py                         bool
}

func (p python) known() bool { return slices.Contains([]string{"3.11", "3.12", "3.13"}, p.version) }

// pythons are the interpreters that are here: the system's, and one of each other version.
func pythons(t *testing.T) []python {
	t.Helper()
	testenv.Need(t, systemPython)
	paths := []string{systemPython}
	for _, name := range []string{"python3.10", "python3.11", "python3.12", "python3.13", "python3.14"} {
		if path, err := exec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
	}
	home, _ := os.UserHomeDir() // without one there are none
	built, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "3.1*", "bin", "python3"))
	var all []python
	for _, path := range append(paths, built...) {
		const ask = `import sys, sysconfig
print("%d.%d" % sys.version_info[:2], sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_path("include"))
try:
    import mpi4py
    print("mpi4py")
except ImportError:
    pass`
		out, err := exec.Command(path, "-c", ask).Output()
		f := strings.Fields(string(out))
		if err != nil || len(f) < 3 {
			continue // pyenv's python3.12 where that version is not chosen
		}
		p := python{path, f[0], f[1], f[2], len(f) > 3}
		if !slices.ContainsFunc(all, func(x python) bool { return x.version == p.version && x.mpi4py == p.mpi4py }) {
			all = append(all, p)
		}
	}
	return all
}

// module gives the directory of a module that calls MPI for an interpreter without mpi4py. It is "" if the
// interpreter's headers are missing, so that the module cannot be built.
func (p python) module(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(p.include, "Python.h")); err != nil {
		return ""
	}
	dir := t.TempDir()
	args := []string{"-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-I" + p.include, "-o", filepath.Join(dir, "MPI"+p.suffix), "test/pymodule.c"}
	if out, err := exec.Command(mpitest.OpenMPI.CC, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestPythonPlaces compares the Python lines of all calls with those that the program has noted itself, for every
// CPython that is here; where the frames of one are not known, calls are named by the module, and that is said.
func TestPythonPlaces(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	testenv.Need(t, mpitest.OpenMPI.Launcher, mpitest.OpenMPI.CC)
	library := mpitest.Library(t)
	list := pythons(t)
	if !list[0].mpi4py {
		testenv.Lacking(t, "no mpi4py for "+systemPython)
	}
	for i, python := range list {
		path := ""
		if !python.mpi4py {
			if path = python.module(t); path == "" {
				t.Logf("CPython %s is left out: no headers", python.version)
				continue
			}
		}
		depths := []int{1, 3, 64}
		if i > 0 {
			depths = []int{1 + 4*rand.IntN(2)}
		}
		for _, depth := range depths {
			t.Run(fmt.Sprintf("%s %d", python.version, depth), func(t *testing.T) {
				seed := rand.Uint32()
				t.Logf("seed %d", seed)
				script := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "places.py")
				o := job{
					mpi: mpitest.OpenMPI, preload: library, ranks: 1, program: []string{python.path, script, strconv.Itoa(int(seed)), "200"},
					env: []string{"MORIENS_CALLPATH=" + strconv.Itoa(depth), "PYTHONPATH=" + path},
				}.run(t)
				succeed(t, o)
				p := expectExact(t, o)[0]
				if !python.known() {
					expectModule(t, p)
					return
				}
				if len(p.notes) != 0 {
					t.Errorf("notes %q", p.notes)
				}
				for thread := range 2 {
					expectPlaces(t, p, thread, depth, o.out)
				}
			})
		}
	}
}

// expectPlaces compares the frames of a thread's barriers with the stacks that it has written down.
func expectPlaces(t *testing.T, p *process, thread, depth int, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("places.%d", thread)))
	if err != nil {
		t.Fatal(err)
	}
	var planted [][][3]any // file, line, function; innermost first
	if err := json.Unmarshal(text, &planted); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, rec := range p.threads[thread] {
		if rec.Call != mpicall.Barrier {
			continue
		}
		if n == len(planted) {
			t.Fatal("more calls than were planted")
		}
		var got, want []string
		for _, f := range p.paths[rec.Path].Frames {
			place := p.places[f.Place]
			if f.Module != 0 || f.Offset != 0 {
				t.Fatalf("call %d has a return address: %+v", n, f)
			}
			if f.Place == 0 {
				got = append(got, trace.Folded)
				continue
			}
			got = append(got, fmt.Sprintf("%s:%d %s", place.File, place.Line, place.Function))
		}
		for _, f := range planted[n][:min(depth, len(planted[n]))] {
			want = append(want, fmt.Sprintf("%s:%.0f %s", f[0], f[1], f[2]))
		}
		if want = fold(want); !slices.Equal(got, want) {
			t.Fatalf("thread %d, call %d of %d\n got %q\nwant %q", thread, n, len(planted), got, want)
		}
		n++
	}
	if n != len(planted) {
		t.Errorf("thread %d: %d of %d calls", thread, n, len(planted))
	}
}

func expectModule(t *testing.T, p *process) {
	t.Helper()
	for _, path := range p.paths {
		if f := path.Frames[0]; f.Place != 0 || f.Offset == 0 || !strings.HasPrefix(filepath.Base(p.modules[f.Module].Path), "MPI.") {
			t.Errorf("a path from %+v in %q", f, p.modules[f.Module].Path)
		}
	}
	if len(p.notes) != 1 || !strings.Contains(p.notes[0], "located by module, not by Python line: frames of CPython") {
		t.Errorf("notes %q", p.notes)
	}
}
