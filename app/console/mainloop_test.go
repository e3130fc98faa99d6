package console

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/internal/golden"
	"moriens/trace/rundir"
)

// What the summary says of the main loop, to the letter, with as many lines as there is room for.
func TestMainLoop(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"nest", "odd", "test2"} {
		writeMainLoop(&b, programtest.All()[name], 1+mainLoopLines)
	}
	writeMainLoop(&b, programtest.Nest(), 1)
	golden.Check(t, "mainloop.txt", []byte(b.String()))
	for _, p := range []*program.Program{nil, {Ranks: 1}, {Ranks: 1, Body: []*program.Node{{Kind: program.KindCompute, ComputeNS: 5}}}} {
		var b strings.Builder
		if writeMainLoop(&b, p, 5); b.Len() > 0 {
			t.Errorf("%+v has the main loop %q", p, b.String())
		}
	}
	likely, line := programtest.Nest(), strings.Builder{}
	mainLoop(likely.Body, nil).Trips.Likely = true
	if writeMainLoop(&line, likely, 1); !strings.Contains(line.String(), " (likely) in ") {
		t.Errorf("likely trips: %q", line.String())
	}
	var none strings.Builder
	if writeMainLoop(&none, programtest.Nest(), 0); none.Len() > 0 {
		t.Errorf("%q where there is no room", none.String())
	}
}

// The summary has 20 lines with a main loop too, and says at least which one it is.
func TestSummaryWithMainLoop(t *testing.T) {
	dirs, err := filepath.Glob("testdata/summaries/*/" + rundir.ManifestFile + ".gz")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded summaries: %v", err)
	}
	for _, path := range dirs {
		r := unpacked(t, filepath.Dir(path))
		if r.Manifest.Empty != "" {
			continue
		}
		p := programtest.Odd()
		program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
			if n.Function == "run" {
				n.Function = "solver::" + strings.Repeat("a_very_long_name_", 20) + "\x1b[2J::run"
			}
		})
		r.Program = p
		var b bytes.Buffer
		if err := Finished(&b, r, false); err != nil {
			t.Fatal(err)
		}
		fits(t, b.String())
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Errorf("%s: an escape sequence in\n%q", path, b.String())
		}
		if !strings.Contains(b.String(), "\nmain loop: FOR i = 1..10 in solver::") || !strings.Contains(b.String(), " (step.f90:16): 60.0 % of the time\n") {
			t.Errorf("%s: no main loop in\n%s", path, b.String())
		}
	}
}
