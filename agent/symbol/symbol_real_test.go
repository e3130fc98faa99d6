//go:build !quick

package symbol

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/testenv"
)

// A program whose functions call target, from lines that say so, and one that a compiler inlines.
const sourceC = `__attribute__((noinline)) void target(void) { __asm__ volatile(""); }
static inline __attribute__((always_inline)) void inlined(void)
{
	target(); /* inlined */
	__asm__ volatile("");
}
__attribute__((noinline)) void outer(void)
{
	inlined();
	target(); /* outer */
	__asm__ volatile("");
}
__attribute__((noinline)) static void hidden(void)
{
	target(); /* hidden */
	__asm__ volatile("");
}
void entry(void);
void entry(void)
{
	outer();
	hidden();
	target(); /* entry */
	__asm__ volatile("");
}
int main(void) { entry(); return 0; }
`

const sourceCxx = `extern "C" __attribute__((noinline)) void target(void) { __asm__ volatile(""); }
namespace atoms {
template <typename T> struct List {
	__attribute__((noinline)) void sort(T, int)
	{
		target(); /* atoms::List<double>::sort */
		__asm__ volatile("");
	}
};
namespace {
__attribute__((noinline)) void local(const char *)
{
	target(); /* local */
	__asm__ volatile("");
}
}
__attribute__((noinline)) void run()
{
	List<double>().sort(1, 2);
	local("");
	target(); /* atoms::run */
	__asm__ volatile("");
}
}
int main() { atoms::run(); }
`

// build compiles a source and returns the path of the result.
func build(t testing.TB, compiler, source, name string, flags ...string) string {
	t.Helper()
	testenv.Need(t, compiler, "objdump", "objcopy", "strip")
	dir := t.TempDir()
	in := filepath.Join(dir, "source.c")
	if compiler == "g++" {
		in = filepath.Join(dir, "source.cc")
	}
	if err := os.WriteFile(in, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, name)
	command(t, compiler, append([]string{"-O2", "-Wl,--build-id", "-o", out, in}, flags...)...)
	return out
}

