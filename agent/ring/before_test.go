package ring_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"moriens/agent/ring"
)

// The file of a rank whose calls another tool has answered holds that tool's path. What is no such file is not waited
// for, and not read without end.
func TestFaultBefore(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fault-0-0-4-100", "/opt/tool/libtool.so")
	write("fault-1-0-4-101", "/opt/\xff.so")
	write("fault-2-0-4-102", strings.Repeat("x", 1<<20))
	write("fault-3-28-4-103", "what an errno says needs no text")
	if err := syscall.Mkfifo(filepath.Join(dir, "fault--1-0-0-104"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "fault-0-0-4-100"), filepath.Join(dir, "fault--1-0-0-105")); err != nil {
		t.Fatal(err)
	}
	found, err := ring.NewDirectory(dir).Scan()
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{100: "/opt/tool/libtool.so", 101: "/opt/\uFFFD.so", 102: strings.Repeat("x", 4096), 103: "", 104: "a library", 105: "a library"}
	for _, f := range found.Faults {
		if text, known := want[f.PID]; !known || f.Before != text {
			t.Errorf("%s: %d bytes: %.40q", f.Name, len(f.Before), f.Before)
		}
		delete(want, f.PID)
	}
	if len(want) != 0 {
		t.Errorf("not found: %v", want)
	}
}
