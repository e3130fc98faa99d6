package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// What the program says where it cannot do what it is asked for; trace/otf2 tests what it writes.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"--help"}, 0, "usage: moriens-otf2 RUNDIR OUT", ""},
		{[]string{"--version"}, 0, "moriens-otf2 unknown", ""},
		{nil, 2, "", "usage:"},
		{[]string{"a"}, 2, "", "usage:"},
		{[]string{"a", "b", "c"}, 2, "", "usage:"},
		{[]string{filepath.Join(t.TempDir(), "none"), "out"}, 1, "", "hint: name a directory that moriens run, collect or analyze created"},
		{[]string{t.TempDir(), "out"}, 1, "", "moriens-otf2: run directory "},
	} {
		var stdout, stderr bytes.Buffer
		if got := run(c.args, &stdout, &stderr); got != c.status {
			t.Errorf("%q: status %d, want %d", c.args, got, c.status)
		}
		if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 || c.stdout == "" && stdout.Len() > 0 {
			t.Errorf("%q: %s%s", c.args, &stdout, &stderr)
		}
	}
}
