package slurm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/slurmtest"
)

// few are the arguments of the planted mini-app where 16 ranks share two cores.
var few = []string{"1", "1000", "1000", "1000", "5", "2"}

func TestSidecar(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	for _, mpi := range both {
		t.Run(mpi.Name, func(t *testing.T) {
			b := newBatch(t, c, mpi.slurm)
			job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, script(t, "sidecar.sbatch"), append([]string{mpi.App(t, "planted")}, few...)...)
			b.end(t, job, "COMPLETED")
			b.whole(t, job, 16, 4)
			b.clean(t)
		})
	}
}

func TestHetjob(t *testing.T) {
	c := slurmtest.Start(t, 5, 4)
	for _, mpi := range both {
		t.Run(mpi.Name, func(t *testing.T) {
			b := newBatch(t, c, mpi.slurm)
			b.env = append(b.env, "LD_PRELOAD="+aLibrary(t)) // some users' programs need one, whatever is measured
			job := b.submit(t, []string{"--nodes=1", "--ntasks=1", ":", "--nodes=4", "--ntasks-per-node=4"},
				script(t, "hetjob.sbatch"), append([]string{mpi.App(t, "planted")}, few...)...)
			b.end(t, job, "COMPLETED")
			b.whole(t, job, 16, 4)
		})
	}
}

// Several collectors, on nodes of their own, are an MPI job as the program is one.
func TestCollectors(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	for _, mpi := range both {
		t.Run(mpi.Name, func(t *testing.T) {
			b := newBatch(t, c, mpi.slurm)
			bin := t.TempDir()
			if err := os.Symlink(mpi.Program(t), filepath.Join(bin, "moriens-mpi")); err != nil {
				t.Fatal(err)
			}
			for i, v := range b.env {
				if path, is := strings.CutPrefix(v, "PATH="); is {
					b.env[i] = "PATH=" + bin + ":" + path
				}
			}
			job := b.submit(t, []string{"--nodes=2", "--ntasks-per-node=1", ":", "--nodes=2", "--ntasks-per-node=4"},
				script(t, "collectors.sbatch"), append([]string{mpi.App(t, "planted")}, few...)...)
			b.end(t, job, "COMPLETED")
			b.whole(t, job, 8, 2)
			if out := b.output(job); !strings.Contains(out, "one of 2 collectors") || strings.Count(out, "results: ") != 1 {
				t.Errorf("the output is\n%s", out)
			}
		})
	}
}

// aLibrary is one that can be preloaded and does nothing.
func aLibrary(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{"/lib/*-linux-gnu/libm.so.6", "/lib64/libm.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("no libm.so.6")
	return ""
}
