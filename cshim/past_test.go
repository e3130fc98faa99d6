package cshim_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// soName is the MPI library that a program of ctypes would open.
func soName(mpi mpitest.MPI) string {
	if mpi.Name == mpitest.OpenMPI.Name {
		return "libmpi.so.40"
	}
	return "libmpich.so.12"
}

// both builds a library without code that names libmoriens.so and then MPI's: who looks a function up in it finds ours
// first.
func both(t *testing.T, mpi mpitest.MPI, library string) string {
	t.Helper()
	testenv.Need(t, mpi.CC)
	path := filepath.Join(t.TempDir(), "libboth.so")
	args := []string{"-shared", "-o", path, "-Wl,--no-as-needed", library, "-Wl,-rpath," + filepath.Dir(library)}
	if out, err := exec.Command(mpi.CC, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

const pastWarning = "moriens: an MPI library was loaded by dlopen, bypassing libmoriens.so; its calls were not recorded: "

// TestPast: a program that finds MPI by dlopen and dlsym gets a warning that it was not recorded, unless it looks MPI
// up where the library is found: then it is recorded. A program that does not use what it has opened, and children, get
// no warning.
func TestPast(t *testing.T) {
	testenv.Need(t, systemPython)
	library := mpitest.Library(t)
	script := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "ctypes_calls.py")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, tt := range []struct {
			how            string
			past, recorded bool
		}{
			{"handle", true, false},
			{"children", true, false},
			{"unused", false, false},
			{"global", false, true},
			{"both", false, true},
		} {
			t.Run(tt.how, func(t *testing.T) {
				name := soName(mpi)
				if tt.how == "both" {
					name = both(t, mpi, library)
				}
				o := job{mpi: mpi, preload: library, program: []string{systemPython, script, tt.how, name}}.run(t)
				if o.err != nil {
					t.Fatalf("%v\n%s", o.err, o.stderr)
				}
				if !tt.recorded {
					expectPast(t, o, soName(mpi), tt.past)
					return
				}
				ranks := expectExact(t, o)
				expectEnded(t, ranks)
				if strings.Contains(o.stderr, pastWarning) {
					t.Errorf("recorded, and said\n%s", o.stderr)
				}
				for _, p := range ranks {
					expectLines(t, p, o.out)
				}
			})
		}
	})
}

// expectPast wants two ranks that report that they were not recorded, the first one to the user too; or no report.
func expectPast(t *testing.T, o outcome, library string, past bool) {
	t.Helper()
	ranks, faults := read(t, o.dir)
	warnings, want := strings.Count(o.stderr, pastWarning), 0
	if past {
		want = 1
	}
	if len(ranks) != 0 || warnings != want || len(faults) != 2*want {
		t.Errorf("%d recorded, %d warnings, faults %+v\n%s", len(ranks), warnings, faults, o.stderr)
	}
	slices.SortFunc(faults, func(a, b ring.Fault) int { return a.Rank - b.Rank })
	for rank, f := range faults {
		if f.Rank != rank || f.Size != 2 || f.PID == 0 || !filepath.IsAbs(f.Past) || filepath.Base(f.Past) != library {
			t.Errorf("%+v", f)
		}
	}
}

// expectLines compares the lines of a rank's calls with those that it has written down, each as "function line".
func expectLines(t *testing.T, p *process, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("lines.%d", p.Rank)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		want[strings.TrimSpace(line)] = true
	}
	got := map[string]bool{}
	for _, rec := range p.threads[0] {
		place := p.places[p.paths[rec.Path].Frames[0].Place]
		if filepath.Base(place.File) != "ctypes_calls.py" {
			t.Errorf("%v at %+v", rec.Call, place)
		}
		got[rec.Call.String()+" "+strconv.Itoa(int(place.Line))] = true
	}
	if len(got) != 4 || !maps.Equal(got, want) {
		t.Errorf("recorded at %v, called at %v", got, want)
	}
}

// TestPastLaunch: where no run is named, the first rank alone says it, and no agent is left behind.
func TestPastLaunch(t *testing.T) {
	testenv.Need(t, systemPython)
	library := mpitest.Library(t)
	script := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "ctypes_calls.py")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, off := range []string{"", "off"} {
			o := job{
				mpi: mpi, preload: library, program: []string{systemPython, script, "handle", soName(mpi)},
				env: []string{"MORIENS_RUN=", "MORIENS=" + off},
			}.run(t)
			if o.err != nil {
				t.Fatalf("%v\n%s", o.err, o.stderr)
			}
			want := 1
			if off != "" {
				want = 0
			}
			if got := strings.Count(o.stderr, pastWarning); got != want {
				t.Errorf("MORIENS=%s: %d warnings\n%s", off, got, o.stderr)
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(o.dir), "*")); len(found) != 0 {
				t.Errorf("left %q", found)
			}
		}
	})
}

