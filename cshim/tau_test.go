package cshim_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// tau builds a mini-app of C or C++ that includes TAU.h.
func tau(t *testing.T, mpi mpitest.MPI, name string) string {
	t.Helper()
	return mpi.App(t, name, "-I"+filepath.Join(include(t), "moriens", "tau"))
}

// tauFortran builds one of Fortran, linked to libmoriens_tau.a.
func tauFortran(t *testing.T, mpi mpitest.MPI, binding string, more ...string) string {
	t.Helper()
	archive := filepath.Join(filepath.Dir(mpitest.Library(t)), "libmoriens_tau.a")
	// The archive, from outside of the command's options, behind what needs it.
	return mpi.Fortran(t, "taumarksf", binding, append(more, "-Wl,--undefined=tau_start_", archive)...)
}

// A program with TAU's macros has its phases, under one name where they are numbered.
func TestTAU(t *testing.T) {
	library := mpitest.Library(t)
	on := []string{"MORIENS_REGIONS=tau"}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := tau(t, mpi, "taumarks")
		t.Run("solver", func(t *testing.T) {
			want := lines("MPI_Init\nMPI_Barrier")
			for i := 1; i <= 3; i++ {
				want = append(want, "begin ITERATE", "begin x_solve phase", "MPI_Barrier", "end x_solve phase", "begin y_solve phase", "MPI_Barrier",
					"end y_solve phase", []string{"", "residual=11", "residual=21", "residual=32"}[i], "end ITERATE")
			}
			want = append(want, lines("begin output phase\nbegin checkpoint\nMPI_Barrier\nend checkpoint\nend output phase\nMPI_Finalize")...)
			expectSaid(t, job{mpi: mpi, preload: library, env: on, program: []string{app, "solver", "3"}}, want)
		})
		t.Run("forms", func(t *testing.T) {
			want := lines("MPI_Init\nMPI_Barrier")
			for _, name := range []string{
				"ITERATE", "ITERATE", "iter", "iter", "iter", "iter", "iter", "iter", "iter", "t", "v",
				"51", "[51]", "  51", "x2 part", "iter[a1]", "iter]", "a(51]", "", "2D halo", "rate 1.5e", "step 7", "static 8",
				"counted 9", "timed", "automatic", "counted 9", "timed", "automatic",
				"handled", "handled 2", "handled", "handled 2",
			} {
				want = append(want, whole(name)...)
			}
			scope := "scoped"
			want = append(want, "begin "+scope, "reached=1", "end "+scope, "begin "+scope, "end "+scope,
				"huge=9223372036854775807", "tiny=-9223372036854775808", "half=-3", "MPI_Finalize")
			expectSaid(t, job{mpi: mpi, preload: library, env: on, program: []string{app, "forms"}}, want)
		})
		t.Run("early", func(t *testing.T) {
			expectSaid(t, job{mpi: mpi, preload: library, env: on, program: []string{app, "early"}}, lines("MPI_Init\nbegin main\nMPI_Barrier\nend main\nMPI_Finalize"))
		})
		t.Run("C++", func(t *testing.T) {
			want := []string{"MPI_Init"}
			for i := range 4 {
				solve := lines("begin solve<int>\nMPI_Barrier\nend solve<int>\nbegin solve<long>\nMPI_Barrier\nend solve<long>")
				if i%2 == 0 {
					solve = slices.Concat([]string{"begin even"}, solve, []string{"end even"})
				}
				want = slices.Concat(want, []string{"begin ITERATE"}, solve, []string{fmt.Sprintf("residual=%d", i), "end ITERATE"})
			}
			want = append(want, "begin output phase", "end output phase", "MPI_Finalize")
			expectSaid(t, job{mpi: mpi, preload: library, env: on, program: []string{tau(t, mpi, "taumarkscxx"), "4"}}, want)
		})
	})
}

// saidByFortran is what taumarksf.F90 does.
func saidByFortran() []string {
	want := lines("MPI_Init\nbegin main")
	for i := range 3 {
		want = append(want, "begin ITERATE", "begin x_solve phase", "MPI_Barrier", "end x_solve phase", "begin y_solve phase 2", "end y_solve phase 2",
			[]string{"residual=2", "residual=3", "residual=5"}[i], "end ITERATE", "begin step", "end step", "begin counted", "end counted")
	}
	return append(want, lines("begin output 1\nMPI_Barrier\nend output 1\nend main\nMPI_Finalize")...)
}

