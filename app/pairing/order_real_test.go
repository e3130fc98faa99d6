//go:build !quick

package pairing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
	"moriens/internal/testenv"
)

// alternating is four ranks of one world on two nodes: as many as two processors each can bind.
func alternating() *Result {
	return &Result{
		Ranks:     []Rank{{Rank: 0}, {Rank: 1}, {Rank: 2}, {Rank: 3}},
		Placement: &Placement{Nodes: []PlacementNode{{"n1", []int{0, 3}}, {"n2", []int{1, 2}}}},
	}
}

const alternatingLines = "[0 n1 1 n2 2 n2 3 n1]"

// Slurm and Open MPI put each rank on the node that their files say. Open MPI starts its ranks on the nodes of Slurm.
func TestLaunchers(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	c := slurmtest.Start(t, 2, 4)
	for name, launch := range map[string]struct{ format, command string }{
		"srun":                {OrderSlurm, `SLURM_HOSTFILE=$0 srun --mpi=none --distribution=arbitrary -n4 sh -c 'echo $SLURM_PROCID $(hostname)'`},
		"Open MPI, rankfile":  {OrderRankfile, mpitest.OpenMPI.Launcher + ` --rankfile $0 -n 4 sh -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'`},
		"Open MPI, host file": {OrderHostfile, mpitest.OpenMPI.Launcher + ` --map-by seq --hostfile $0 -n 4 sh -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'`},
	} {
		t.Run(name, func(t *testing.T) {
			file := orderFile(t, launch.format)
			script, out := filepath.Join(filepath.Dir(file), "script"), filepath.Join(filepath.Dir(file), "out")
			write(t, script, "#!/bin/sh\n"+strings.ReplaceAll(launch.command, "$0", file)+"\n")
			env := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
			job := c.Submit(t, env, "-N2", "--ntasks-per-node=4", "--output="+out, script)
			state := job.Wait(t, time.Minute)
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if state != "COMPLETED" || sortedLines(text) != alternatingLines {
				t.Errorf("job %s: %s", state, text)
			}
		})
	}
}

// MPICH's mpiexec puts each rank on the host that its file says. It starts them here, and prints the hosts' names.
// Ranks wait for each other: mpiexec dies of a broken pipe where a host's ranks end before it has started the next.
func TestMPICHHostfile(t *testing.T) {
	testenv.Need(t, mpitest.MPICH.Launcher)
	file := orderFile(t, OrderHostfile)
	out, err := exec.Command(mpitest.MPICH.Launcher, "-launcher", "fork", "-f", file, "-n", "4", "-prepend-pattern", "%r %h",
		"sh", "-c", `: >$0/$PMI_RANK; while test $(ls $0 | wc -l) -lt 4; do sleep .01; done; echo`, t.TempDir()).CombinedOutput()
	if err != nil || sortedLines(out) != alternatingLines {
		t.Errorf("%v: %s", err, out)
	}
}

func orderFile(t *testing.T, format string) string {
	t.Helper()
	var order strings.Builder
	if err := WriteOrder(&order, format, alternating()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "order")
	write(t, file, order.String())
	return file
}

func sortedLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
