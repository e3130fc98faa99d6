package mpix

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
)

// Members on two nodes, which see neither each other's processes nor shared memory, started by srun.
func TestUnderSlurm(t *testing.T) {
	cluster := slurmtest.Start(t, 2, 2)
	for _, c := range []struct {
		mpitest.MPI
		plugin, other string
		refused       string // the message by way of the other
		members       int
	}{
		{mpitest.OpenMPI, "pmix", "pmi2", "MPI_Init_thread", 4}, // by Open MPI itself
		{mpitest.MPICH, "pmi2", "pmix", "(SLURM_STEP_NUM_TASKS=2)", 2},
	} {
		t.Run(c.Name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "mpix.test")
			c.Go(t, ".", "test", "-c", "-tags", "mpi", "-o", program)
			start := func(plugin, part string) (int, string) {
				return await(t, part, cluster.Environ(), "srun", "--nodes=2", "--ntasks="+strconv.Itoa(c.members), "--mpi="+plugin,
					"--kill-on-bad-exit=1", "env", "MPIX_TEST="+part, program)
			}
			if status, said := start(c.plugin, "properties"); status != 0 {
				t.Errorf("properties: status %d\n%s", status, said)
			}
			for _, part := range []string{"abort", "kill", "panic", "exit"} {
				if status, said := start(c.plugin, part); status == 0 {
					t.Errorf("%s: status 0\n%s", part, said)
				}
			}
			// A library that is started in a way that it does not know.
			if status, said := start(c.other, "properties"); status == 0 || !strings.Contains(said, c.refused) {
				t.Errorf("--mpi=%s: status %d\n%s", c.other, status, said)
			}
		})
	}
}
