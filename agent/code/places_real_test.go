//go:build !quick

package code

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/testenv"
)

// A placed function is one whose loops begin with, or lie in, functions that are inlined.
type placed struct {
	name, compiler, source string
	flags                  []string
	want                   []string // of each loop: the line of the source, and the functions inlined round it
}

var placedFunctions = []placed{
	{name: "body", compiler: "gcc", source: `extern int a(int), b(int);
__attribute__((always_inline)) static inline int step(int i) { return a(i) + b(i); }
int f(int n) {
	int s = 0;
	for (int i = 0; i < n; i++)
		s += step(i);
	return s;
}
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`, want: []string{"5"}},
	{name: "both", compiler: "gcc", source: `extern int a(int), b(int);
__attribute__((always_inline)) static inline int step(int n) {
	int s = 0;
	for (int k = 0; k < n; k++)
		s += a(k);
	return s;
}
int f(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += step(i);
		s ^= b(s);
	}
	while (b(s))
		s += step(n);
	return s;
}
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`, want: []string{"4 step@11", "4 step@15", "10", "14"}},
	{name: "inwhole", compiler: "gcc", source: `extern int a(int), b(int);
__attribute__((always_inline)) static inline int leaf(int i) { return a(i) * 3; }
__attribute__((always_inline)) static inline int sweep(int n) {
	int s = 0;
	for (int k = 0; k < n; k++) {
		if (s & 64)
			continue;
		s += leaf(k);
	}
	return s;
}
int f(int n) {
	int s = b(n);
	return s + sweep(n);
}
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`, want: []string{"5 sweep@14"}},
	{name: "foot", compiler: "gcc", source: `extern int a(int), b(int);
__attribute__((always_inline)) static inline int more(int i) { return b(i) & 1; }
int f(int n) {
	int s = n;
	do {
		s += a(s);
	} while (more(s));
	return s;
}
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`, want: []string{"6"}},
	{name: "templates", compiler: "g++", source: `extern "C" { int a(int); int b(int); }
template <int N> struct Step { __attribute__((always_inline)) static inline int go(int t) { return a(t) + Step<N - 1>::go(t); } };
template <> struct Step<0> { __attribute__((always_inline)) static inline int go(int t) { return b(t); } };
template <class F> __attribute__((always_inline)) inline void repeat(int n, F step) {
	for (int i = 0; i < n; i++)
		step(i);
}
extern "C" int f(int n) {
	int s = 0;
	for (int t = 0; t < n; t++)
		s += Step<3>::go(t);
	repeat(n, [&](int i) __attribute__((always_inline)) {
		repeat(i, [&](int k) __attribute__((always_inline)) { s += a(k); });
	});
	return s;
}
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`, want: []string{"10", "5 repeat@12", "5 repeat@12 operator()@6 repeat@13"}},
	{name: "fortran", compiler: "gfortran", source: `module m
  implicit none
  integer :: total = 0
contains
  subroutine step(k)
    integer :: k
    call a(k)
    if (k == 2) then
      call b(k)
    end if
  end subroutine
  subroutine f(n) bind(c)
    integer, value :: n
    integer :: i
    do i = 1, n
      call step(i)
      call step(i + n)
    end do
    total = total + n
  end subroutine
end module
program p
  use m
  implicit none
  call f(command_argument_count())
end program
`, flags: []string{"-fno-underscoring"}, want: []string{"15"}},
}

// A loop is in the function that has it, at the line of its head, also where its body begins with an inlined function;
// without debugging information nothing is said.
func TestLoopPlaces(t *testing.T) {
	for _, x := range placedFunctions {
		for _, level := range []string{"-O1", "-O2", "-O3", ""} {
			if x.compiler == "gfortran" && level == "-O1" {
				continue // which does not inline the subroutine
			}
			t.Run(x.name+level, func(t *testing.T) {
				testenv.Need(t, x.compiler, "objdump")
				dir := t.TempDir()
				in := filepath.Join(dir, "source"+map[string]string{"gcc": ".c", "g++": ".cc", "gfortran": ".f90"}[x.compiler])
				write(t, in, x.source)
				path, other := filepath.Join(dir, "app"), filepath.Join(dir, "other.c")
				write(t, other, bodies("ab"))
				command(t, "gcc", "-O2", "-c", "-o", other+".o", other)
				flags := []string{"-Wl,--build-id", "-o", path, in, other + ".o", level, "-g"}
				if level == "" {
					flags = append(slices.Clone(flags[:5]), "-O2")
				}
				if x.compiler == "gfortran" {
					flags = append(flags, "-J"+dir) // where its module goes
				}
				command(t, x.compiler, append(flags, x.flags...)...)
				calls := callsIn(t, path, "f")
				list := readAll(t, path, calls)
				if len(list) != 1 || list[0].Refused != "" {
					t.Fatalf("%+v", list)
				}
				var got []string
				for _, l := range list[0].Code.Loops {
					text := fmt.Sprint(l.Line)
					for _, s := range l.Scopes {
						name, _, _ := strings.Cut(s.Function, "<")
						text += fmt.Sprintf(" %s@%d", name, s.CallLine)
					}
					got = append(got, text)
				}
				slices.Sort(got)
				want := slices.Sorted(slices.Values(x.want))
				if level == "" {
					want = []string{"0"}
				}
				if d := cmp.Diff(want, slices.Compact(got)); d != "" {
					t.Errorf("%s\ncalls %v", d, slices.Sorted(maps.Values(calls)))
				}
			})
		}
	}
}

// A function that calls what returns more than once is refused, with the reason, whether it is linked or loaded.
func TestReturnsTwice(t *testing.T) {
	testenv.Need(t, "gcc", "objdump")
	for _, flags := range [][]string{{"-O2"}, {"-O0", "-fno-plt"}, {"-O2", "-static"}} {
		dir := t.TempDir()
		in, path := filepath.Join(dir, "source.c"), filepath.Join(dir, "app")
		write(t, in, `#include <setjmp.h>
extern int a(int), b(int);
static jmp_buf at;
__attribute__((noinline)) int f(int n) {
	volatile int s = 0;
	for (volatile int i = 0; i < n; i++) {
		if (setjmp(at) == 0)
			s += a(i);
		else
			s += b(i);
	}
	return s;
}
__attribute__((noinline)) void g(int x) { if (x % 3 == 1) longjmp(at, 1); }
__attribute__((noinline)) int a(int x) { g(x); __asm__ volatile("" : "+r"(x)); return x; }
__attribute__((noinline)) __attribute__((noinline)) int b(int x) { __asm__ volatile("" : "+r"(x)); return x; }
int main(int argc, char **argv) { return f(argc) + (argv == 0); }
`)
		if out, err := exec.Command("gcc", append([]string{"-Wl,--build-id", "-o", path, in}, flags...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, f := range readAll(t, path, callsIn(t, path, "f")) {
			check(t, &f)
			if !strings.HasPrefix(f.Refused, "it calls ") || !strings.HasSuffix(f.Refused, "setjmp, which returns more than once") {
				t.Errorf("%q: %+v", flags, f)
			}
		}
		for _, f := range readAll(t, path, callsIn(t, path, "a")) {
			if f.Refused != "" {
				t.Errorf("%q, without setjmp: %s", flags, f.Refused)
			}
		}
	}
}
