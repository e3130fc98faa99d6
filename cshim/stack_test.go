package cshim_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// A tool is another library that wraps MPI: test/tool.c.
type tool struct {
	name     string
	forward  bool     // it goes on to the next MPI_X, not to PMPI_X
	alias    bool     // it has the names PMPI_X too, for the same functions, as Darshan
	only     []string // of C; nil: it wraps all functions that we do
	fortran  bool     // it wraps the Fortran symbols of the same functions, and goes on in Fortran
	fortranC bool     // it wraps a few Fortran symbols, and goes on to the C function MPI_X
}

// wordy lists parameters for the widest call: a wrapper passes on what it was given, and what lies behind it.
func wordy(format string) string {
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(format, i))
	}
	return strings.Join(list, ", ")
}

// build compiles the tool: with that of an MPI where it goes on to C from Fortran.
func (w tool) build(t *testing.T, compiler string) string {
	t.Helper()
	var list strings.Builder
	wraps := func(name string) bool {
		for _, only := range w.only {
			if only == name {
				return true
			}
		}
		return w.only == nil
	}
	for _, id := range mpicall.All() {
		name := id.String()
		if !wraps(name) {
			continue
		}
		fmt.Fprintf(&list, "WRAP(int, %s, P%s, \"%s\")\n", name, name, name)
		lower := strings.ToLower(name)
		if !w.fortran {
			continue
		}
		for _, symbol := range []string{lower + "_", lower + "_cptr_", lower + "_f08_", lower + "_f08ts_", strings.TrimSuffix(lower, "_c") + "_f08ts_large_"} {
			if strings.HasSuffix(lower, "_c") == strings.HasSuffix(symbol, "large_") {
				fmt.Fprintf(&list, "WRAP(void, %s, p%s, \"f:%s\")\n", symbol, symbol, name)
			}
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "list.h"), []byte(list.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "lib"+w.name+".so")
	args := []string{"-O1", "-w", "-shared", "-fPIC", "-I", dir, "-DNAME=\"" + w.name + "\"", "-DPARAMETERS=" + wordy("word a%d"), "-DARGUMENTS=" + wordy("a%d"),
		"-DTYPES=" + strings.TrimSuffix(strings.Repeat("word,", 20), ","), "-o", out, "test/tool.c"}
	if w.forward {
		args = append(args, "-DFORWARD")
	}
	if w.alias {
		args = append(args, "-DALIAS")
	}
	if w.fortranC {
		args = append(args, "test/toolfortran.c")
	}
	if text, err := exec.Command(compiler, append(args, "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// counts reads what a tool has counted: by rank, by function; in Fortran those that are named f:.
func (w tool) counts(t *testing.T, dir string) map[int]map[string]int {
	t.Helper()
	counts := map[int]map[string]int{}
	files, err := filepath.Glob(filepath.Join(dir, w.name+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var rank, n int
			var name string
			if _, err := fmt.Sscan(lines.Text(), &rank, &name, &n); err != nil {
				t.Fatalf("%s: %q: %v", path, lines.Text(), err)
			}
			if counts[rank] == nil {
				counts[rank] = map[string]int{}
			}
			counts[rank][name] += n
		}
	}
	return counts
}

// inFortran picks the counts of Fortran, those of C.
func inFortran(counts map[int]map[string]int, fortran bool) map[int]map[string]int {
	some := map[int]map[string]int{}
	for rank, all := range counts {
		for name, n := range all {
			if bare, is := strings.CutPrefix(name, "f:"); is == fortran {
				if some[rank] == nil {
					some[rank] = map[string]int{}
				}
				some[rank][bare] = n
			}
		}
	}
	return some
}

// without leaves functions out.
func without(counts map[int]map[string]int, names ...string) map[int]map[string]int {
	less := map[int]map[string]int{}
	for rank, all := range counts {
		less[rank] = maps.Clone(all)
		for _, name := range names {
			delete(less[rank], name)
		}
	}
	return less
}

// only leaves all others out.
func only(counts map[int]map[string]int, names ...string) map[int]map[string]int {
	some := map[int]map[string]int{}
	for rank, all := range counts {
		some[rank] = maps.Clone(all)
		maps.DeleteFunc(some[rank], func(name string, _ int) bool { return !slices.Contains(names, name) })
	}
	return some
}

func expectCounts(t *testing.T, who string, want, got map[int]map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (planted, counted):\n%s", who, diff)
	}
}

// expectNote wants each rank to have said so much of a tool.
func expectNote(t *testing.T, ranks map[int]*process, path string, words ...string) {
	t.Helper()
	for rank, p := range ranks {
		found := false
		for _, note := range p.notes {
			found = found || strings.HasPrefix(note, path+" ") && strings.Contains(note, strings.Join(words, ""))
		}
		if !found {
			t.Errorf("rank %d says nothing of %s: %q", rank, path, p.notes)
		}
	}
	if len(ranks) == 0 {
		t.Errorf("no rank")
	}
}

// TestStack has another tool behind the library, before it, and on both sides.
func TestStack(t *testing.T) {
	testenv.Need(t, "gcc")
	var (
		library = mpitest.Library(t)
		plain   = tool{name: "plain"}
		forward = tool{name: "forward", forward: true}
		ends    = tool{name: "ends", only: []string{"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Barrier"}}
		names   = []string{"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Barrier", "MPI_Send", "MPI_Wait"}
		alias   = tool{name: "alias", alias: true, only: names}
		p, f, e = plain.build(t, "gcc"), forward.build(t, "gcc"), ends.build(t, "gcc")
		a       = alias.build(t, "gcc")
	)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		var (
			program = []string{mpi.App(t, "allcalls"), "2"}
			run     = func(t *testing.T, preload []string, env ...string) outcome {
				t.Helper()
				dir := t.TempDir()
				return job{mpi: mpi, preload: strings.Join(preload, ":"), program: program, env: append(env, "TOOL_OUT="+dir), out: dir}.run(t)
			}
		)
		t.Run("behind", func(t *testing.T) {
			o := run(t, []string{library, p})
			succeed(t, o)
			ranks := expectExact(t, o)
			expectEnded(t, ranks)
			expectCounts(t, "behind", o.counts, plain.counts(t, o.out))
			expectNote(t, ranks, p, "comes after libmoriens.so: ")
		})
		t.Run("passed by", func(t *testing.T) {
			o := run(t, []string{library, p}, "MORIENS_STACK=0")
			succeed(t, o)
			ranks := expectExact(t, o)
			expectEnded(t, ranks)
			expectCounts(t, "behind", map[int]map[string]int{}, plain.counts(t, o.out))
			expectNote(t, ranks, p, "comes after libmoriens.so and is bypassed")
		})
		t.Run("both sides", func(t *testing.T) {
			for _, c := range conformance(t, mpi) {
				if c.name == "meaning" {
					continue // makes calls that are not to be recorded
				}
				dir := t.TempDir()
				o := job{mpi: mpi, preload: f + ":" + library + ":" + p, program: c.build(t, mpi), env: []string{"TOOL_OUT=" + dir}, out: dir}.run(t)
				succeed(t, o)
				ranks := expectExact(t, o)
				expectEnded(t, ranks)
				maps.DeleteFunc(o.counts, func(rank int, _ map[string]int) bool { return rank > 1 }) // spawned
				expectCounts(t, c.name+", before", o.counts, forward.counts(t, o.out))
				expectCounts(t, c.name+", behind", o.counts, plain.counts(t, o.out))
				expectNote(t, ranks, f, "comes before libmoriens.so and handles ")
				expectNote(t, ranks, p, "comes after libmoriens.so: ")
				for _, p := range ranks {
					if len(p.notes) != 2 || strings.Contains(strings.Join(p.notes, ""), "without passing it on") {
						t.Errorf("%s: %q", c.name, p.notes)
					}
				}
			}
		})
		t.Run("two behind", func(t *testing.T) {
			o := run(t, []string{library, f, p})
			succeed(t, o)
			expectEnded(t, expectExact(t, o))
			expectCounts(t, "first", o.counts, forward.counts(t, o.out))
			expectCounts(t, "second", o.counts, plain.counts(t, o.out))
		})
		t.Run("behind, with PMPI names", func(t *testing.T) {
			o := run(t, []string{library, p, a})
			succeed(t, o)
			ranks := expectExact(t, o)
			expectEnded(t, ranks)
			expectCounts(t, "first", o.counts, plain.counts(t, o.out))
			expectCounts(t, "second", only(o.counts, names...), alias.counts(t, o.out))
			o = run(t, []string{library, a})
			succeed(t, o)
			ranks = expectExact(t, o)
			expectEnded(t, ranks)
			expectCounts(t, "alone", only(o.counts, names...), alias.counts(t, o.out))
			expectNote(t, ranks, a, "comes after libmoriens.so: 6 MPI functions go through it")
		})
		t.Run("before", func(t *testing.T) {
			o := run(t, []string{p, library})
			succeed(t, o)
			expectCounts(t, "before", o.counts, plain.counts(t, o.out))
			ranks, faults := read(t, o.dir)
			seen := map[int]bool{}
			for _, fault := range faults {
				seen[fault.Rank] = true
				if fault.Before != p || fault.Errno != 0 || fault.Size != 2 || fault.PID == 0 {
					t.Errorf("%+v", fault)
				}
			}
			if len(ranks) != 0 || len(faults) != 2 || !seen[0] || !seen[1] {
				t.Errorf("%d ranks, faults %+v", len(ranks), faults)
			}
		})
		t.Run("before, without a run", func(t *testing.T) {
			o := run(t, []string{p, library}, "MORIENS_RUN=")
			if o.err != nil || strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, p) || !strings.Contains(o.stderr, "first in LD_PRELOAD") {
				t.Errorf("%v\n%s", o.err, o.stderr)
			}
		})
		t.Run("before at both ends", func(t *testing.T) {
			o := run(t, []string{e, library})
			succeed(t, o)
			names := []string{"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Barrier"}
			ranks, faults := read(t, o.dir)
			got := map[int]map[string]int{}
			for rank, p := range ranks {
				got[rank] = p.calls()
				if p.State() != ring.Finalized || !p.Over() || p.closed != 1 {
					t.Errorf("rank %d: %v, over: %v, %d rings closed", rank, p.State(), p.Over(), p.closed)
				}
			}
			if len(faults) != 0 {
				t.Errorf("%v", faults)
			}
			expectCounts(t, "recorded", without(o.counts, names...), got)
			expectNote(t, ranks, e, "comes before libmoriens.so and handles 4 of the MPI functions itself, MPI_Init without passing it on")
		})
		t.Run("two copies", func(t *testing.T) {
			text, err := os.ReadFile(library)
			if err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(t.TempDir(), "libmoriens.so")
			if err := os.WriteFile(other, text, 0o755); err != nil {
				t.Fatal(err)
			}
			o := run(t, []string{library, other})
			succeed(t, o)
			ranks := expectExact(t, o)
			expectEnded(t, ranks)
			for _, p := range ranks {
				if len(p.notes) != 0 {
					t.Errorf("%q", p.notes)
				}
			}
		})
	})
}

