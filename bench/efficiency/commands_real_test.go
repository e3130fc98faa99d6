//go:build !quick

package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The benchmark times all commands and prints a whole row for each. The figures are not checked.
func TestBench(t *testing.T) {
	moriens := filepath.Join(t.TempDir(), "moriens")
	if text, err := exec.Command("go", "build", "-o", moriens, "../../cmd/moriens").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var out bytes.Buffer
	if err := run(context.Background(), &out, plan{moriens: moriens, ranks: "8,16,24", ofRank: 100, bursts: 200, rounds: 1, locations: 100}); err != nil {
		t.Fatal(err)
	}
	commands, stages, _ := strings.Cut(out.String(), "\n\n")
	for table, rows := range map[string]int{commands: 9, strings.TrimSpace(stages): 5} {
		lines := strings.Split(table, "\n")
		if len(lines) != rows {
			t.Errorf("%d lines, want %d:\n%s", len(lines), rows, table)
		}
		for _, line := range lines {
			if strings.Count(line, "|") != strings.Count(lines[0], "|") {
				t.Errorf("columns: %s", line)
			}
		}
	}
}
