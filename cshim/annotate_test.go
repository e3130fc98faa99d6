package cshim_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

func include(t testing.TB) string {
	t.Helper()
	return filepath.Join(mpitest.Root(t), "cshim", "include")
}

// annotated builds a mini-app that includes moriens.h.
func annotated(t *testing.T, mpi mpitest.MPI, name string) string {
	t.Helper()
	return mpi.App(t, name, "-I"+include(t))
}

// said lists a thread's marks and calls, in the order of their records: "begin solve", "MPI_Barrier", "residual=7".
func (p *process) said(thread int) []string {
	all := slices.Concat(p.threads[thread], p.marks[thread])
	slices.SortStableFunc(all, func(a, b ring.Record) int {
		switch {
		case a.Enter != b.Enter && a.Enter < b.Enter:
			return -1
		case a.Enter != b.Enter:
			return 1
		}
		return 0
	})
	var list []string
	for _, rec := range all {
		name, known := p.names[rec.Name]
		if !known && rec.Mark != 0 {
			name = "?"
		}
		text := rec.Call.String()
		switch rec.Mark {
		case ring.Begin:
			text = "begin " + name
		case ring.End:
			text = "end " + name
		case ring.Event:
			text = fmt.Sprintf("%s=%d", name, rec.Value)
		}
		if rec.Paused {
			text += " after a pause"
		}
		list = append(list, text)
	}
	return list
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// Phases and events of nested loops, exactly as the program has them, between exactly the calls that it makes.
func TestAnnotations(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := annotated(t, mpi, "annotate")
		run := func(t *testing.T, args ...string) map[int]*process {
			t.Helper()
			o := job{mpi: mpi, preload: library, program: append([]string{app}, args...)}.run(t)
			succeed(t, o)
			return expectExact(t, o)
		}
		says := func(t *testing.T, ranks map[int]*process, want []string) {
			t.Helper()
			if len(ranks) != 2 {
				t.Fatalf("%d ranks", len(ranks))
			}
			for rank, p := range ranks {
				if diff := cmp.Diff(want, p.said(0)); diff != "" {
					t.Errorf("rank %d (-want +got):\n%s", rank, diff)
				}
			}
		}
		t.Run("nest", func(t *testing.T) {
			want := []string{"MPI_Init_thread", "MPI_Barrier", "begin solve"}
			for i := range 3 {
				want = append(want, "begin iteration", "MPI_Barrier", "begin halo", "MPI_Barrier", "MPI_Barrier", "end halo",
					fmt.Sprintf("residual=%d", 1000-i), "end iteration")
			}
			says(t, run(t, "nest", "3"), append(want, "end solve", "MPI_Finalize"))
		})
		t.Run("unbalanced", func(t *testing.T) {
			says(t, run(t, "unbalanced"), []string{"MPI_Init_thread", "MPI_Barrier", "end never begun", "begin a", "begin b", "MPI_Barrier",
				"end a", "end b", "begin open", "MPI_Barrier", "MPI_Finalize"})
		})
		t.Run("early", func(t *testing.T) {
			says(t, run(t, "early"), []string{"MPI_Init_thread", "begin program", "begin set-up", "end set-up", "end program", "MPI_Barrier", "MPI_Finalize"})
		})
		t.Run("inside", func(t *testing.T) {
			ranks := run(t, "inside")
			says(t, ranks, []string{"MPI_Init_thread", "MPI_Barrier", "begin outside", "MPI_Comm_dup", "MPI_Comm_free", "end outside", "MPI_Finalize"})
			for rank, p := range ranks {
				if p.inside != 3 {
					t.Errorf("rank %d: %d marks inside calls, set 3", rank, p.inside)
				}
			}
		})
		t.Run("polls", func(t *testing.T) {
			// The mark parts the polls, so that each half has records of its own; a slow machine may part them further.
			for rank, p := range run(t, "polls", "100") {
				halves := []int{0, 0}
				for _, rec := range p.threads[0] {
					if rec.Call != mpicall.Iprobe {
						continue
					}
					half := 0
					if rec.Enter > p.marks[0][0].Enter {
						half = 1
					}
					halves[half]++
					for _, polls := range rec.Polls {
						halves[half] += int(polls.Count)
					}
				}
				if diff := cmp.Diff([]int{100, 100}, halves); diff != "" {
					t.Errorf("rank %d: polls before and after the mark\n%s", rank, diff)
				}
			}
		})
		t.Run("pause", func(t *testing.T) {
			ranks := run(t, "pause", "3")
			says(t, ranks, []string{
				"MPI_Init_thread", "MPI_Barrier", "begin whole", "MPI_Barrier", "MPI_Barrier", "MPI_Barrier", "begin left out", "MPI_Pcontrol",
				"in the pause=3 after a pause", "MPI_Pcontrol after a pause", "end left out", "MPI_Barrier", "MPI_Barrier", "MPI_Barrier",
				"MPI_Pcontrol", "MPI_Pcontrol", "MPI_Barrier", "end whole", "MPI_Pcontrol", "MPI_Finalize after a pause",
			})
			for rank, p := range ranks {
				if p.paused != 4 {
					t.Errorf("rank %d: %d calls left out, made 4", rank, p.paused)
				}
			}
		})
		t.Run("die", func(t *testing.T) {
			o := job{mpi: mpi, preload: library, program: []string{app, "die"}}.run(t)
			says(t, expectExact(t, o), []string{"MPI_Init_thread", "MPI_Barrier", "begin outer", "MPI_Barrier", "begin inner", "MPI_Barrier"})
		})
	})
}

