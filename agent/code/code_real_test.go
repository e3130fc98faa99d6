//go:build !quick

package code

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/symbol"
	"moriens/analysis/program"
)

var callOf = regexp.MustCompile(`call\s+[0-9a-f]+ <([a-z])(@plt)?>`)

// A planted function, and what is true of it however it is compiled.
type planted struct {
	name, compiler, source, calls string
	nesting                       string
	within                        map[string]string // by a call in the innermost loop: the pairs that follow there
	jumps                         string            // nesting where the last call is a jump
	rotated                       bool              // -O2 makes another loop of it, whose nesting is not that of the source
}

var functions = []planted{
	{name: "two", source: `int f(int n) {
	int s = a(n);
	for (int i = 0; i < n; i++) {
		s += b(i);
		for (int k = 0; k < s; k++) {
			s += c(k);
			s -= d(k);
		}
		s += e(s);
	}
	return s + g(s) + 1;
}`, calls: "abcdeg", nesting: "a [b [c d] e] g",
		within: map[string]string{"b": "bc bd be cc cd ce dc dd de", "c": "cd"}},
	{name: "while", source: `int f(int n) {
	int s = 0;
	while (a(s) < n) {
		if (b(s)) { s += c(s); continue; }
		s += d(s);
		if (s == 77) break;
		s += e(s);
	}
	return s + g(s) + 1;
}`, calls: "abcdeg", nesting: "[a b c d e] g", within: map[string]string{"a": "ab ac ad ae bc bd be de"}, rotated: true},
	{name: "ifs", source: `int f(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0) s += a(i); else s += b(i);
		if (s & 8) s += c(i);
	}
	for (int i = n; i > 0; i--) s += d(i) * 3;
	return s + e(s) + 1;
}`, calls: "abcde", nesting: "[a b c] [d] e", within: map[string]string{"a": "ac bc", "d": ""}},
	{name: "switch", source: `int f(int n, int *p) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		switch (p[i]) {
		case 0: s += a(i); break;
		case 1: s += b(i + 1); /* falls through */
		case 2: s += c(i + 2) * 5; break;
		case 3: for (int k = 0; k < s; k++) s += d(k); break;
		case 4: s ^= e(i); break;
		case 5: s ^= g(i) + 7; break;
		case 6: break;
		case 7: s *= h(i); break;
		default: s++;
		}
		s += i & k(s);
	}
	return s;
}`, calls: "abcdeghk", nesting: "[a b c [d] e g h k]", within: map[string]string{"k": "ak bc bk ck dd dk ek gk hk", "d": ""}},
	{name: "goto", source: `int f(int n) {
	int s = n;
	if (n & 1) goto middle;
top:
	s += a(s);
	if (s > 1000) goto out;
middle:
	s += b(s);
	if (s & 4) goto top;
	s += c(s);
	goto top;
out:
	return s + d(s) + 1;
}`, calls: "abcd", nesting: "[a b c] d"},
	{name: "cold", source: `extern void die(int) __attribute__((noreturn, cold));
__attribute__((noinline, cold, noreturn)) void die(int x) { a(x); __builtin_trap(); }
int f(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		s += b(i);
		if (__builtin_expect(s == 12345, 0)) { s += c(i); if (s < 0) die(s); s -= d(i); }
		if (__builtin_expect(s == -7, 0)) die(s);
		s += e(i);
	}
	if (__builtin_expect_with_probability(s == 3, 0, 1.0)) { for (int k = 0; k < n; k++) s += g(k) * 2; }
	return s + h(s) + 1;
}`, calls: "abcdegh", nesting: "[b c d e] [g] h", within: map[string]string{"b": "bc bd be cd ce de"}},
	{name: "exceptions", compiler: "g++", source: `struct Guard { int n; ~Guard() { k(n); } };
extern "C" int f(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		try {
			Guard guard{i};
			s += a(i);
			if (s == 77) throw s;
			s += b(i);
		} catch (int x) {
			s += c(x);
		} catch (...) {
			s += d(i);
		}
		s += e(i);
	}
	return s + g(s) + 1;
}`, calls: "abcdegk", nesting: "[a b c d e] g", within: map[string]string{"e": "ab ac ad ae bc bd be ce de"}},
	{name: "tail", source: `__attribute__((noinline)) int t(int n) { return a(n) + 1; }
int f(int n) {
	for (int i = 0; i < n; i++) b(i);
	return c(n);
}`, calls: "abc", nesting: "[b] c", jumps: "[b]", within: map[string]string{"b": ""}},
}

