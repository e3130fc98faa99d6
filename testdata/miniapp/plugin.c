/* An MPI program as a plugin: see host.c. */
#include "planted.h"

int plugin_main(int argc, char **argv);

int plugin_main(int argc, char **argv)
{
	int rank, one = 1, sum;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 50; i++)
		MPI(Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI(Finalize);
	report(rank);
	return 0;
}
