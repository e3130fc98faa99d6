/*
 * MPI_Isendrecv round a ring: from the rank before, from anybody, and with any tag, between ordinary messages whose
 * statuses its requests may be given. MPICH's status of it has no content. Every message is shorter than there is room
 * for, and of another length. At the end, with a second argument, rank 0 receives from anybody what ranks 1 and 2 both
 * send, so that nothing shows which was first.
 */
#include "checked.h"

#define MOST 64

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, size;
	char out[MOST] = {0}, in[MOST];
	MPI_Request request;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int i = 0; i < rounds; i++) {
		int bytes = 1 + i % 8;
		MPI(Isendrecv, out, bytes, MPI_CHAR, next, 0, in, MOST, MPI_CHAR, before, 0, MPI_COMM_WORLD, &request);
		MPI(Wait, &request, MPI_STATUS_IGNORE);
		MPI(Isendrecv, out, bytes + 8, MPI_CHAR, next, 1, in, MOST, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
		MPI(Wait, &request, MPI_STATUS_IGNORE);
		MPI(Irecv, in, MOST, MPI_CHAR, before, 2, MPI_COMM_WORLD, &request);
		MPI(Send, out, bytes + 16, MPI_CHAR, next, 2, MPI_COMM_WORLD);
		MPI(Wait, &request, MPI_STATUS_IGNORE);
	}
	for (int i = 0; argc > 2 && rank == 0 && i < size - 1; i++) {
		MPI(Isendrecv, out, 1, MPI_CHAR, i + 1, 3, in, MOST, MPI_CHAR, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
		MPI(Wait, &request, MPI_STATUS_IGNORE);
	}
	if (argc > 2 && rank != 0)
		MPI(Sendrecv, out, 1, MPI_CHAR, 0, 3, in, MOST, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Finalize);
	report(rank);
	return 0;
}
