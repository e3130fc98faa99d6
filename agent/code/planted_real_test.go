//go:build !quick

package code

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"moriens/agent/symbol"
	"moriens/analysis/program"
	"moriens/internal/testenv"
)

// What planted functions call: each has a name of one letter, by which its calls are known.
func callees(names string) string {
	var b strings.Builder
	for _, c := range names {
		fmt.Fprintf(&b, "extern int %c(int);\n", c)
	}
	return b.String()
}

func bodies(names string) string {
	var b strings.Builder
	for _, c := range names {
		fmt.Fprintf(&b, "int %c(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x; }\n", c)
	}
	return b.String()
}

func command(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build compiles a source and what it calls, apart, so that nothing is put into another.
func build(t testing.TB, compiler, source, names string, flags ...string) string {
	t.Helper()
	testenv.Need(t, compiler, "objdump", "strip")
	dir := t.TempDir()
	in, suffix := "source.c", "c"
	if compiler == "g++" {
		in, suffix = "source.cc", "cc"
		source = `extern "C" {` + "\n" + callees(names) + "}\n" + source
		write(t, filepath.Join(dir, "other.cc"), `extern "C" {`+bodies(names)+"}")
	} else {
		source = callees(names) + source
		write(t, filepath.Join(dir, "other.c"), bodies(names))
	}
	write(t, filepath.Join(dir, in), source)
	out := filepath.Join(dir, "app")
	command(t, compiler, append([]string{"-Wl,--build-id", "-o", out, filepath.Join(dir, in), filepath.Join(dir, "other."+suffix)}, flags...)...)
	return out
}

// callsIn disassembles a file that has its symbols: the return addresses of calls of functions of one letter in a
// function, with that letter. Compilers make copies of calls: these have one letter.
func callsIn(t testing.TB, path, function string) map[uint64]string {
	t.Helper()
	calls := map[uint64]string{}
	in, called := "", ""
	for line := range strings.Lines(command(t, "objdump", "-d", "--no-show-raw-insn", path)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " <"); ok && strings.HasSuffix(name, ">:") {
			in = strings.TrimSuffix(name, ">:")
			called = ""
			continue
		}
		address, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseUint(address, 16, 64)
		if !ok || err != nil {
			continue
		}
		if called != "" {
			calls[n] = called
			called = ""
		}
		if m := callOf.FindStringSubmatch(text); m != nil && (in == function || strings.HasPrefix(in, function+".cold")) {
			called = m[1]
		}
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
	for _, s := range f.Sections {
		if s.Name == ".note.gnu.build-id" {
			note, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			return note[16:]
		}
	}
	t.Fatal("no build id")
	return nil
}

// readAll reads the functions that hold calls, and names what they say.
func readAll(t testing.TB, path string, calls map[uint64]string) []Function {
	t.Helper()
	m := symbol.Open(path, idOf(t, path))
	defer m.Close()
	var returns []uint64
	for at := range calls {
		returns = append(returns, at)
	}
	functions := slices.DeleteFunc(Read(context.Background(), m, returns), func(f Function) bool { return len(f.wanted) == 0 && f.Refused == "" })
	for i := range functions {
		at := functions[i].Lookups()
		places := m.Resolve(context.Background(), at)
		functions[i].Name(func(r uint64) symbol.Place { return places[slices.Index(at, r)] })
	}
	return functions
}

// nesting is the function as text: calls in their loops, "a[b[c]]d", in the order of names.
func nesting(c *program.Code, calls map[uint64]string) string {
	var of func(loop int) string
	of = func(loop int) string {
		var list []string
		for _, s := range c.Sites {
			if s.Loop == loop && calls[s.Offset] != "" {
				list = append(list, calls[s.Offset])
			}
		}
		for l, x := range c.Loops {
			if x.Parent == loop {
				if text := of(l); text != "" {
					list = append(list, "["+text+"]")
				}
			}
		}
		slices.SortFunc(list, func(a, b string) int { return strings.Compare(strings.Trim(a, "["), strings.Trim(b, "[")) })
		return strings.Join(slices.Compact(list), " ")
	}
	return of(-1)
}

// follows lists the pairs of which one can come after the other in a loop, without another trip.
func follows(c *program.Code, calls map[uint64]string, loop int) string {
	var rows []int
	for i, s := range c.Sites {
		for l := s.Loop; ; l = c.Loops[l].Parent {
			if l == loop {
				rows = append(rows, i)
			}
			if l < 0 {
				break
			}
		}
	}
	var list []string
	for i, a := range rows {
		for j, b := range rows {
			bit := i*len(rows) + j
			if from, to := calls[c.Sites[a].Offset], calls[c.Sites[b].Offset]; from != "" && to != "" && c.Follows[1+loop][bit/8]>>(bit%8)&1 != 0 {
				list = append(list, from+to)
			}
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// loopOf is the innermost loop round a call, by name.
func loopOf(c *program.Code, calls map[uint64]string, name string) int {
	for _, s := range c.Sites {
		if calls[s.Offset] == name {
			return s.Loop
		}
	}
	return -2
}
