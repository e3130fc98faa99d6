package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/prv"
)

// Every call of a program that calls MPI from many places is in the trace with the function and the line that it was
// made from, and with as many frames as were asked for.
func TestCallPaths(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, flags := range []string{"-g -O2", "-g -O0 -no-pie", "-g0 -O2"} {
			t.Run(flags, func(t *testing.T) {
				const depth = 3
				app := mpi.App(t, "callpath", strings.Fields(flags)...)
				planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
				args := append([]string{binary(t), "run", "--keep-bursts", "all", "--callpath", fmt.Sprint(depth), "--out", out, "--"}, mpi.Args(1, "", app, "5", "2000", "1")...)
				o := execute(t, []string{"MINIAPP_OUT=" + planted}, args...)
				if o.status != 0 || o.stderr != "" {
					t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
				}
				r, err := prv.ReadFile(filepath.Join(out, "trace.prv"), prv.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for thread := range 2 {
					want := readPlaces(t, filepath.Join(planted, fmt.Sprintf("paths.0.%d", thread)), !strings.HasPrefix(flags, "-g0"))
					var got []string
					for _, path := range r.Run.Threads[thread].Calls.Path {
						p := r.Run.CallPaths[path]
						if p.Function != "MPI_Barrier" {
							continue
						}
						if len(p.Frames) != depth {
							t.Fatalf("%+v", p)
						}
						got = append(got, place(p.Frames[0]))
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("thread %d: planted, recorded:\n%s", thread, d)
					}
				}
			})
		}
	})
}

func place(f trace.Frame) string { return fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line) }

// readPlaces reads the places of the calls that a thread of the mini-app callpath has planted.
func readPlaces(t *testing.T, path string, lines bool) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for line := range strings.Lines(string(text)) {
		function, number, _ := strings.Cut(strings.Fields(line)[0], ":")
		if lines {
			places = append(places, function+" callpath.cc:"+number)
		} else {
			places = append(places, function+" :0")
		}
	}
	return places
}
