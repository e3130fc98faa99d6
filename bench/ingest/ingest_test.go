package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/section"
)

// The table has a row for each number of nodes and each pace, and all bursts were acknowledged. The figures are not
// checked.
func TestLoad(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "moriens"), "../../cmd/moriens")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	if err := run(&out, bin, "1,5", 100_000, 50_000, 1); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 1 | full | 99328 | ", "| 1 | steady | 49152 | ", "| 5 | full | 97280 | ", "| 5 | steady | 46080 | "} {
		if strings.Count(out.String(), row) != 1 {
			t.Errorf("no %q in\n%s", row, out.String())
		}
	}
	if err := run(&out, bin, "0", 1, 1, 1); err == nil {
		t.Error("no nodes are taken")
	}
}

// What is held is the sections, and little more.
func TestHeld(t *testing.T) {
	bytes, err := held(200)
	if err != nil {
		t.Fatal(err)
	}
	if section := float64(len(newJob(0).calls(0).GetSections())) / messageBursts; bytes < section || bytes > section+2 {
		t.Errorf("%.1f bytes a burst, in sections it takes %.1f", bytes, section)
	}
}

// Messages of a rank follow each other, as a collector requires.
func TestJob(t *testing.T) {
	j := newJob(3)
	end := uint64(0)
	var s section.Section
	for i := range 3 * ranksOfNode {
		if _, err := s.Read(j.calls(i).GetSections()); err != nil {
			t.Fatal(err)
		}
		b := new(section.Block)
		if err := new(section.Decoder).Calls(&s, 2, b); err != nil {
			t.Fatal(err)
		}
		if b.Ring != j.ring(i%ranksOfNode) || b.First != uint64(i/ranksOfNode)*messageBursts {
			t.Fatalf("message %d: ring %x from call %d", i, b.Ring, b.First)
		}
		if i%ranksOfNode != 0 {
			continue
		}
		if end > 0 && b.Origin != end {
			t.Errorf("message %d starts at %d, the one before ends at %d", i, b.Origin, end)
		}
		end = b.Origin
		for k := range b.Rows {
			end += b.Burst[k] + b.Call[k]
		}
	}
}