func TestTAUOfFortran(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range mpitest.Bindings {
			t.Run(binding, func(t *testing.T) {
				app := tauFortran(t, mpi, binding)
				expectSaid(t, job{mpi: mpi, preload: library, env: []string{"MORIENS_REGIONS=tau"}, program: []string{app}}, saidByFortran())
			})
		}
		for _, link := range [][]string{{"-no-pie", "-fno-pie"}, {"-flto"}} {
			t.Run(link[0], func(t *testing.T) {
				app := tauFortran(t, mpi, "F08", link...)
				expectSaid(t, job{mpi: mpi, preload: library, env: []string{"MORIENS_REGIONS=tau"}, program: []string{app}}, saidByFortran())
			})
		}
	})
}

// 100,000 numbered names, and as many of timers, are two: none is lost.
func TestTAUNames(t *testing.T) {
	const n = 100_000
	library := mpitest.Library(t)
	app := tau(t, mpitest.OpenMPI, "taumarks")
	o := job{mpi: mpitest.OpenMPI, preload: library, ranks: 1, env: []string{"MORIENS_REGIONS=tau", "MORIENS_RING=33554432"}, program: []string{app, "names", fmt.Sprint(n)}}.run(t)
	succeed(t, o)
	for rank, p := range expectExact(t, o) {
		counts := map[string]int{}
		for _, rec := range p.marks[0] {
			counts[p.names[rec.Name]+fmt.Sprintf(" %x", rec.Mark)]++
		}
		want := map[string]int{}
		for _, name := range []string{"ITERATE", "step"} {
			for _, rec := range p.marks[0][:2] { // a begin of each
				want[name+fmt.Sprintf(" %x", rec.Mark)] = n
			}
			want[name+fmt.Sprintf(" %x", p.marks[0][2].Mark)] = n
		}
		// "main", whose timer is never started, is a name too.
		if diff := cmp.Diff(want, counts); diff != "" || p.Losses().NamesLost != 0 || len(p.names) != 3 {
			t.Errorf("rank %d: %d names, %d lost\n%s", rank, len(p.names), p.Losses().NamesLost, diff)
		}
	}
}

const wideName = "Lösung 😀"

