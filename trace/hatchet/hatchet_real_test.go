//go:build !quick

package hatchet

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
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, write(t, tree), 0o666); err != nil {
		t.Fatal(err)
	}
	return calltreetest.Python(t, "testdata/verify.py", path, dump)
}

// A reader that shares no code finds all nodes, names and values.
func TestPythonReadsTheSame(t *testing.T) {
	seed := testenv.Seed(t)
	trees := []*calltreetest.Planted{calltreetest.Small()}
	for i := range 20 {
		trees = append(trees, calltreetest.Random(testenv.Drawer(seed, fmt.Sprint(i)), i%3 == 0))
	}
	for i, p := range trees {
		if out := verify(t, p.Tree, calltreetest.Dump(t, p.Tree)); out != "" {
			t.Errorf("tree %d: %s", i, out)
		}
	}
}

// The test of the test: the reader finds a nanosecond.
func TestPythonFindsANanosecond(t *testing.T) {
	p := calltreetest.Small()
	dump := calltreetest.Dump(t, p.Tree)
	p.Values[1].NS[6]++
	if out := verify(t, p.Tree, dump); !strings.Contains(out, "0.011000001") {
		t.Errorf("%q", out)
	}
}
