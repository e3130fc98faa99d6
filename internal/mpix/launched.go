package mpix

import (
	"fmt"
	"os"
	"strconv"

	"moriens/internal/hint"
)

// sizes are the variables by which launchers inform a process how many they have started together with it. Slurm's is
// that of the step: the script of a batch job, which is one process, has SLURM_NTASKS.
var sizes = []string{
	"OMPI_COMM_WORLD_SIZE", // Open MPI's mpirun
	"PMI_SIZE",             // MPICH's and Intel's mpiexec, srun --mpi=pmi2
	"MV2_COMM_WORLD_SIZE",  // MVAPICH's mpirun_rsh
	"SLURM_STEP_NUM_TASKS", // srun
}

// launched returns an error if a launcher has started several processes, and this one, which is alone, is one of them.
func launched() error {
	for _, name := range sizes {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < 2 {
			continue
		}
		err = fmt.Errorf("a launcher has started %d processes (%s=%d), but each one runs alone: ", n, name, n)
		unset := fmt.Sprintf("; if a single process is intended and the variable is left over: env -u %s moriens …", name)
		if linked := library(); linked != "" {
			return hint.With(fmt.Errorf("%wthis program is linked to %s, and the launcher belongs to another MPI", err, linked),
				"use the program of the launcher's MPI, moriens-mpi for Open MPI and moriens-mpi-mpich for MPICH; under srun, the right --mpi"+unset)
		}
		return hint.With(fmt.Errorf("%wthis program is built without MPI", err),
			"start one, or moriens-mpi, or for MPICH moriens-mpi-mpich, which make build-mpi builds"+unset)
	}
	return nil
}