// TestTAUHeader compiles moriens_tau.h as strictly as compilers can, and runs the programs with and without something
// that takes their marks.
func TestTAUHeader(t *testing.T) {
	testenv.Need(t, "gcc", "g++")
	in := compiling{t, t.TempDir()}
	taker := filepath.Join(in.dir, "taker.so")
	in.build("gcc", "-shared", "-fPIC", "-o", taker, in.write("taker.c", `
#include <stdio.h>
void moriens_annotate_1(unsigned what, unsigned *site, const char *name, size_t bytes, long value)
{
	static unsigned numbers;
	if (site != NULL && *site == 0)
		*site = ++numbers;
	printf("%x:%.*s:%u:%ld ", what, (int)bytes, name, site != NULL ? *site : 0, value);
}`))
	const body = `
int other(void);
TAU_GLOBAL_PHASE(output, "output", "", TAU_IO)
int main(int argc, char **argv)
{
	const char *name = "ITERATE 51", **counters = 0, *text;
	char made[] = "made", *where = made;
	void *handle;
	int count = 1;
	long calls = 1;
	double inclusive = 1;
	TAU_QUERY_DECLARE_EVENT(event)
	TAU_PHASE_CREATE_DYNAMIC(d, name, "", TAU_USER);
	TAU_PHASE_CREATE_STATIC(s, "x_solve", "", TAU_USER);
	TAU_TYPE_STRING(type, "int (int, char **)")
	TAU_PROFILE_INIT(argc, argv)
	TAU_PHASE_START(d);
	if (argc > 0) TAU_PHASE_START(s); else TAU_PHASE_STOP(s);
	TAU_START("a");
	TAU_STOP("a");
	TAU_START(made);
	TAU_STOP(where);
	TAU_PHASE_STOP(s);
	TAU_PHASE_STOP(d);
	TAU_PROFILER_CREATE(handle, "handled", "", TAU_USER);
	TAU_PROFILER_START(handle);
	TAU_PROFILER_STOP(handle);
	TAU_PROFILER_GET_COUNTER_INFO(&counters, &count);
	TAU_PROFILER_GET_INCLUSIVE_VALUES(handle, &inclusive);
	TAU_PROFILER_GET_CALLS(handle, &calls);
	TAU_QUERY_GET_CURRENT_EVENT(event);
	TAU_QUERY_GET_EVENT_NAME(event, text);
	TAU_PROFILE_EXIT("end")
	if (count != 0 || inclusive != 0 || calls != 0 || event != 0 || *text != '\0')
		return 1;
	return other();
}
`
	const second = `
int other(void);
TAU_GLOBAL_PHASE_EXTERNAL(output);
int other(void)
{
	TAU_PROFILE_TIMER(t, "t", "int (void)", TAU_DEFAULT)
	TAU_PROFILE_START(t)
	TAU_GLOBAL_PHASE_START(output)
	TAU_GLOBAL_PHASE_STOP(output)
	TAU_PROFILE_STOP(t)
	TAU_TRIGGER_EVENT("e", 4.5);
	return TAU_PROFILE_GET_NODE();
}
`
	const said = "3ff04:ITERATE 51:1:0 1ff04:x_solve:2:0 1ff01::1:0 1ff01::2:0 1ff01:a:0:0 1ff02:a:0:0 1ff01:made:0:0 1ff02:made:0:0 1ff02::2:0 1ff02::1:0 " +
		"1ff04:handled:3:0 1ff01::3:0 1ff02::3:0 " +
		"1ff04:t:4:0 1ff01::4:0 1ff04:output:5:0 1ff01::5:0 1ff02::5:0 1ff02::4:0 1ff03:e:0:5 "
	program := filepath.Join(in.dir, "program")
	strict := []string{"-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I" + include(t), "-I" + filepath.Join(include(t), "moriens", "tau"), "-o", program}
	for _, header := range []string{"<TAU.h>", "<Profile/Profiler.h>", "\"moriens_tau.h\""} {
		c := []string{in.write("program.c", "#include "+header+body), in.write("other.c", "#include "+header+second)}
		cxx := []string{in.write("program.cc", "#include "+header+body), in.write("other.cc", "#include "+header+second)}
		check := func(sources []string, want string, compiler ...string) {
			t.Helper()
			in.build(slices.Concat(compiler, strict, sources)...)
			for _, preload := range []string{"", taker} {
				cmd := exec.Command(program)
				cmd.Env = []string{"LD_PRELOAD=" + preload}
				expected := want
				if preload == "" {
					expected = ""
				}
				if got, err := cmd.Output(); err != nil || string(got) != expected {
					t.Errorf("%v, preloaded %q: %v\n got %s\nwant %s", compiler, preload, err, got, expected)
				}
			}
		}
		for _, std := range []string{"c89", "gnu89", "c99", "c11", "c17", "c2x"} {
			check(c, said, "gcc", "-std="+std)
		}
		for _, std := range []string{"c++98", "c++11", "c++17", "c++23"} {
			check(cxx, said, "g++", "-O2", "-std="+std)
		}
		check(c, "", "gcc", "-O2", "-DMORIENS_DISABLE")
		check(cxx, "", "g++", "-O2", "-DMORIENS_DISABLE")
		check(c, said, "gcc", "-O3", "-flto", "-no-pie")
	}
}

// libmoriens_tau.a can be linked statically, and beside an archive that has TAU's own procedures.
func TestTAUStubs(t *testing.T) {
	testenv.Need(t, "gcc", "ar")
	archive := filepath.Join(filepath.Dir(mpitest.Library(t)), "libmoriens_tau.a")
	in := compiling{t, t.TempDir()}
	main := in.write("main.c", "void tau_start_(const char *, int); void tau_profile_init_(void); int main(void) { tau_profile_init_(); tau_start_(\"a\", 1); tau_start_(\"b\", 1); return 0; }")
	own := in.write("own.c", "#include <stdio.h>\nvoid tau_start_(const char *name, int n); void tau_start_(const char *name, int n) { printf(\"%.*s \", n, name); }")
	program := filepath.Join(in.dir, "program")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{main, archive}, ""},
		{[]string{"-no-pie", "-fno-pie", main, archive}, ""},
		{[]string{"-static", main, archive}, ""},
		{[]string{main, archive, own}, "a b "},
		{[]string{main, own, archive}, "a b "},
	} {
		if out, err := exec.Command("gcc", append([]string{"-O2", "-o", program}, tt.args...)...).CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("%v: %v\n%s", tt.args, err, out)
			continue
		}
		if got, err := exec.Command(program).Output(); err != nil || string(got) != tt.want {
			t.Errorf("%v: %v, %q, want %q", tt.args, err, got, tt.want)
		}
	}
	if symbols := mpitest.Functions(t, program); symbols["tau_start_"] && symbols["tau_profile_init_"] {
		t.Error("the procedures are visible to libraries")
	}
}
