package ring_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
)

// resident is how many bytes of the files with a suffix are in this process's mappings.
func resident(t *testing.T, suffix string) (bytes int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	ours := false
	for line := range strings.Lines(string(text)) {
		var kib int
		switch n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); {
		case n == 1 && ours:
			bytes += kib << 10
		case strings.Contains(line, "-") && strings.Contains(line, ":") && !strings.Contains(strings.Fields(line)[0], ":"):
			ours = strings.HasSuffix(strings.TrimSpace(line), suffix)
		}
	}
	return bytes
}

// What a reader has given back soon stops counting as its memory, and what is written there again is read.
func TestReleasedIsUnmapped(t *testing.T) {
	const slots = 1 << 16 // 2 MiB
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, slots)
	before := resident(t, w.FileName())
	written, read := uint64(0), uint64(0)
	for read < 3*slots {
		for range slots / 4 {
			if !w.Call(mpicall.Send, 0, 10*written+1, 10*written+2) {
				t.Fatal("the ring is full")
			}
			written++
		}
		for _, record := range readAll(t, r) {
			if record.Enter != 10*read+1 {
				t.Fatalf("record %d was entered at %d", read, record.Enter)
			}
			read++
		}
	}
	if read != written {
		t.Errorf("%d of %d records", read, written)
	}
	// The writer has had all of it from the beginning.
	if grown := resident(t, w.FileName()) - before; before < 2<<20 || grown > 1<<20 {
		t.Errorf("2 MiB of a ring take %d bytes of memory, and %d more once it is read", before, grown)
	}
}