// longName is what annotate.c makes: characters of three bytes, and dots where no whole one fits.
func longName(bytes int) string {
	return strings.Repeat("€", bytes/3) + strings.Repeat(".", bytes%3)
}

func TestAnnotationNames(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{annotated(t, mpi, "annotate"), "names"}}.run(t)
		succeed(t, o)
		want := []string{"MPI_Init_thread", "MPI_Barrier"}
		for _, name := range []string{"", "say \"so\"\t'now'\\\n", "Lösung → 😀", "not UTF-8: \uFFFD"} {
			want = append(want, "begin "+name, "end "+name)
		}
		for _, bytes := range []int{0, 1, 7, 8, 9, 4096, 65535, 65536} {
			name := longName(min(bytes, 65535))
			want = append(want, "begin "+name, fmt.Sprintf("%s=%d", name, bytes), "end "+name)
		}
		want = append(want, "least=-9223372036854775808", "greatest=9223372036854775807", "MPI_Finalize")
		for rank, p := range expectExact(t, o) {
			if diff := cmp.Diff(want, p.said(0)); diff != "" || p.Losses().NamesLost != 0 {
				t.Errorf("rank %d: %d names lost\n%.2000s", rank, p.Losses().NamesLost, diff)
			}
			if len(p.names) != 12 {
				t.Errorf("rank %d: %d names defined", rank, len(p.names))
			}
		}
	})
}

// Threads that say what they do and never call MPI have rings of their own.
func TestAnnotationThreads(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{annotated(t, mpi, "annotate"), "threads", "200", "4"}}.run(t)
		succeed(t, o)
		var want []string
		for i := range 200 {
			part := fmt.Sprintf("part %d", i%10)
			want = append(want, "begin work", "begin "+part, "end "+part, "end work")
		}
		for rank, p := range expectExact(t, o) {
			if len(p.threads) != 5 || len(p.names) != 11 {
				t.Fatalf("rank %d: %d threads, %d names", rank, len(p.threads), len(p.names))
			}
			for thread := 1; thread < 5; thread++ {
				if diff := cmp.Diff(want, p.said(thread)); diff != "" {
					t.Errorf("rank %d thread %d\n%.2000s", rank, thread, diff)
				}
			}
		}
	})
}

