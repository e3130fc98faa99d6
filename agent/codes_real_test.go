//go:build !quick

package agent

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"moriens/agent/ring"
	"moriens/internal/testenv"
)

const sourceOfCodes = `__attribute__((noinline)) void target(int x) { __asm__ volatile("" : : "r"(x)); }
static inline __attribute__((always_inline)) void halo(int n)
{
	for (int i = 0; i < n; i++)
		target(i);
	__asm__ volatile("");
}
__attribute__((noinline)) void solve(int n)
{
	for (int i = 0; i < n; i++) {
		target(0);
		halo(i);
	}
	__asm__ volatile("");
}
int main(int argc, char **argv) { (void)argv; solve(argc); return 0; }
`

// Of the frames of call paths come, with their places, loops and the order of calls: with the line of a loop's header
// and what is inlined round it. Of a file that has another build id by now comes that it has.
func TestCodeOfSources(t *testing.T) {
	testenv.Need(t, "gcc", "objdump")
	dir := t.TempDir()
	in, app := filepath.Join(dir, "source.c"), filepath.Join(dir, "app")
	if err := os.WriteFile(in, []byte(sourceOfCodes), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-Wl,--build-id", "-o", app, in).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := exec.Command("objdump", "-d", "--no-show-raw-insn", app).Output()
	if err != nil {
		t.Fatal(err)
	}
	var calls []uint64
	called := false
	for line := range strings.Lines(string(text)) {
		address, text, ok := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseUint(address, 16, 64); ok && err == nil {
			if called {
				calls = append(calls, n)
			}
			called = strings.Contains(text, "call") && strings.Contains(text, "<target>")
		}
	}
	f, err := elf.Open(app)
	if err != nil {
		t.Fatal(err)
	}
	note, err := f.Section(".note.gnu.build-id").Data()
	f.Close()
	if err != nil || len(calls) != 2 {
		t.Fatal(err, calls)
	}
	for _, build := range []string{"its own", "another"} {
		id := note[16:]
		if build == "another" {
			id = []byte{1, 2, 3}
		}
		n := &Node{sources: make(sources)}
		for _, at := range calls {
			n.addSource(ring.Module{ID: 1, Path: app, BuildID: id}, at)
		}
		n.resolveSources(t.Context())
		n.sources.close()
		if build == "another" {
			if len(n.out.messages) != 1 || len(n.out.messages[0].GetCode().GetFunctions()) != 1 {
				t.Fatalf("another build: %v", n.out.messages)
			}
			if x := n.out.messages[0].GetCode().Functions[0]; x.Entry != 0 || x.Refused != "the file has another build id than in the process" || len(x.Sites) > 0 {
				t.Errorf("another build: %v", x)
			}
			continue
		}
		if len(n.out.messages) != 2 || len(n.out.messages[0].GetSymbols().GetFrames()) != 2 {
			t.Fatalf("%d messages: %v", len(n.out.messages), n.out.messages)
		}
		m := n.out.messages[1].GetCode()
		if m.GetModule() != app || string(m.BuildId) != string(id) || len(m.Functions) != 1 {
			t.Fatalf("%v", m)
		}
		x := m.Functions[0]
		if x.Refused != "" || len(x.Loops) != 2 || x.Loops[0].Parent != 0 || x.Loops[1].Parent != 1 || len(x.Follows) != 3 {
			t.Fatalf("%v", x)
		}
		if l := x.Loops[0]; l.File != in || l.Line < 10 || l.Line > 13 || len(l.Scopes) != 0 {
			t.Errorf("the outer loop: %v", l)
		}
		if l := x.Loops[1]; l.File != in || l.Line < 4 || l.Line > 5 || len(l.Scopes) != 1 || l.Scopes[0].Function != "halo" || l.Scopes[0].Line != 12 {
			t.Errorf("the inner loop: %v", l)
		}
		if s := x.Sites; len(s) != 2 || s[0].Loop != 1 || s[1].Loop != 2 || s[0].Column == 0 || s[1].Column == 0 {
			t.Errorf("calls: %v", s)
		}
		// 0 is not followed by itself in a trip of the outer loop; 1 by itself and by nothing else.
		if x.Follows[1][0] != 0b1010 || x.Follows[2][0] != 0 {
			t.Errorf("%v", x.Follows)
		}
	}
}
