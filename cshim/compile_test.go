package cshim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A compiling is a folder with sources of programs that are not mini-apps.
type compiling struct {
	t   *testing.T
	dir string
}

// write puts a source into the folder.
func (c compiling) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// build runs a compiler.
func (c compiling) build(args ...string) {
	c.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		c.t.Errorf("%v: %v\n%s", args, err, out)
	}
}
