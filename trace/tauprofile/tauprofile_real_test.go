//go:build !quick

package tauprofile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/testenv"
	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

func verify(t *testing.T, tree *calltree.Tree, dump string) string {
	t.Helper()
	testenv.NeedFile(t, calltreetest.Python3)
	dir := t.TempDir()
	for name, text := range write(t, tree, Options{}) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return calltreetest.Python(t, "testdata/verify.py", dir, dump)
}

// A reader that shares no code finds all threads, rows, calls and values.
func TestPythonReadsTheSame(t *testing.T) {
	seed := testenv.Seed(t)
	trees := []*calltreetest.Planted{calltreetest.Small()}
	for i := 0; len(trees) < 21; i++ {
		if p := calltreetest.Random(testenv.Drawer(seed, fmt.Sprint(i)), i%2 == 0); len(p.Tree.Threads) > 0 {
			trees = append(trees, p)
		}
	}
	for i, p := range trees {
		if out := verify(t, p.Tree, calltreetest.Dump(t, p.Tree)); out != "" {
			t.Errorf("tree %d: %s", i, out)
		}
	}
}

// The test of the test: the reader finds a nanosecond, and a call.
func TestPythonFindsADifference(t *testing.T) {
	p := calltreetest.Small()
	dump := calltreetest.Dump(t, p.Tree)
	p.Values[1].NS[6]++
	if out := verify(t, p.Tree, dump); !strings.Contains(out, "'Cluster 3'") {
		t.Errorf("%q", out)
	}
	p.Values[1].NS[6]--
	p.Values[1].Calls[4]++
	if out := verify(t, p.Tree, dump); !strings.Contains(out, "'MPI_Wait()': calls") {
		t.Errorf("%q", out)
	}
}
