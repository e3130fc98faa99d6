/*
 * Calls at a pace that a reader keeps up with, for what the reader takes to be measured from outside: 500,000 a second
 * and rank in portions of a millisecond.
 *
 *	steady CALLS
 *
 * Rank 0 prints "begin" before the first, and "end" when all ranks have made theirs and they can have been read.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PORTION 500 /* calls */

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000000;
	int rank, value = 0, received;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Barrier(MPI_COMM_WORLD);
	sleep_ms(500);
	if (rank == 0) {
		puts("begin");
		fflush(stdout);
	}
	for (long made = 0; made < calls; made += PORTION) {
		for (int i = 0; i < PORTION; i += 5) {
			MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
			MPI_Recv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			MPI_Sendrecv(&value, 1, MPI_INT, 0, 2, &received, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
			MPI_Allreduce(&value, &received, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
		}
		sleep_ms(1);
	}
	PMPI_Barrier(MPI_COMM_WORLD);
	sleep_ms(500);
	if (rank == 0) {
		puts("end");
		fflush(stdout);
	}
	PMPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
