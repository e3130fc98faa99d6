package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The table has a row for each number of ranks and each directory of programs, and everything that ranks have recorded
// arrives. The figures are not checked.
func TestAgentBench(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "moriens"), "../../cmd/moriens")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	if err := run(&out, plan{
		bins: []string{bin, bin}, ranks: "1,3", rounds: 1, load: load{rate: 500, warm: 300 * time.Millisecond, span: 500 * time.Millisecond},
	}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2+2*2 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, line := range lines {
		if strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("columns: %s", line)
		}
		if row := []string{"| 1 | 500 | ", "| 3 | 500 | "}[max(i-2, 0)/2]; i >= 2 && !strings.HasPrefix(line, row) {
			t.Errorf("%s: want %s", line, row)
		}
	}
	if err := run(&out, plan{bins: []string{bin}, ranks: "0", rounds: 1, load: load{rate: 1}}); err == nil {
		t.Error("no ranks are taken")
	}
	if err := run(&out, plan{bins: []string{filepath.Join(bin, "nowhere")}, ranks: "1", rounds: 1, load: load{rate: 1}}); err == nil {
		t.Error("programs that are not there are taken")
	}
}