func TestAnnotationsOfCxx(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{annotated(t, mpi, "annotatecxx"), "4"}}.run(t)
		succeed(t, o)
		want := lines("MPI_Init\nbegin solve")
		for i := range 4 {
			parity := []string{"even", "odd"}[i%2]
			want = append(want, "begin iteration", "begin "+parity, "begin halo", "MPI_Barrier", "MPI_Barrier", "end halo",
				"begin halo", "MPI_Barrier", "end halo")
			if i%3 == 0 {
				want = append(want, "end "+parity, "end iteration", fmt.Sprintf("thrown=%d", i))
			} else {
				want = append(want, fmt.Sprintf("kept=%d", i), "end "+parity, "end iteration")
			}
		}
		want = append(want, "end solve", "MPI_Finalize")
		for rank, p := range expectExact(t, o) {
			if diff := cmp.Diff(want, p.said(0)); diff != "" {
				t.Errorf("rank %d\n%s", rank, diff)
			}
		}
	})
}

func TestAnnotationsOfFortran(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range mpitest.Bindings {
			t.Run(binding, func(t *testing.T) {
				app := mpi.Fortran(t, "annotatef", binding, filepath.Join(include(t), "moriens.F90"))
				o := job{mpi: mpi, preload: library, program: []string{app}}.run(t)
				succeed(t, o)
				want := lines("MPI_Init\nbegin before MPI\nend before MPI\nbegin solve")
				for i := 1; i <= 5; i++ {
					want = append(want, "begin iteration", "MPI_Barrier", fmt.Sprintf("step=%d", i), fmt.Sprintf("large=%d", 5_000_000_000+i), "end iteration")
				}
				want = append(want, "end solve", "MPI_Pcontrol", "MPI_Pcontrol after a pause", "MPI_Barrier", "MPI_Finalize")
				for rank, p := range expectExact(t, o) {
					if diff := cmp.Diff(want, p.said(0)); diff != "" || p.paused != 3 {
						t.Errorf("rank %d: %d calls left out\n%s", rank, p.paused, diff)
					}
				}
			})
		}
	})
}

// The same programs do their work where no library of ours is.
func TestAnnotationsAlone(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, program := range [][]string{
			{annotated(t, mpi, "annotate"), "nest", "3"},
			{annotated(t, mpi, "annotate"), "names"},
			{annotated(t, mpi, "annotate"), "threads", "200", "4"},
			{annotated(t, mpi, "annotate"), "pause", "3"},
			{annotated(t, mpi, "annotatecxx"), "4"},
			{mpi.Fortran(t, "annotatef", "F08", filepath.Join(include(t), "moriens.F90"))},
		} {
			o := job{mpi: mpi, program: program}.run(t)
			succeed(t, o)
			if o.stdout != "" || len(o.counts) != 2 {
				t.Errorf("%v: said %q, counts of %d ranks", program, o.stdout, len(o.counts))
			}
			if _, err := os.Stat(o.dir); !os.IsNotExist(err) {
				t.Errorf("%v left %s: %v", program, o.dir, err)
			}
		}
	})
}

// A log that is too small for the names: marks are kept without a name, and counted.
func TestNamesFindNoRoom(t *testing.T) {
	library := mpitest.Library(t)
	app := annotated(t, mpitest.OpenMPI, "annotate")
	o := job{mpi: mpitest.OpenMPI, preload: library, program: []string{app, "many", "20000"}}.run(t)
	succeed(t, o)
	for rank, p := range expectExact(t, o) {
		nameless := 0
		for _, rec := range p.marks[0] {
			if rec.Name == 0 {
				nameless++
			} else if p.names[rec.Name] == "" {
				t.Fatalf("rank %d: name %d is not defined", rank, rec.Name)
			}
		}
		lost := int(p.Losses().NamesLost)
		if lost == 0 || lost != nameless || len(p.marks[0]) != 20000 || len(p.names)+lost != 20000 {
			t.Errorf("rank %d: %d marks, %d without name, %d names, %d lost", rank, len(p.marks[0]), nameless, len(p.names), lost)
		}
	}
}

