/* Calls three barriers. Takes the addresses of functions, of which the linker makes stubs in an executable with fixed
 * addresses; or, where OWN is defined, has wrappers of MPI_Init and MPI_Finalize itself, which go on to PMPI. */
#include <mpi.h>

#ifdef OWN
int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }
int MPI_Finalize(void) { return PMPI_Finalize(); }
#endif

int main(int argc, char **argv)
{
	/* In code, not in data, which the loader could fill in. */
	int (*volatile init)(int *, char ***) = MPI_Init;
	int (*volatile barrier)(MPI_Comm) = MPI_Barrier;
	int (*volatile finalize)(void) = MPI_Finalize;

	init(&argc, &argv);
	for (int i = 0; i < 3; i++)
		barrier(MPI_COMM_WORLD);
	return finalize();
}