// TestStackFortran has tools behind the library that wrap Fortran symbols: they go on in Fortran, or by the C function.
func TestStackFortran(t *testing.T) {
	testenv.Need(t, "gcc")
	var (
		library     = mpitest.Library(t)
		fortranTool = tool{name: "fortran", fortran: true}
		throughC    = tool{name: "throughc", fortranC: true}
		f           = fortranTool.build(t, "gcc")
	)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		c := throughC.build(t, mpi.CC)
		for _, binding := range mpitest.Bindings {
			t.Run(binding, func(t *testing.T) {
				for _, behind := range []string{f, c} {
					if (behind == c) != (binding == "USE_MPI") {
						continue // other symbols, or the same again
					}
					dir := t.TempDir()
					o := job{mpi: mpi, preload: library + ":" + behind, program: fortran(t, mpi, binding), env: []string{"TOOL_OUT=" + dir}, out: dir}.run(t)
					succeed(t, o)
					expectEnded(t, expectExact(t, o))
					maps.DeleteFunc(o.counts, func(rank int, _ map[string]int) bool { return rank > 1 }) // spawned
					if behind == f {
						expectCounts(t, "Fortran", o.counts, inFortran(fortranTool.counts(t, o.out), true))
						continue
					}
					counts := throughC.counts(t, o.out)
					in, of := inFortran(counts, true), inFortran(counts, false)
					for rank, all := range in {
						for name, n := range all {
							if n != o.counts[rank][name] || of[rank][name] != n {
								t.Errorf("rank %d: %d calls of %s; the tool saw %d in Fortran and %d in C", rank, o.counts[rank][name], name, n, of[rank][name])
							}
						}
						if len(all) < 4 {
							t.Errorf("rank %d: the tool saw %v", rank, all)
						}
					}
					if len(in) != 2 {
						t.Errorf("%d ranks", len(in))
					}
				}
			})
		}
	})
}