func command(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// callsOf disassembles a file that has its symbols and returns the return addresses of its calls of target, in order.
func callsOf(t testing.TB, path string) []uint64 {
	t.Helper()
	var calls []uint64
	called := false
	for line := range strings.Lines(command(t, "objdump", "-d", "--no-show-raw-insn", path)) {
		address, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(address, 16, 64)
		if err != nil {
			continue
		}
		if called {
			calls = append(calls, n)
		}
		called = strings.Contains(text, "call") && strings.Contains(text, "<target")
	}
	return calls
}

func idOf(t testing.TB, path string) []byte {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readBuildID(f)
}

// places resolves and gives each place by what it should be: the comments in the source name the functions.
func places(t testing.TB, path string, id []byte, calls []uint64) []Place {
	t.Helper()
	m := Open(path, id)
	defer m.Close()
	return m.Resolve(context.Background(), calls)
}

// planted lists the places of the calls in a source by function.
func planted(source, file string) map[string]Place {
	want := map[string]Place{}
	n := 0
	for line := range strings.Lines(source) {
		n++
		if _, comment, ok := strings.Cut(line, "target(); /* "); ok {
			function := strings.TrimSuffix(strings.TrimSpace(comment), " */")
			want[function] = Place{Function: function, File: file, Line: n}
		}
	}
	return want
}

func byFunction(places []Place) map[string]Place {
	m := map[string]Place{}
	for _, p := range places {
		m[p.Function] = Place{Function: p.Function, File: p.File, Line: p.Line}
	}
	return m
}

func TestDebugInformation(t *testing.T) {
	for _, tt := range []struct {
		name, compiler, source, out string
		flags                       []string
	}{
		{"PIE", "gcc", sourceC, "app", []string{"-g", "-pie", "-fPIE"}},
		{"fixed address", "gcc", sourceC, "app", []string{"-g", "-no-pie"}},
		{"shared", "gcc", sourceC, "lib.so", []string{"-g", "-shared", "-fPIC"}},
		{"DWARF 4", "gcc", sourceC, "app", []string{"-gdwarf-4"}},
		{"compressed", "gcc", sourceC, "app", []string{"-g", "-gz"}},
		{"C++", "g++", sourceCxx, "app", []string{"-g"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := build(t, tt.compiler, tt.source, tt.out, tt.flags...)
			source := filepath.Join(filepath.Dir(path), "source.c")
			if tt.compiler == "g++" {
				source += "c"
			}
			got := places(t, path, idOf(t, path), callsOf(t, path))
			if diff := cmp.Diff(planted(tt.source, source), byFunction(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// names are the functions of planted, with what inlines another in its place.
func names(places []Place) map[string]int {
	m := map[string]int{}
	for _, p := range places {
		if p.File != "" || p.Line != 0 {
			m["line "+strconv.Itoa(p.Line)]++
		}
		m[p.Function]++
	}
	return m
}

func TestSymbols(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		strip []string
		want  map[string]int
	}{
		{"without -g", nil, nil, map[string]int{"outer": 2, "hidden": 1, "entry": 1}},
		{"stripped", nil, []string{"strip"}, map[string]int{"": 4}},
		{"stripped library", []string{"-shared", "-fPIC"}, []string{"strip"}, map[string]int{"outer": 2, "": 1, "entry": 1}},
		{"stripped of debugging information", []string{"-g"}, []string{"strip", "-g"}, map[string]int{"outer": 2, "hidden": 1, "entry": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := build(t, "gcc", sourceC, "app", tt.flags...)
			calls := callsOf(t, path)
			if tt.strip != nil {
				command(t, tt.strip[0], append(tt.strip[1:], path)...)
			}
			if diff := cmp.Diff(tt.want, names(places(t, path, idOf(t, path), calls))); diff != "" {
				t.Error(diff)
			}
		})
	}
	path := build(t, "g++", sourceCxx, "app")
	want := map[string]int{"atoms::List<double>::sort": 1, "atoms::(anonymous namespace)::local": 1, "atoms::run": 1}
	if diff := cmp.Diff(want, names(places(t, path, idOf(t, path), callsOf(t, path)))); diff != "" {
		t.Errorf("C++ without -g: %s", diff)
	}
}

func TestSplit(t *testing.T) {
	debugRoot = t.TempDir()
	t.Cleanup(func() { debugRoot = "/usr/lib/debug" })
	for _, by := range []string{"build id", "link", "another link", "wrong checksum", "wrong build id"} {
		t.Run(by, func(t *testing.T) {
			path := build(t, "gcc", sourceC, "app", "-g")
			calls, id := callsOf(t, path), idOf(t, path)
			debug := path + ".debug"
			command(t, "objcopy", "--only-keep-debug", path, debug)
			source := filepath.Join(filepath.Dir(path), "source.c")
			want := planted(sourceC, source)
			unknown := map[string]Place{"": {}}
			idPath := func(id []byte) string {
				hex := fmt.Sprintf("%x", id)
				return filepath.Join(debugRoot, ".build-id", hex[:2], hex[2:]+".debug")
			}
			switch by {
			case "build id":
				move(t, debug, idPath(id))
			case "link":
				command(t, "objcopy", "--add-gnu-debuglink="+debug, path)
			case "another link":
				command(t, "objcopy", "--add-gnu-debuglink="+debug, path)
				move(t, debug, filepath.Join(filepath.Dir(path), ".debug", filepath.Base(debug)))
			case "wrong checksum":
				command(t, "objcopy", "--add-gnu-debuglink="+debug, path)
				appendTo(t, debug)
				want = unknown
			case "wrong build id":
				other := build(t, "gcc", sourceC+"\n", "app", "-g", "-DOTHER", "-Wl,--build-id=uuid")
				move(t, other, idPath(id))
				want = unknown
			}
			command(t, "strip", path)
			if diff := cmp.Diff(want, byFunction(places(t, path, id, calls))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(from)
}

func appendTo(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("more")
}

func TestUnknown(t *testing.T) {
	path := build(t, "gcc", sourceC, "app", "-g")
	calls, id := callsOf(t, path), idOf(t, path)
	nothing := make([]Place, len(calls))
	if got := places(t, path, []byte{1, 2, 3}, calls); !cmp.Equal(got, nothing) {
		t.Errorf("another build id: %v", got)
	}
	if got := places(t, path, nil, calls); !cmp.Equal(got, nothing) {
		t.Errorf("no build id: %v", got)
	}
	if got := places(t, filepath.Join(t.TempDir(), "gone"), id, calls); !cmp.Equal(got, nothing) {
		t.Errorf("no file: %v", got)
	}
	if got := places(t, t.TempDir(), id, calls); !cmp.Equal(got, nothing) {
		t.Errorf("a directory: %v", got)
	}
	if got := places(t, path, id, []uint64{0, 1, 1 << 63, ^uint64(0)}); !cmp.Equal(got, make([]Place, 4)) {
		t.Errorf("addresses of nothing: %v", got)
	}
	gone := Open(path, id)
	defer gone.Close()
	os.Remove(path)
	if got := gone.Resolve(context.Background(), calls); !cmp.Equal(byFunction(got), planted(sourceC, filepath.Join(filepath.Dir(path), "source.c"))) {
		t.Errorf("removed after it was opened: %v", got)
	}
}

func FuzzResolve(f *testing.F) {
	var bases [][]byte
	for _, flags := range [][]string{{"-g"}, {"-gdwarf-4", "-gz"}, {}} {
		path := build(f, "gcc", sourceC, "app", flags...)
		base, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		bases = append(bases, base)
		f.Add(uint8(len(bases)-1), []byte{}, uint32(len(base)), uint64(0x1140))
		f.Add(uint8(len(bases)-1), []byte{40, 0, 0, 9}, uint32(len(base)/2), uint64(0x1140))
	}
	f.Fuzz(func(t *testing.T, which uint8, patch []byte, length uint32, address uint64) {
		data := []byte(strings.Clone(string(bases[int(which)%len(bases)])))
		for ; len(patch) >= 4; patch = patch[4:] { // a 24-bit place and a byte
			at := int(patch[0]) | int(patch[1])<<8 | int(patch[2])<<16
			data[at%len(data)] = patch[3]
		}
		data = data[:min(int(length), len(data))]
		file, err := elf.NewFile(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		resolve(context.Background(), strings.NewReader(string(data)), "/nonexistent/app", readBuildID(file), []uint64{address, address + 64, 0x1140, 0x1180})
	})
}

// A range has its first address, at which an inlined function may call at once, and not its end.
func TestContains(t *testing.T) {
	ranges := [][2]uint64{{10, 20}, {30, 31}}
	for pc, want := range map[uint64]bool{9: false, 10: true, 19: true, 20: false, 29: false, 30: true, 31: false} {
		if contains(ranges, pc) != want {
			t.Errorf("%d: %v", pc, !want)
		}
	}
}
