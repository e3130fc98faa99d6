//go:build !quick

package export

import (
	"path/filepath"
	"testing"
	"time"

	"moriens/app/profiling"
	"moriens/internal/testenv"
	"moriens/trace/calltree/calltreetest"
)

// Readers that share no code find in the exports of a run directory what is in its tree, in every shape.
func TestPythonReadsProfiles(t *testing.T) {
	testenv.NeedFile(t, calltreetest.Python3)
	shapes := []profiling.By{"", profiling.ByCallPath, profiling.ByCall, profiling.ByCluster}
	pythonReads(t, profiled(t, 3), append(shapes, profiling.ByPhase))
	pythonReads(t, earlier(t, 2), shapes)
}

func pythonReads(t *testing.T, dir string, shapes []profiling.By) {
	t.Helper()
	for _, by := range shapes {
		shape, err := (&ProfileConfig{By: by}).shape()
		if err != nil {
			t.Fatal(err)
		}
		dump := calltreetest.Dump(t, profileTree(t, dir, shape))
		for _, x := range []struct {
			format, reader string
			more           []string
		}{{Pprof, "pprof", nil}, {Folded, "folded", []string{"us"}}, {Hatchet, "hatchet", nil}, {TAU, "tauprofile", nil}} {
			out := filepath.Join(t.TempDir(), "out")
			exportProfile(t, ProfileConfig{Dir: dir, By: by, Format: x.format, Unit: time.Microsecond, Out: out})
			reader := filepath.Join("..", "..", "trace", x.reader, "testdata", "verify.py")
			if found := calltreetest.Python(t, append([]string{reader, out, dump}, x.more...)...); found != "" {
				t.Errorf("by %q, %s: %s", by, x.format, found)
			}
		}
	}
}
