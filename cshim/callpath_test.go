package cshim_test

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
)

// TestCallPaths compares every call path of a program that calls MPI from many stacks with the one that it
// planted: recursion, tail calls, exceptions, threads, stacks with the same return address and stack pointer
// but another caller, frames with a hole in which an old return address lies.
func TestCallPaths(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, tt := range []struct {
			depth, flags string
		}{
			{"5", "-O2"},
			{"5", "-O3 -fomit-frame-pointer"},
			{"3", "-O2 -fno-omit-frame-pointer"},
			{"16", "-O0"},
			{"64", "-O3 -march=native -no-pie"},
			{"1", "-O2"},
		} {
			t.Run(tt.depth+" "+tt.flags, func(t *testing.T) {
				app := mpi.App(t, "callpath", strings.Fields(tt.flags)...)
				o := job{
					mpi: mpi, preload: library, ranks: 1, program: []string{app, "7", "4000", "2"},
					env: []string{"MORIENS_CALLPATH=" + tt.depth},
				}.run(t)
				succeed(t, o)
				ranks := expectExact(t, o)
				expectEnded(t, ranks)
				var depth int
				fmt.Sscan(tt.depth, &depth)
				for thread := range 3 {
					expectPaths(t, ranks[0], thread, app, depth, o.out)
				}
				if len(ranks[0].notes) != 0 {
					t.Errorf("notes %q", ranks[0].notes)
				}
			})
		}
	})
}

// expectPaths compares the paths of a thread's barriers with the file that the thread has written.
func expectPaths(t *testing.T, p *process, thread int, app string, depth int, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("paths.%d.%d", p.Rank, thread)))
	if err != nil {
		t.Fatal(err)
	}
	planted := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	function := functions(t, app)
	for _, rec := range p.threads[thread] {
		if rec.Call != mpicall.Barrier {
			continue
		}
		if len(planted) == 0 {
			t.Fatal("more calls than were planted")
		}
		want := strings.Fields(planted[0])
		want[0], _, _ = strings.Cut(want[0], ":")
		planted = planted[1:]
		var got []string
		frames := p.paths[rec.Path].Frames
		for i, f := range frames {
			module := p.modules[f.Module].Path
			if f == (ring.Frame{}) {
				got = append(got, trace.Folded)
			} else if i == 0 {
				got = append(got, function(f.Offset))
			} else {
				got = append(got, fmt.Sprintf("%s+%x", filepath.Base(module), f.Offset))
			}
			if filepath.Base(module) == "libmoriens.so" {
				t.Fatalf("a frame of the shim's own: %q", got)
			}
		}
		whole := len(want) < depth // then the stack of those that called main follows
		want = fold(want[:min(depth, len(want))])
		if !slices.Equal(got[:min(len(want), len(got))], want) || !whole && len(got) != len(want) || whole && len(got) <= len(want) {
			t.Fatalf("thread %d: recorded\n%s\nplanted\n%s", thread, got, want)
		}
	}
	if len(planted) != 0 {
		t.Errorf("%d calls were planted and not recorded", len(planted))
	}
}

// fold is what recursion is folded to: of an address that is there more than four times the first and the last one, and
// a mark between them.
func fold(chain []string) []string {
	for i := 0; i < len(chain); i++ {
		last, times := i, 0
		for k := i; k < len(chain); k++ {
			if chain[k] == chain[i] {
				last, times = k, times+1
			}
		}
		if times > 4 {
			chain = slices.Concat(chain[:i+1], []string{trace.Folded}, chain[last:])
		}
	}
	return chain
}

// functions names the function of a program that an address of its own lies in.
func functions(t *testing.T, app string) func(returnAddress uint64) string {
	t.Helper()
	f, err := elf.Open(app)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return func(address uint64) string {
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value < address && address <= s.Value+s.Size {
				name, _, _ := strings.Cut(s.Name, ".cold") // the part of it that gcc thinks is hardly used
				return name
			}
		}
		return "?"
	}
}

// TestUnloaded has libraries come to lie where others were: each keeps its own paths, and gets them back.
func TestUnloaded(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app, one := mpi.App(t, "reload"), mpi.App(t, "barrier.so")
		code, err := os.ReadFile(one)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "other.so")
		if err := os.WriteFile(other, code, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, depth := range []string{"1", "4"} {
			o := job{
				mpi: mpi, preload: library, ranks: 1, program: []string{app, one, other, one, one, other},
				env: []string{"MORIENS_CALLPATH=" + depth},
			}.run(t)
			succeed(t, o)
			if o.stdout != "4\n" {
				t.Fatalf("%q libraries came to lie where another was, not 4", o.stdout)
			}
			p := expectExact(t, o)[0]
			var modules []string
			paths := map[uint32]bool{}
			for _, rec := range p.threads[0] {
				if rec.Call == mpicall.Barrier {
					modules = append(modules, p.modules[p.paths[rec.Path].Frames[0].Module].Path)
					paths[rec.Path] = true
				}
			}
			if want := []string{one, other, one, one, other}; !slices.Equal(modules, want) || len(paths) != 2 {
				t.Errorf("depth %s: called from %q by %d paths", depth, modules, len(paths))
			}
		}
	})
}

// TestNoLibunwind: without it a path has one frame, and the user is informed.
func TestNoLibunwind(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		dir := t.TempDir()
		// A file of that name that is no library comes first.
		for _, name := range []string{"libunwind.so.8", "libunwind.so.1", "libunwind.so"} {
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 4096), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		o := job{
			mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "callpath"), "1", "100"},
			env: []string{"MORIENS_CALLPATH=5", "LD_LIBRARY_PATH=" + dir},
		}.run(t)
		ranks := expectExact(t, o)
		for _, path := range ranks[0].paths {
			if len(path.Frames) != 1 {
				t.Errorf("%d frames", len(path.Frames))
			}
		}
		if want := []string{"call paths have one frame only: libunwind.so.8 cannot be loaded"}; !slices.Equal(ranks[0].notes, want) {
			t.Errorf("notes %q", ranks[0].notes)
		}
	})
}
