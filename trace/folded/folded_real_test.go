//go:build !quick

package folded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moriens/internal/testenv"
	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

func verify(t *testing.T, tree *calltree.Tree, dump string, unit time.Duration) string {
	t.Helper()
	testenv.NeedFile(t, calltreetest.Python3)
	path := filepath.Join(t.TempDir(), "run.folded")
	if err := os.WriteFile(path, []byte(write(t, tree, unit)), 0o666); err != nil {
		t.Fatal(err)
	}
	return calltreetest.Python(t, "testdata/verify.py", path, dump, strings.TrimLeft(strings.ReplaceAll(unit.String(), "µ", "u"), "1"))
}

// A reader that shares no code finds the time of each stack, of stacks that begin alike, and of names.
func TestPythonReadsTheSame(t *testing.T) {
	seed := testenv.Seed(t)
	trees := []*calltreetest.Planted{calltreetest.Small()}
	for i := range 20 {
		trees = append(trees, calltreetest.Random(testenv.Drawer(seed, fmt.Sprint(i)), i%3 == 0))
	}
	for i, p := range trees {
		dump := calltreetest.Dump(t, p.Tree)
		for _, unit := range []time.Duration{time.Microsecond, time.Nanosecond} {
			if out := verify(t, p.Tree, dump, unit); out != "" {
				t.Errorf("tree %d: %s", i, out)
			}
		}
	}
}

// The test of the test: the reader finds two microseconds, and a nanosecond where the file is exact.
func TestPythonFindsADifference(t *testing.T) {
	p := calltreetest.Small()
	dump := calltreetest.Dump(t, p.Tree)
	p.Values[1].NS[6]++
	if out := verify(t, p.Tree, dump, time.Nanosecond); !strings.Contains(out, "Cluster_3") {
		t.Errorf("%q", out)
	}
	p.Values[1].NS[6] += 2000
	if out := verify(t, p.Tree, dump, time.Microsecond); !strings.Contains(out, "Cluster_3") {
		t.Errorf("%q", out)
	}
}
