/* A library of which there are several files of one name: their functions differ in what they call in each second
 * trip. */
#include <mpi.h>

#ifndef SECOND
#define SECOND MPI_Barrier(comm)
#endif

int step(int trips, MPI_Comm comm)
{
	double x = 1, sum;

	for (int i = 0; i < trips; i++) {
		if (MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS) return 1;
		if (i % 2 == 0 && SECOND != MPI_SUCCESS) return 1;
	}
	return 0;
}
