package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// The benchmark measures both programs under both MPIs and prints a whole row for each. The figures are not checked.
func TestBench(t *testing.T) {
	testenv.Need(t, "mpicc.openmpi", "mpirun.openmpi", "mpicc.mpich", "mpiexec.mpich", "lmp", "eztrace")
	bin := filepath.Dir(mpitest.Library(t))
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "moriens"), "../../cmd/moriens")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	if err := run(&out, "../..", bin, "", 2, 20); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"| LAMMPS | Open MPI", "| halo exchange | Open MPI", "| halo exchange | MPICH"} {
		for _, tool := range []string{"none", "moriens", "EZTrace"} {
			if row := program + " | " + tool + " | 2 | "; strings.Count(out.String(), row) != 1 {
				t.Errorf("no %q in\n%s", row, out.String())
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines[1:] {
		if strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("columns: %s", line)
		}
	}
}
