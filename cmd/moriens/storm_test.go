package main_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

var (
	stormRuns  = flag.Int("runs", 1, "how often each program of TestNothingLost and TestKindsJob runs")
	stormTable = flag.String("runs-table", "", "file to which it appends the results")
)

// busy keeps all processors busy until the test ends.
func busy(t *testing.T) {
	for range runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			loop.Process.Kill()
			loop.Wait()
		})
	}
}

// appendToTable appends to the table that was asked for.
func appendToTable(t *testing.T, text string) {
	if *stormTable == "" {
		return
	}
	f, err := os.OpenFile(*stormTable, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// Programs that make calls faster than any agent reads them lose none with the ring of the usual size, while all
// processors have other work: it grows for as long as the agent does not read it.
func TestNothingLost(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	hpccinf, err := os.ReadFile("../../testdata/hpcc/hpccinf.txt")
	if err != nil {
		t.Fatal(err)
	}
	moriens := binary(t)
	storm := mpitest.MPI(mpitest.OpenMPI).App(t, "storm")
	busy(t)
	appendToTable(t, "\nPrograms that call MPI as fast as they can, on two ranks under `moriens run` with the ring of the\nusual size, while all cores are busy with other work:\n\n| program | runs | MPI calls recorded | lost |\n|---|---|---|---|\n")
	for _, c := range []struct {
		name    string
		program []string
	}{
		{"hpcc", []string{"hpcc"}},
		{"ping-pong", []string{storm, "pingpong", "40000"}},
		{"storm of polls", []string{storm, "polls", "20000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Need(t, c.program[0])
			all, lost := 0, 0
			for i := range *stormRuns {
				counts, dir, out := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "run"+strconv.Itoa(i))
				if err := os.WriteFile(filepath.Join(dir, "hpccinf.txt"), hpccinf, 0o644); err != nil {
					t.Fatal(err)
				}
				o := execute(t, []string{"MINIAPP_OUT=" + counts}, append([]string{"env", "-C", dir, moriens, "run", "--moriens-timeout", "10m", "--out", out, "--"},
					mpitest.OpenMPI.Args(2, "", c.program...)...)...)
				if o.status != 0 {
					t.Fatalf("run %d: status %d\n%s%s", i, o.status, o.stdout, o.stderr)
				}
				m := readManifest(t, out)
				calls := 0
				for _, n := range m.MPICalls {
					calls += n
				}
				all += calls
				lost += m.Dropped
				t.Logf("run %d: %d calls, %d bursts, %d dropped", i, calls, m.Bursts, m.Dropped)
				if m.Ranks != 2 || m.Dropped != 0 || m.MPICalls["MPI_Init"] != 2 || m.MPICalls["MPI_Finalize"] != 2 {
					t.Errorf("run %d: %+v", i, m)
				}
				if c.program[0] != storm {
					continue
				}
				if d := cmp.Diff(sum(mpitest.Counts(t, counts)), m.MPICalls); d != "" {
					t.Errorf("run %d: MPI calls differ (-made +recorded):\n%s", i, d)
				}
			}
			if !t.Failed() || lost > 0 {
				appendToTable(t, fmt.Sprintf("| %s | %d | %d | %d |\n", c.name, *stormRuns, all, lost))
			}
		})
	}
}
