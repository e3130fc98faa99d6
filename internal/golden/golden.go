// Package golden compares what a test has made with a file of its package's testdata, or rewrites the file under go
// test -update, and unpacks recorded directories. Only tests import it.
package golden

import (
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with testdata/name.
func Check(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (go test -update, then git diff):\n%s", path, d)
	}
}

// Unpack writes the files of a recorded directory, each packed by gzip, into dir, which exists.
func Unpack(t *testing.T, recorded, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recorded, "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing is recorded in %s: %v", recorded, err)
	}
	for _, path := range files {
		packed, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		r, err := gzip.NewReader(packed)
		if err == nil {
			text, err = io.ReadAll(r)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), text, 0o666)
		}
		if err := errors.Join(err, packed.Close()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}