// TestStackStub: an executable with fixed addresses has stubs of the functions whose address it takes. It is no tool.
func TestStackStub(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program := filepath.Join(t.TempDir(), "stub")
		if text, err := exec.Command(mpi.CC, "-O0", "-fno-pie", "-no-pie", "-fno-pic", "-o", program, "test/stub.c").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		o := job{mpi: mpi, preload: library, program: []string{program}, out: t.TempDir()}
		got := o.runUncounted(t)
		succeed(t, got)
		ranks, faults := read(t, got.dir)
		for rank, p := range ranks {
			want := map[string]int{"MPI_Init": 1, "MPI_Barrier": 3, "MPI_Finalize": 1}
			if diff := cmp.Diff(want, p.calls()); diff != "" || len(p.notes) != 0 {
				t.Errorf("rank %d: %q\n%s", rank, p.notes, diff)
			}
		}
		if len(ranks) != 2 || len(faults) != 0 {
			t.Errorf("%d ranks, %v", len(ranks), faults)
		}
	})
}

// TestStackProgram: a program that brings wrappers of its own is named too.
func TestStackProgram(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program := filepath.Join(t.TempDir(), "own")
		if text, err := exec.Command(mpi.CC, "-O1", "-DOWN", "-o", program, "test/stub.c").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		o := job{mpi: mpi, preload: library, program: []string{program}, out: t.TempDir()}.runUncounted(t)
		succeed(t, o)
		ranks, _ := read(t, o.dir)
		for rank, p := range ranks {
			if diff := cmp.Diff(map[string]int{"MPI_Barrier": 3}, p.calls()); diff != "" || p.State() != ring.Finalized {
				t.Errorf("rank %d: %v\n%s", rank, p.State(), diff)
			}
		}
		expectNote(t, ranks, program, "comes before libmoriens.so and handles 2 of the MPI functions itself, MPI_Init without passing it on")
	})
}

