//go:build !quick

package code

import (
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/testenv"
)

// Instructions begin where objdump says, in libraries with vectors of all generations; and of each function that can be
// decoded all.
func TestLengths(t *testing.T) {
	testenv.Need(t, "objdump")
	libraries := os.Getenv("LENGTHS_OF") // more of them, by hand
	if libraries == "" {
		libraries = "libm.so.6"
	}
	for _, name := range strings.Fields(libraries) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join("/lib/x86_64-linux-gnu", name)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		im, fault := newImage(f, nil)
		if fault != "" {
			t.Fatal(fault)
		}
		begins := make(map[uint64]bool)
		for line := range strings.Lines(command(t, "objdump", "-d", "--no-show-raw-insn", path)) {
			address, text, _ := strings.Cut(strings.TrimSpace(line), ":")
			if n, err := strconv.ParseUint(address, 16, 64); err == nil && !strings.Contains(text, "(bad)") {
				begins[n] = true
			}
		}
		count, unknown, wrong := 0, 0, 0
		for _, x := range im.frames {
			d := im.decodeSpan(context.Background(), span{start: x.start, end: x.end})
			if d.fault != "" {
				unknown++
				t.Logf("%s: %#x: %s", name, x.start, d.fault)
				continue
			}
			count++
			for at := range d.code {
				if d.code[max(at-1, 0)] == 0x9b {
					continue // FWAIT, which objdump takes for a part of the next instruction
				}
				if d.starts.has(at) != begins[x.start+uint64(at)] {
					if wrong++; wrong < 20 {
						t.Errorf("%s: %#x: begins %v", name, x.start+uint64(at), d.starts.has(at))
					}
					break
				}
			}
		}
		t.Logf("%s: %d functions, %d unknown, %d wrong", name, count, unknown, wrong)
		if count < 10*unknown || count == 0 {
			t.Errorf("%s: %d functions, %d not known", name, count, unknown)
		}
	}
}
