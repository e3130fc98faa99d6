package ring_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
)

// A ring reports whether it is read; the end of its process waits for a reader.
func TestRingSaysThatItIsRead(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, err := p.Thread(8)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, w.FileName())
	r, err := ring.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	says := func() uint32 {
		header, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint32(header[unsafe.Offsetof(shmabi.Ring{}.Agent):])
	}
	if says() != 1 {
		t.Error("it is read and does not say so")
	}
	if err := r.Close(); err != nil || says() != 0 {
		t.Errorf("closed: %v, %d", err, says())
	}
}

// Closing a ring whose file was truncated is a fault that can be recovered from, and unmaps it.
func TestCloseTruncated(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	w, err := p.Thread(8)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, w.FileName())
	r, err := ring.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	func() {
		defer func() {
			if _, fault := recover().(interface{ Addr() uintptr }); !fault {
				t.Error("no fault")
			}
		}()
		r.Close()
	}()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if n := countLines(string(maps), path); n != 1 { // the writer's
		t.Errorf("%s is mapped %d times", path, n)
	}
}

func countLines(text, with string) (n int) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, with) {
			n++
		}
	}
	return n
}