// expectCallers wants the call paths of MPI_Probe to begin in these modules.
func expectCallers(t *testing.T, ranks map[int]*process, modules []string) {
	t.Helper()
	for rank, p := range ranks {
		probes := 0
		for _, rec := range p.threads[0] {
			if rec.Call != mpicall.Probe {
				continue
			}
			probes++
			for i, want := range modules {
				frames := p.paths[rec.Path].Frames
				if i >= len(frames) || filepath.Base(p.modules[frames[i].Module].Path) != want {
					t.Fatalf("rank %d: frame %d of %+v is not in %s", rank, i, frames, want)
				}
			}
		}
		if probes == 0 {
			t.Errorf("rank %d: no MPI_Probe", rank)
		}
	}
}

var entered = regexp.MustCompile(`(?m)^ENTER .* Region: "(MPI_\w+)"`)

// expectAlso is expectExact, but for calls of some functions that the tool makes itself, to write its trace at the end:
// before us, they are recorded.
func expectAlso(t *testing.T, o outcome, own ...string) map[int]*process {
	t.Helper()
	ranks, faults := read(t, o.dir)
	got := map[int]map[string]int{}
	for rank, p := range ranks {
		got[rank] = p.calls()
		for _, name := range own {
			if got[rank][name] < o.counts[rank][name] {
				t.Errorf("rank %d: %d calls of %s, of %d", rank, got[rank][name], name, o.counts[rank][name])
			}
		}
	}
	expectCounts(t, "recorded", without(o.counts, own...), without(got, own...))
	if len(faults) != 0 {
		t.Errorf("faults %v", faults)
	}
	return ranks
}

