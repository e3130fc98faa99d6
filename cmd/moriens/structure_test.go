package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/analysis/program/programtest"
	"moriens/trace/rundir"
)

// On a terminal the shell has a prompt, a history and line editing, prints no wider than the terminal, and leaves it as
// it was.
func TestShellOnTerminal(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := programtest.Odd().Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{rundir.ProgramFile: b.String(), rundir.ManifestFile: `{"format": 1, "ranks": 8, "complete": true}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x := onTerminal(t, nil, binary(t), "structure", "--shell", dir)
	x.waitFor(`structure> $`)
	x.press("lops\r")
	x.waitFor(`hint: did you mean loops\?\r\n`)
	x.press("\x1b[A\x1b[D\x1b[D\x1b[Do\r") // the line before, with a letter put in: loops
	x.waitFor(` 60\.0 %  6  FOR i = 1\.\.10 in run \(step\.f90:16\)`)
	x.press("show\r")
	x.waitFor(`compute +8 +1\.2 %`)
	x.press("quit\r")
	status, output := x.wait()
	if status != 0 {
		t.Errorf("status %d:\n%q", status, output)
	}
	_, table, _ := strings.Cut(output, "FILE:LINE")
	if table, _, _ = strings.Cut(table, "structure> "); strings.Contains(table, "from -1 in dimension 0") || !strings.Contains(table, "MPI_Sendrecv") && !strings.Contains(table, "MPI_…") {
		t.Errorf("the table is not cut to the width of the terminal:\n%q", table)
	}
}
