/*
 * MPI_THREAD_MULTIPLE: several threads of each of two ranks call MPI at once.
 *
 *	threads [THREADS [ROUNDS]]
 */
#include "planted.h"

#include <pthread.h>

static int rank, rounds;

static void *run(void *argument)
{
	int tag = *(int *)argument, value = rank, got;
	int peer = 1 - rank;
	MPI_Request request;

	for (int i = 0; i < rounds; i++) {
		MPI_Irecv(&got, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &request);
		MPI_Send(&value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (got != peer)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, provided, size;
	pthread_t thread[64];
	int tags[64];

	rounds = argc > 2 ? atoi(argv[2]) : 500;
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (provided != MPI_THREAD_MULTIPLE || size != 2 || threads > 64) {
		fprintf(stderr, "needs MPI_THREAD_MULTIPLE, 2 ranks and at most 64 threads\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI(Barrier, MPI_COMM_WORLD); /* both ranks are set up before any thread starts */
	for (int i = 0; i < threads; i++) {
		tags[i] = i;
		pthread_create(&thread[i], NULL, run, &tags[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	planted_add("MPI_Irecv", (long)threads * rounds);
	planted_add("MPI_Send", (long)threads * rounds);
	planted_add("MPI_Wait", (long)threads * rounds);
	MPI(Finalize);
	report(rank);
	return 0;
}