// TestStackEztrace has Debian's EZTrace behind the library and before it. It passes calls on under their MPI names, so
// that both see them all.
func TestStackEztrace(t *testing.T) {
	testenv.Need(t, "eztrace", "otf2-print")
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plugins, err := filepath.Glob("/usr/lib/*/libeztrace-" + mpi.Name + ".so")
		if err != nil || len(plugins) != 1 {
			testenv.Lacking(t, fmt.Sprintf("EZTrace for %s: %v", mpi.Name, plugins))
		}
		eztrace := filepath.Join(filepath.Dir(plugins[0]), "libeztrace-lib.so") + ":" + plugins[0]
		for side, preload := range map[string]string{"after": library + ":" + eztrace, "before": eztrace + ":" + library} {
			t.Run(side, func(t *testing.T) {
				dir := t.TempDir()
				o := job{
					mpi: mpi, preload: preload, program: []string{mpi.App(t, "allcalls")},
					env: []string{"EZTRACE_TRACE=" + mpi.Name, "EZTRACE_TRACE_DIR=" + dir, "MORIENS_CALLPATH=2"},
				}.run(t)
				if o.err != nil {
					t.Fatalf("%v\n%s", o.err, o.stderr)
				}
				var ranks map[int]*process
				if side == "after" {
					ranks = expectExact(t, o)
				} else {
					ranks = expectAlso(t, o, "MPI_Barrier", "MPI_Bcast", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Recv", "MPI_Reduce", "MPI_Send")
				}
				expectEnded(t, ranks)
				expectNote(t, ranks, plugins[0], "comes "+side+" libmoriens.so")
				expectCallers(t, ranks, map[bool][]string{true: {"allcalls"}, false: {filepath.Base(plugins[0]), "allcalls"}}[side == "after"])
				archives, err := filepath.Glob(filepath.Join(dir, "*", "*.otf2"))
				if err != nil || len(archives) != 1 {
					t.Fatalf("%v, %v\n%s", archives, err, o.stderr)
				}
				text, err := exec.Command("otf2-print", archives[0]).CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				planted, traced := map[string]int{}, map[string]int{}
				for _, m := range entered.FindAllStringSubmatch(string(text), -1) {
					traced[m[1]]++
				}
				for _, all := range o.counts {
					for name, n := range all {
						if traced[name] > 0 { // EZTrace has no event of some that it wraps
							planted[name] += n
						}
					}
				}
				if diff := cmp.Diff(planted, traced); diff != "" || len(traced) < 30 {
					t.Errorf("EZTrace has %d functions (planted, traced):\n%s", len(traced), diff)
				}
			})
		}
	})
}