const mains = "\nint main(int argc, char **argv) { return f(argc%s) + (int)(long)argv; }\n"

// Loops and orders are those of the source, however it was compiled.
func TestPlanted(t *testing.T) {
	for _, x := range functions {
		for i, flags := range [][]string{
			{"-O0"}, {"-O1"}, {"-Os"}, {"-O2", "-fcf-protection=full"}, {"-O2", "-no-pie", "-fno-pie"}, {"-O2", "-g"}, {"-O3", "-fno-plt"},
			{"-O2", "-march=native", "-fcf-protection=full"}, {"-O2", "strip"}, {"-O1", "-fcf-protection=full", "strip"}, {"-O2", "-no-pie", "-fno-pie", "strip"},
		} {
			if testing.Short() && i%5 != 3 {
				continue
			}
			t.Run(x.name+strings.Join(flags, ""), func(t *testing.T) {
				argument := ""
				if x.name == "switch" {
					argument = ", (int *)argv"
				}
				compiler := x.compiler
				if compiler == "" {
					compiler = "gcc"
				}
				strip := slices.Contains(flags, "strip")
				flags := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "strip" })
				path := build(t, compiler, x.source+fmt.Sprintf(mains, argument), x.calls, append(flags, "-fno-inline")...)
				calls := callsIn(t, path, "f")
				if strip {
					command(t, "strip", path)
				}
				list := readAll(t, path, calls)
				if len(list) != 1 {
					t.Fatalf("%d functions: %+v", len(list), list)
				}
				f := list[0]
				check(t, &f)
				if f.Refused != "" {
					t.Fatalf("refused: %s", f.Refused)
				}
				if x.rotated && (slices.Contains(flags, "-O2") || slices.Contains(flags, "-O3")) {
					return
				}
				want := x.nesting
				if x.jumps != "" && slices.ContainsFunc(flags, func(f string) bool { return f == "-O2" || f == "-O3" || f == "-Os" }) {
					want = x.jumps
				}
				if d := cmp.Diff(want, nesting(&f.Code, calls)); d != "" {
					t.Error(d)
				}
				for name, want := range x.within {
					if d := cmp.Diff(want, follows(&f.Code, calls, loopOf(&f.Code, calls, name))); d != "" {
						t.Errorf("in the loop of %s: %s", name, d)
					}
				}
			})
		}
	}
}

// FuzzCode reads damaged programs: it returns, whatever they say, and what it says of a function agrees with itself.
func FuzzCode(f *testing.F) {
	var bases [][]byte
	var returns [][]uint64
	for _, x := range functions {
		if x.name != "two" && x.name != "switch" && x.name != "exceptions" && x.name != "cold" {
			continue
		}
		compiler, argument := x.compiler, ""
		if compiler == "" {
			compiler = "gcc"
		}
		if x.name == "switch" {
			argument = ", (int *)argv"
		}
		path := build(f, compiler, x.source+fmt.Sprintf(mains, argument), x.calls, "-O2", "-fno-inline")
		calls := callsIn(f, path, "f")
		for _, strip := range []bool{false, true} {
			if strip {
				command(f, "strip", path)
			}
			base, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			bases, returns = append(bases, base), append(returns, slices.Sorted(maps.Keys(calls)))
			f.Add(uint8(len(bases)-1), []byte{}, uint32(len(base)))
			f.Add(uint8(len(bases)-1), []byte{0x90, 0x11, 0, 0xe9}, uint32(len(base)))
			f.Add(uint8(len(bases)-1), []byte{0x50, 0x20, 0, 9, 0x51, 0x20, 0, 0xff}, uint32(len(base)/2))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, patch []byte, length uint32) {
		n := int(which) % len(bases)
		data := slices.Clone(bases[n])
		for ; len(patch) >= 4; patch = patch[4:] { // a 24-bit place and a byte
			at := int(patch[0]) | int(patch[1])<<8 | int(patch[2])<<16
			data[at%len(data)] = patch[3]
		}
		data = data[:min(int(length), len(data))]
		var file *elf.File
		func() {
			defer func() { _ = recover() }() // the library's own
			file, _ = elf.NewFile(bytes.NewReader(data))
		}()
		if file == nil {
			return
		}
		for _, x := range read(context.Background(), file, nil, append(returns[n], 0, 1, ^uint64(0))) {
			check(t, &x)
		}
	})
}

