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

// The benchmark measures every kind of call in every way, and sets the figures beside all five budgets. They are not
// checked.
func TestBench(t *testing.T) {
	for _, m := range libraries {
		testenv.Need(t, m.cc, strings.Fields(m.launcher)[0])
	}
	bin := filepath.Dir(mpitest.Library(t))
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "moriens"), "../../cmd/moriens")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	b := benchmark{bin: bin, runs: 1, rounds: 1, calls: 3000, steady: 20_000, out: &out}
	if err := b.run("../.."); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, m := range libraries {
		for _, v := range variants {
			want := map[string]int{"calls": 7, "deep": 4, "marks": 3}[v.program]
			if n := strings.Count(text, "| "+m.name+" | "+v.name+" | "); n != want {
				t.Errorf("%s, %s: %d kinds of calls", m.name, v.name, n)
			}
		}
	}
	for _, want := range []string{
		"| an MPI call, return address | 25 ns | ", "| an MPI call, five frames | 100 ns | ", "| an MPI call, agent and collector | 1000 ns of processor time | ",
		"| Open MPI | 40000 of 40000 | ", "| MPICH | 40000 of 40000 | ", "| memory of a thread | 4 MiB | ", "| start of /bin/true | 0.5 ms | ",
		"| record | ", "| record, ring full | ", "| Open MPI | Allreduce on SELF | ", "| MPICH | self Isend/Recv/Wait | ",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(b.budgets) != 5 {
		t.Errorf("%d budgets", len(b.budgets))
	}
}
