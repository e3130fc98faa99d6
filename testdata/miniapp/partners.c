/*
 * So many messages that most of them are in no window: in each of ITERATIONS, every rank sends one to the next rank.
 * Once, in the middle, rank 0 sends another one to rank 5 from the same place, which is larger, and in iterations that
 * are spread over the run each rank sends one across the ring.
 *
 *	partners [ITERATIONS]
 */
#include <mpi.h>
#include <stdlib.h>

#define MOST 4000
#define FAR 5

static char data[MOST];

/* Sends so many messages: the first one to the next rank. */
static void send_all(int many, int next)
{
	for (int k = 0; k < many; k++)
		MPI_Send(data, k ? MOST : 800, MPI_CHAR, k ? FAR : next, 0, MPI_COMM_WORLD);
}

static void receive_all(int many, int before)
{
	for (int k = 0; k < many; k++)
		MPI_Recv(data, MOST, MPI_CHAR, k ? 0 : before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int rank, size;
	long iterations = argc > 1 ? atol(argv[1]) : 3000;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (long i = 0; i < iterations; i++) {
		int seldom = i == iterations / 2 + 3;
		send_all(1 + (seldom && rank == 0), (rank + 1) % size);
		receive_all(1 + (seldom && rank == FAR), (rank + size - 1) % size);
		if (i % (iterations / 4) == 17) {
			int across = (rank + size / 2) % size;
			MPI_Sendrecv(data, 64, MPI_CHAR, across, 1, data + 64, 64, MPI_CHAR, across, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		if (i % 10 == 9)
			MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
