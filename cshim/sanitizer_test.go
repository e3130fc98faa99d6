package cshim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
)

// TestAddressAndUndefined runs the shim's sanitized build in the whole conformance set, whose programs are built as
// ever. Leaks are the MPI library's own affair: it keeps much until the process ends.
func TestAddressAndUndefined(t *testing.T) {
	preload := mpitest.SanitizedLibrary(t)
	env := []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS=print_stacktrace=1", "MORIENS_CALLPATH=6", "MORIENS_REGIONS=tau,kokkos,nvtx,caliper",
		"MORIENS_EVENTS=sw:cpu-time,sde:::a::b,sw:page-faults,PAPI_TOT_INS,sw:context-switches"}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		large := mpi.Name == mpitest.MPICH.Name
		programs := [][]string{
			{mpi.App(t, "threads"), "8", "50"},
			{mpi.App(t, "polls"), "each", "500"},
			{mpi.App(t, "callpath"), "3", "2000"},
			{annotated(t, mpi, "annotate"), "names"},
			{annotated(t, mpi, "annotate"), "threads", "200", "4"},
			{annotated(t, mpi, "annotate"), "early"},
			{annotated(t, mpi, "annotate"), "inside"},
			{annotated(t, mpi, "annotate"), "pause", "10"},
			{annotated(t, mpi, "annotate"), "many", "20000"},
			{annotated(t, mpi, "annotatecxx"), "10"},
			{mpi.Fortran(t, "annotatef", "F08", filepath.Join(include(t), "moriens.F90"))},
			{tau(t, mpi, "taumarks"), "solver", "10"},
			{tau(t, mpi, "taumarks"), "forms"},
			{tauFortran(t, mpi, "F08")},
			{mpi.App(t, "regions"), "caliper"},
			{mpi.App(t, "regions"), "nvtx"},
			{mpi.App(t, "regions"), "kokkos", preload[strings.LastIndex(preload, ":")+1:]},
			{mpi.App(t, "regions"), "threads", "200"},
			{mpi.App(t, "regions"), "deep", "2000"},
			{mpi.App(t, "cxx")},
			{localHost(t), mpi.App(t, "plugin.so")},
		}
		for _, binding := range mpitest.Bindings {
			programs = append(programs, fortran(t, mpi, binding))
			if large {
				programs = append(programs, []string{mpi.Fortran(t, "fortransessions", binding)})
			}
		}
		for _, p := range conformance(t, mpi) {
			programs = append(programs, p.build(t, mpi))
		}
		for _, program := range programs {
			t.Run(filepath.Base(program[0]), func(t *testing.T) {
				o := job{mpi: mpi, preload: preload, env: env, program: program}.run(t)
				succeed(t, o)
				expectEnded(t, expectExact(t, o))
			})
		}
		t.Run("throw", func(t *testing.T) {
			o := job{mpi: mpi, preload: preload, env: env, program: []string{mpi.App(t, "cxx"), "throw"}}.run(t)
			succeed(t, o)
		})
		t.Run("regions", func(t *testing.T) {
			o := job{mpi: mpi, preload: preload, env: append([]string{"MORIENS_PCONTROL=phases"}, env...), program: []string{mpi.App(t, "regions"), "pcontrol"}}.run(t)
			succeed(t, o)
			expectEnded(t, expectExact(t, o))
		})
		t.Run("fork", func(t *testing.T) {
			o := job{mpi: mpi, preload: preload, env: env, program: []string{mpi.App(t, "die"), "fork", "100"}}.run(t)
			if o.err != nil || strings.Contains(o.stderr, "Sanitizer") || strings.Contains(o.stderr, "runtime error") {
				t.Errorf("%v\n%s", o.err, o.stderr)
			}
			expectEnded(t, expectExact(t, o))
		})
	})
}

// TestThreadSanitizer has threads race for the set-up, for new call paths and for rings, with an MPI of
// our own: ThreadSanitizer must have compiled all of a program to know what its threads have agreed on. Under real MPI
// it does not work: neither library was compiled for it, and it takes their progress threads and shared memory for
// races. Nor does it with libunwind, whose destructors of threads lock a mutex when ThreadSanitizer has left the
// thread: call paths have one frame.
func TestThreadSanitizer(t *testing.T) {
	const threads, generations = 8, 3
	build, shm := mpitest.RacePrograms(t), t.TempDir()
	race := func(run, program string, args ...string) *process {
		cmd := exec.Command(filepath.Join(build, program), args...)
		cmd.Env = append(os.Environ(), "MORIENS_RUN="+run, "MORIENS_SHM="+shm, "MORIENS_RING=1048576", "MORIENS_CALLPATH=1", "MORIENS_EVENTS=sw:page-faults,sw:cpu-time", "TSAN_OPTIONS=halt_on_error=1")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		ranks, _ := read(t, ring.DirectoryPath(shm, os.Getuid(), run))
		for _, p := range ranks {
			return p
		}
		t.Fatalf("%s has recorded nothing", program)
		return nil
	}
	p := race("threads", "race", "8", "3")
	want := map[string]int{"MPI_Barrier": threads * generations * 50 * 24, "MPI_Send": threads * generations * 50 * 8,
		"MPI_Iprobe": threads * generations * 10, "MPI_Finalize": 1}
	for _, marks := range p.marks {
		if n := len(marks); n != 0 && n != 50*4 {
			t.Errorf("%d marks of a thread", n)
		}
	}
	if len(p.names) != 51 {
		t.Errorf("%d names", len(p.names))
	}
	if diff := cmp.Diff(want, p.calls()); diff != "" || len(p.threads) != threads*generations+1 || len(p.paths) != 34 || p.Library != "fake MPI 1" {
		t.Errorf("%d rings, %d paths, library %q\n%s", len(p.threads), len(p.paths), p.Library, diff)
	}
	// Held up where it makes the first session known, a thread lets the others through in the middle of their set-up.
	for run, args := range map[string][]string{"sessions": {"8", "200", "0"}, "held": {"8", "20", "50000"}} {
		rounds, err := strconv.Atoi(args[1])
		if err != nil {
			t.Fatal(err)
		}
		p := race(run, "sessionrace", args...)
		want := map[string]int{"MPI_Session_init": threads * rounds, "MPI_Barrier": threads * rounds, "MPI_Session_finalize": threads * rounds}
		if diff := cmp.Diff(want, p.calls()); diff != "" || len(p.threads) != threads || p.State() != ring.Finalized {
			t.Errorf("%s: %d rings, %v\n%s", run, len(p.threads), p.State(), diff)
		}
	}
	p = race("communicators", "commrace")
	want = map[string]int{"MPI_Init": 1, "MPI_Barrier": 3, "MPI_Comm_dup": 3, "MPI_Comm_free": 3, "MPI_Finalize": 1}
	if diff := cmp.Diff(want, p.calls()); diff != "" {
		t.Error(diff)
	}
	ids := make(map[uint64]bool)
	for _, c := range p.comms {
		if ids[c.ID] = true; c.Guessed {
			t.Errorf("the making of communicator %+v was forgotten", c)
		}
	}
	if len(p.comms) != 4 || len(ids) != 4 {
		t.Errorf("%d communicators with %d ids", len(p.comms), len(ids))
	}
}