// TestHeader compiles moriens.h as strictly as compilers can, in every way in which programs are linked, and runs the
// programs with and without something that takes their marks.
func TestHeader(t *testing.T) {
	testenv.Need(t, "gcc", "g++")
	in := compiling{t, t.TempDir()}
	taker := filepath.Join(in.dir, "taker.so")
	in.build("gcc", "-shared", "-fPIC", "-o", taker, in.write("taker.c", `
#include <stdio.h>
void moriens_annotate_1(unsigned what, unsigned *site, const char *name, size_t bytes, long value)
{
	(void)site;
	printf("%x:%.*s:%ld ", what, (int)bytes, name, value);
}`))
	c := in.write("program.c", `#include "moriens.h"
int other(void);
int main(void) { MORIENS_BEGIN("a"); moriens_begin("b"); MORIENS_EVENT("x", 3); moriens_event("y", -4); moriens_end("b"); MORIENS_END("a"); return other(); }
`)
	second := in.write("other.c", "#include \"moriens.h\"\nint other(void);\nint other(void) { MORIENS_EVENT(\"other\", 5); return 0; }\n")
	cxx := in.write("program.cc", `#include "moriens.h"
int other();
template <class T> void f(T) { MORIENS_PHASE("one"); MORIENS_PHASE("two"); moriens::phase p("three"); }
int main() { f(1); f(2L); MORIENS_EVENT("x", 3); return other(); }
`)
	secondCxx := in.write("other.cc", "#include \"moriens.h\"\nint other();\nint other() { MORIENS_EVENT(\"other\", 5); return 0; }\n")
	const saidByC = "ff01:a:0 ff01:b:0 ff03:x:3 ff03:y:-4 ff02:b:0 ff02:a:0 ff03:other:5 "
	once := "ff01:one:0 ff01:two:0 ff01:three:0 ff02::0 ff02::0 ff02::0 "
	saidByCxx := once + once + "ff03:x:3 ff03:other:5 "
	program := filepath.Join(in.dir, "program")
	strict := []string{"-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I" + include(t), "-o", program}
	check := func(compiler []string, sources []string, want string, dynamic bool) {
		t.Helper()
		in.build(slices.Concat(compiler, strict, sources)...)
		for _, preload := range []string{"", taker} {
			expected := want
			if preload == "" || !dynamic {
				expected = ""
			}
			cmd := exec.Command(program)
			cmd.Env = []string{"LD_PRELOAD=" + preload}
			if got, err := cmd.Output(); err != nil || !bytes.Equal(got, []byte(expected)) {
				t.Errorf("%v, preloaded %q: %v\n%s", compiler, preload, err, got)
			}
		}
	}
	links := [][]string{{"-fPIE", "-pie"}, {"-fno-pie", "-no-pie"}, {"-fPIC", "-fno-plt"}, {"-masm=intel"}, {"-flto"}, {"-mcmodel=large", "-no-pie"}, {"-static"}, {"-fPIE", "-static-pie"}}
	for _, o := range []string{"-O0", "-O3"} {
		for _, link := range links {
			dynamic := !slices.Contains(link, "-static") && !slices.Contains(link, "-static-pie")
			check(append([]string{"gcc", "-std=c11", o}, link...), []string{c, second}, saidByC, dynamic)
			check(append([]string{"g++", "-std=c++17", o}, link...), []string{cxx, secondCxx}, saidByCxx, dynamic)
		}
		for _, std := range []string{"c89", "gnu89", "c99", "c17", "c2x"} {
			check([]string{"gcc", "-std=" + std, o}, []string{c, second}, saidByC, true)
		}
		for _, std := range []string{"c++98", "c++11", "c++14", "c++20", "c++23"} {
			check([]string{"g++", "-std=" + std, o}, []string{cxx, secondCxx}, saidByCxx, true)
		}
		check([]string{"gcc", o, "-DMORIENS_DISABLE"}, []string{c, second}, "", true)
	}
	// In a shared library, which is where most of a large program is.
	library := filepath.Join(in.dir, "libother.so")
	in.build("gcc", "-O2", "-shared", "-fPIC", "-I"+include(t), "-o", library, second)
	check([]string{"gcc", "-O2", "-no-pie", "-fno-pie"}, []string{c, library, "-Wl,-rpath," + in.dir}, saidByC, true)
}