// check holds a function against what the collector asks of one.
func check(t *testing.T, f *Function) {
	t.Helper()
	c := &f.Code
	within := make([]int, 1+len(c.Loops))
	for i, s := range c.Sites {
		if i > 0 && s.Offset <= c.Sites[i-1].Offset || s.Loop < -1 || s.Loop >= len(c.Loops) {
			t.Errorf("site %d: %+v", i, s)
			return
		}
		within[1+s.Loop]++
	}
	for l := len(c.Loops) - 1; l >= 0; l-- {
		if p := c.Loops[l].Parent; p < -1 || p >= l {
			t.Errorf("loop %d in %d", l, p)
			return
		}
		within[1+c.Loops[l].Parent] += within[1+l]
	}
	if f.Refused != "" {
		if len(c.Loops)+len(c.Follows) > 0 {
			t.Errorf("%s, and %+v", f.Refused, c)
		}
		return
	}
	if len(c.Follows) != len(within) || len(c.Sites) == 0 {
		t.Errorf("%d matrices of %d loops", len(c.Follows), len(c.Loops))
		return
	}
	for i, n := range within {
		if n == 0 || len(c.Follows[i]) != (n*n+7)/8 {
			t.Errorf("loop %d: %d sites, %d bytes", i-1, n, len(c.Follows[i]))
			return
		}
	}
	for loop := -1; loop < len(c.Loops); loop++ {
		if d := cmp.Diff(c.Follows[1+loop], stepwise(c, loop)); d != "" {
			t.Errorf("loop %d: what comes next, again and again, is not what follows: %s", loop, d)
		}
	}
}

