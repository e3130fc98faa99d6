//go:build !quick

package pprof

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"moriens/internal/testenv"
	"moriens/trace/calltree/calltreetest"
)

// A reader that shares no code finds all values, by stack, labels, thread and name.
func TestPythonReadsTheSame(t *testing.T) {
	testenv.NeedFile(t, calltreetest.Python3)
	seed := testenv.Seed(t)
	trees := []*calltreetest.Planted{calltreetest.Small()}
	for i := range 20 {
		trees = append(trees, calltreetest.Random(testenv.Drawer(seed, fmt.Sprint(i)), i%3 == 0))
	}
	for _, p := range trees {
		if out := calltreetest.Python(t, "testdata/verify.py", write(t, p.Tree, Options{}), calltreetest.Dump(t, p.Tree)); out != "" {
			t.Error(out)
		}
	}
}

// Where samples by rank are too many, all threads are summed, and a comment says so.
func TestSummed(t *testing.T) {
	testenv.NeedFile(t, calltreetest.Python3)
	p := calltreetest.Small()
	most := 0
	for _, v := range p.Values {
		for i := range v.NS {
			if v.NS[i] != 0 {
				most++
			}
		}
	}
	dump := calltreetest.Dump(t, p.Tree)
	if out := calltreetest.Python(t, "testdata/verify.py", write(t, p.Tree, Options{Most: most}), dump); out != "" {
		t.Error(out)
	}
	if out := calltreetest.Python(t, "testdata/verify.py", write(t, p.Tree, Options{Most: most - 1}), dump, "summed"); out != "" {
		t.Error(out)
	}
}

// The test of the test: the reader finds a nanosecond.
func TestPythonFindsANanosecond(t *testing.T) {
	testenv.NeedFile(t, calltreetest.Python3)
	p := calltreetest.Small()
	path := write(t, p.Tree, Options{})
	p.Values[1].NS[6]++
	if out := calltreetest.Python(t, "testdata/verify.py", path, calltreetest.Dump(t, p.Tree)); !strings.Contains(out, "6000001") {
		t.Errorf("%q", out)
	}
}

func expect(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(out) {
			t.Errorf("no %q in\n%s", p, out)
		}
	}
}

// go tool pprof prints the totals of the tree.
func TestGoToolPprof(t *testing.T) {
	testenv.Need(t, "go")
	p := calltreetest.Small()
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	path := write(t, p.Tree, Options{Start: start, Duration: 10 * time.Millisecond})
	top := calltreetest.GoToolPprof(t, "-top", "-unit=ns", "-nodefraction=0", path)
	// MPI_Wait: 1000400+2000400+400+3000000+500; the cluster 11000000; all 17001715. In itself, adi counts once.
	expect(t, top, `^Type: time$`, `^Duration: 10ms, Total samples = 17001715ns`, `^ *11000000ns .* 11000000ns .* Cluster 3$`, `^ *6001700ns .* 6001700ns .* MPI_Wait$`, `^ *15ns .* 15ns .* unrecorded$`, `^ *0 .* 17001700ns .* adi$`, `^ *0 .* 17000800ns .* x_solve$`, `^ *0 .* 17001715ns .* bt$`)
	expect(t, calltreetest.GoToolPprof(t, "-top", "-sample_index=calls", path), `^ *11 .* MPI_Wait$`, `^ *11 .* Cluster 3$`)
	expect(t, calltreetest.GoToolPprof(t, "-top", "-sample_index=PAPI_TOT_INS", path), `Cluster 3$`, `Total samples = `)
	expect(t, calltreetest.GoToolPprof(t, "-top", "-sample_index=sent", "-unit=B", path), `^ *88B .* MPI_Wait$`)
	expect(t, calltreetest.GoToolPprof(t, "-tags", "-unit=ns", path), `rank: Total 17001715ns`, `^ +9000508ns .*: 1$`, `^ +8001207ns .*: 0$`, `cluster: Total 11000000ns`, `thread: Total`)
	expect(t, calltreetest.GoToolPprof(t, "-traces", "-unit=ns", path), `(?s)rank: +0\n +thread: +0\n +2000400ns +MPI_Wait\n +x_solve\n +adi\n +main\n +bt`)
	expect(t, calltreetest.GoToolPprof(t, "-top", "-unit=ns", "-tagfocus=rank=^1$", path), `Total samples = 17001715ns`, `^ *6000000ns .* Cluster 3$`)
	expect(t, calltreetest.GoToolPprof(t, "-top", "-lines", "-unit=ns", "-nodefraction=0", path), ` 4000400ns .* x_solve x_solve.f:72$`, ` 2000400ns .* x_solve x_solve.f:80$`)
	expect(t, calltreetest.GoToolPprof(t, "-comments", path), `mpirun -n 2 ./bt`, `mpi: Open MPI 4.1.4`)

	// Of two runs the difference is shown.
	p.Values[0].NS[4] += 500_000
	slower := write(t, p.Tree, Options{})
	expect(t, calltreetest.GoToolPprof(t, "-top", "-unit=ns", "-diff_base="+path, slower), `^ *500000ns .* MPI_Wait$`)
}