// TestPastPython: mpi4py comes to us, whether it sets MPI up or not.
func TestPastPython(t *testing.T) {
	testenv.Need(t, systemPython, mpitest.OpenMPI.Launcher)
	if out, err := exec.Command(systemPython, "-c", "import mpi4py").CombinedOutput(); err != nil {
		testenv.Lacking(t, "no mpi4py: "+string(out))
	}
	o := job{
		mpi: mpitest.OpenMPI, preload: mpitest.Library(t), ranks: 1,
		program: []string{systemPython, "-c", "import os\nimport mpi4py\nopen(os.environ['MINIAPP_OUT'] + '/counts.0', 'w').write('0 MPI_Initialized 1\\n')\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\nassert not MPI.Is_initialized()"},
	}.run(t)
	succeed(t, o)
	if _, faults := read(t, o.dir); len(faults) != 0 || o.stderr != "" {
		t.Errorf("faults %+v\n%s", faults, o.stderr)
	}
}

// TestPastLinked: a program that is linked to MPI does not find it by dlopen. Its warning says that it calls PMPI
// itself, in C or Fortran, or that nothing was called. Where a tool before the library answers its Fortran call, the
// warning says only that.
func TestPastLinked(t *testing.T) {
	library := mpitest.Library(t)
	const past = "MPI was initialized without libmoriens.so"
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		testenv.Need(t, mpi.FC)
		dir := t.TempDir()
		build := func(compiler, name, text string, args ...string) string {
			t.Helper()
			source, path := filepath.Join(dir, name), filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name)))
			if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(compiler, append(args, "-o", path, source)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return path
		}
		fortran := func(prefix string) string {
			return "      program p\n      integer ierr, got\n      call " + prefix + "mpi_init_thread(0, got, ierr)\n      call " + prefix + "mpi_finalize(ierr)\n      end\n"
		}
		const found = "#include <dlfcn.h>\n#include <mpi.h>\nint main(void)\n{\n\tint (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_DEFAULT, \"PMPI_Init\");\n" +
			"\tinit(0, 0);\n\treturn PMPI_Finalize();\n}\n"
		const tool = "void pmpi_init_thread_(int *r, int *g, int *e);\nvoid pmpi_finalize_(int *e);\n" +
			"void mpi_init_thread_(int *r, int *g, int *e) { pmpi_init_thread_(r, g, e); }\nvoid mpi_finalize_(int *e) { pmpi_finalize_(e); }\n"
		direct, looked := build(mpi.FC, "direct.f", fortran("p")), build(mpi.CC, "looked.c", found, "-w")
		wrapped, before := build(mpi.FC, "wrapped.f", fortran("")), build(mpi.CC, "before.c", tool, "-shared", "-fPIC")
		for _, tt := range []struct{ preload, program, past, before string }{
			{library, direct, past + "; its calls were not recorded: " + direct + " calls pmpi_init_thread_ itself", ""},
			{library, looked, past + " being called; its calls were not recorded: /", ""},
			{before + ":" + library, wrapped, "", before},
		} {
			if mpi.Name == mpitest.MPICH.Name && tt.program != looked {
				continue // whose Fortran library goes on to MPI_X of C, which comes to us
			}
			o := job{mpi: mpi, preload: tt.preload, program: []string{tt.program}, out: t.TempDir()}.runUncounted(t)
			if o.err != nil {
				t.Errorf("%v\n%s", o.err, o.stderr)
			}
			ranks, faults := read(t, o.dir)
			said := 0
			if tt.past != "" {
				said = 1
			}
			if len(ranks) != 0 || len(faults) != 2 || strings.Count(o.stderr, "moriens: ") != said || strings.Count(o.stderr, "moriens: "+tt.past) != said {
				t.Errorf("%s: %d recorded, faults %+v\n%s", tt.program, len(ranks), faults, o.stderr)
			}
			for _, f := range faults {
				if (filepath.Base(f.Past) == soName(mpi)) != (tt.past != "") || !strings.HasPrefix(f.Reason, tt.past) || f.Before != tt.before {
					t.Errorf("%s: %+v", tt.program, f)
				}
			}
		}
	})
}
