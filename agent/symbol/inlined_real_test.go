//go:build !quick

package symbol

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Functions that are put into each other, to three levels, once from a header; the second call of target is outer's
// own.
const (
	sourceInlined = `#include "deep.h"
__attribute__((noinline)) void target(void) { __asm__ volatile(""); }
static inline __attribute__((always_inline)) void middle(int n)
{
	deep(n);
	__asm__ volatile("");
}
__attribute__((noinline)) void outer(int n)
{
	for (int i = 0; i < n; i++) {
		int twice = 2 * i;
		middle(twice);
	}
	target();
	__asm__ volatile("");
}
int main(int argc, char **argv) { (void)argv; outer(argc); return 0; }
`
	headerInlined = `extern void target(void);
static inline __attribute__((always_inline)) void deep(int n)
{
	if (n >= 0)
		target();
	__asm__ volatile("");
}
`
	sourceInlinedCxx = `extern "C" __attribute__((noinline)) void target(void) { __asm__ volatile(""); }
namespace grid {
struct Halo {
	void pack(int);
	__attribute__((always_inline)) void exchange(int n)
	{
		pack(n);
		__asm__ volatile("");
	}
};
inline __attribute__((always_inline)) void Halo::pack(int)
{
	target();
	__asm__ volatile("");
}
__attribute__((noinline)) void solve(int n)
{
	Halo().exchange(n);
	__asm__ volatile("");
}
}
int main(int argc, char **) { grid::solve(argc); }
`
)

// The whole chain of inlined functions round a call is reported, as in the source and as by addr2line, with where each
// function is defined.
func TestInlinedChain(t *testing.T) {
	for _, tt := range []struct {
		name, compiler string
		flags          []string
		source         string
		want           [][]Scope // of each call of target: outermost first, the innermost last; files by their base name
	}{
		{"C", "gcc", []string{"-g"}, sourceInlined, [][]Scope{
			{{"outer", "source.c", 12, "source.c", 8}, {"middle", "source.c", 5, "source.c", 3}, {"deep", "deep.h", 5, "deep.h", 2}},
			{{"outer", "source.c", 14, "source.c", 8}},
		}},
		{"DWARF 4", "gcc", []string{"-gdwarf-4"}, sourceInlined, [][]Scope{
			{{"outer", "source.c", 12, "source.c", 8}, {"middle", "source.c", 5, "source.c", 3}, {"deep", "deep.h", 5, "deep.h", 2}},
			{{"outer", "source.c", 14, "source.c", 8}},
		}},
		{"link time", "gcc", []string{"-g", "-flto"}, sourceInlined, [][]Scope{
			{{"outer", "source.c", 12, "", 0}, {"middle", "source.c", 5, "", 0}, {"deep", "deep.h", 5, "", 0}},
			{{"outer", "source.c", 14, "", 0}},
		}},
		{"C++", "g++", []string{"-g"}, sourceInlinedCxx, [][]Scope{
			{{"grid::solve", "source.cc", 18, "source.cc", 16}, {"grid::Halo::exchange", "source.cc", 7, "source.cc", 5}, {"grid::Halo::pack", "source.cc", 13, "source.cc", 11}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := t.TempDir()
			writeFile(t, filepath.Join(header, "deep.h"), headerInlined)
			path := build(t, tt.compiler, tt.source, "app", append(tt.flags, "-I"+header)...)
			calls := callsOf(t, path)
			for i, p := range places(t, path, idOf(t, path), calls) {
				var got, files []Scope
				for _, x := range append(p.Inlined, Scope{p.Function, p.File, p.Line, p.FirstFile, p.FirstLine}) {
					files = append(files, x)
					x.File = filepath.Base(x.File)
					if x.FirstFile != "" {
						x.FirstFile = filepath.Base(x.FirstFile)
					}
					got = append(got, x)
				}
				if i >= len(tt.want) {
					t.Fatalf("call %d of %d", i, len(tt.want))
				}
				want := tt.want[i]
				if tt.name == "link time" { // a definition in another unit is not given by a number of this one's files
					for k := range got {
						got[k].FirstFile, got[k].FirstLine = "", 0
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("call %d:\n%s", i, d)
				}
				if d := cmp.Diff(addr2line(t, path, calls[i]), placesOf(files)); d != "" {
					t.Errorf("call %d: addr2line (-) and we (+):\n%s", i, d)
				}
			}
			if len(calls) != len(tt.want) {
				t.Errorf("%d calls", len(calls))
			}
		})
	}
}

// placesOf lists places as addr2line does, the innermost first.
func placesOf(scopes []Scope) (list []string) {
	for i := len(scopes) - 1; i >= 0; i-- {
		list = append(list, fmt.Sprintf("%s:%d", filepath.Base(scopes[i].File), scopes[i].Line))
	}
	return list
}

func addr2line(t *testing.T, path string, call uint64) (list []string) {
	t.Helper()
	for line := range strings.Lines(command(t, "addr2line", "-i", "-e", path, strconv.FormatUint(call-1, 16))) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " (discriminator")
		list = append(list, filepath.Base(line))
	}
	return list
}

// Chains that a file leads into without end are cut, and lose neither end.
func TestDeepChain(t *testing.T) {
	var source strings.Builder
	source.WriteString("__attribute__((noinline)) void target(void) { __asm__ volatile(\"\"); }\n")
	source.WriteString("static inline __attribute__((always_inline)) void f0(void) { target(); __asm__ volatile(\"\"); }\n")
	const levels = maxScopes + 20
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&source, "static inline __attribute__((always_inline)) void f%d(void) { f%d(); }\n", i, i-1)
	}
	fmt.Fprintf(&source, "int main(void) { f%d(); return 0; }\n", levels-1)
	path := build(t, "gcc", source.String(), "app", "-g")
	p := places(t, path, idOf(t, path), callsOf(t, path))[0]
	if p.Function != "f0" || len(p.Inlined) != maxScopes-1 || p.Inlined[0].Function != "main" || p.Inlined[1].Function != fmt.Sprintf("f%d", levels-1) {
		t.Errorf("%s in %d scopes: %v", p.Function, len(p.Inlined), p.Inlined)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
