/*
 * A job that lasts until a file is there:
 *
 *	until FILE
 *
 * Every rank sleeps some 2 ms, and then all ask rank 0 whether the file is there.
 */
#include "planted.h"

int main(int argc, char **argv)
{
	int rank, over = argc < 2;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	while (!over) {
		usleep(2000);
		over = rank == 0 && access(argv[1], F_OK) == 0;
		MPI(Bcast, &over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI(Finalize);
	report(rank);
	return 0;
}