// stepwise is what follows in a loop by what comes next, and after that, and so on.
func stepwise(c *program.Code, loop int) []byte {
	within := func(node int32) bool {
		at := int(node) - len(c.Sites)
		switch {
		case node == c.Outside():
			return loop < 0
		case at < 0:
			at = c.Sites[node].Loop
		}
		for at > loop {
			at = c.Loops[at].Parent
		}
		return at == loop
	}
	var rows []int32
	for k := range c.Sites {
		if within(int32(k)) {
			rows = append(rows, int32(k))
		}
	}
	bits := make([]byte, (len(rows)*len(rows)+7)/8)
	for i, a := range rows {
		seen := make(map[int32]bool)
		for open := []int32{a}; len(open) > 0; {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			for _, to := range slices.Concat(c.Next[at], c.Skip[at]) {
				if !seen[to] && to != c.Outside() && within(to) && (loop < 0 || to != c.Header(loop)) {
					seen[to] = true
					open = append(open, to)
				}
			}
		}
		for k, b := range rows {
			if bit := i*len(rows) + k; seen[b] {
				bits[bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return bits
}

// What comes next passes no other call; where a loop can be left out that is said apart.
func TestComesNext(t *testing.T) {
	for source, want := range map[string]string{
		"int f(int n) { int s = 0; while (1) { s += a(s); if (s > 9) break; s += b(s); } return s + c(s) + 1; }":                             "entry: [0; [0: a; a: b c; b: [0; c: end",
		"int f(int n) { int s = 0; for (int i = 0; i < 9; i++) { for (int k = 0; k < n; k++) s += a(k); s += b(i); } return s + c(s) + 1; }": "entry: [0; [0: [1 skip b; [1: a; a: [1 b; b: [0 c; c: end",
		// The end of a loop is not the beginning of the one behind it.
		"int f(int n) { int s = 0; for (int i = 0; i < 9; i++) s += a(i); for (int k = 0; k < 7; k++) s += b(k); return s + c(s) + 1; }": "entry: [0; [0: a; [1: b; a: [0 [1; b: [1 c; c: end",
	} {
		path := build(t, "gcc", source+fmt.Sprintf(mains, ""), "abc", "-O2", "-fno-inline", "-fno-tree-vectorize", "-fno-unswitch-loops")
		calls := callsIn(t, path, "f")
		f := readAll(t, path, calls)[0]
		check(t, &f)
		c := &f.Code
		name := func(k int32) string {
			switch {
			case k == c.Outside():
				return "end"
			case int(k) >= len(c.Sites):
				return fmt.Sprintf("[%d", int(k)-len(c.Sites))
			}
			return calls[c.Sites[k].Offset]
		}
		var rows []string
		for k := range c.Next {
			row := name(int32(k)) + ":"
			if int32(k) == c.Outside() {
				row = "entry:"
			}
			names := func(list []int32) {
				var words []string
				for _, to := range list {
					words = append(words, name(to))
				}
				slices.Sort(words)
				for _, w := range words {
					row += " " + w
				}
			}
			if names(c.Next[k]); len(c.Skip[k]) > 0 {
				row += " skip"
				names(c.Skip[k])
			}
			rows = append(rows, row)
		}
		slices.SortFunc(rows, func(a, b string) int {
			return strings.Compare(strings.Replace(a, "entry", "", 1), strings.Replace(b, "entry", "", 1))
		})
		if got := strings.Join(rows, "; "); got != want {
			t.Errorf("%s\n%s\nwant %s", source, got, want)
		}
	}
}

// A program without section headers has its functions in the table of frames that it maps.
func TestWithoutSections(t *testing.T) {
	x := functions[0]
	path := build(t, "gcc", x.source+fmt.Sprintf(mains, ""), x.calls, "-O2", "-fno-inline")
	calls := callsIn(t, path, "f")
	id := idOf(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[0x28:0x30]) // where the headers are,
	clear(data[0x3c:0x40]) // and how many
	write(t, path, string(data))
	m := symbol.Open(path, id)
	defer m.Close()
	list := slices.DeleteFunc(Read(context.Background(), m, slices.Collect(maps.Keys(calls))), func(f Function) bool { return len(f.wanted) == 0 })
	if len(list) != 1 || list[0].Refused != "" || nesting(&list[0].Code, calls) != x.nesting {
		t.Errorf("%+v", list)
	}
	other := symbol.Open(path, []byte{1})
	defer other.Close()
	if list := Read(context.Background(), other, slices.Collect(maps.Keys(calls))); len(list) != 1 || list[0].Entry != 0 || list[0].Refused != "the file has another build id than in the process" {
		t.Errorf("another build id: %+v", list)
	}
}

// Functions of hundreds of calls have only those on call paths; with as many as that on these none is refused, until
// their matrices are too large.
func TestManyCalls(t *testing.T) {
	source := func(n int) string {
		return "int f(int n) { for (int i = 0; i < n; i++) {\n" + strings.Repeat("n += a(i);\n", n) + "} return b(n) + 1; }"
	}
	for _, n := range []int{100, 600, 2500} {
		path := build(t, "gcc", source(n)+fmt.Sprintf(mains, ""), "ab", "-O0")
		calls := callsIn(t, path, "f")
		few := map[uint64]string{}
		for at, name := range calls {
			if name == "b" || len(few) < 10 {
				few[at] = name
			}
		}
		f := readAll(t, path, few)[0]
		want := len(few)
		if n == 100 {
			want = n + 1
		}
		if len(f.Code.Sites) != want || f.Refused != "" || nesting(&f.Code, few) != "[a] b" {
			t.Errorf("%d calls: %d sites, want %d, %q, %s", n, len(f.Code.Sites), want, f.Refused, nesting(&f.Code, few))
		}
		f = readAll(t, path, calls)[0]
		check(t, &f)
		if (n == 2500) != (f.Refused == "it makes too many calls") || len(f.Code.Sites) != n+1 {
			t.Errorf("%d calls: %q, %d sites", n, f.Refused, len(f.Code.Sites))
		}
	}
}
