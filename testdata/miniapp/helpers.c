/*
 * MPI_THREAD_MULTIPLE: the first thread of each rank computes and synchronises with all ranks, again and again. Other
 * threads compute at the same time and exchange messages with those of the neighbours, but make no collective call.
 *
 *	helpers [THREADS [ITERATIONS]]
 */
#include "planted.h"

#include <pthread.h>

static int rank, size, iterations;

static void compute(int n)
{
	volatile double x = 1;

	for (int i = 0; i < n * 2000; i++)
		x = x * 1.0000001 + 1e-9;
}

static void *help(void *argument)
{
	int tag = *(int *)argument, value = rank, got;
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request request;

	for (int i = 0; i < 3 * iterations; i++) {
		compute(4);
		MPI_Irecv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
		MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (got != left)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, provided;
	pthread_t thread[64];
	int tags[64];

	iterations = argc > 2 ? atoi(argv[2]) : 500;
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (provided != MPI_THREAD_MULTIPLE || threads > 64) {
		fprintf(stderr, "needs MPI_THREAD_MULTIPLE, and at most 64 threads\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI(Barrier, MPI_COMM_WORLD); /* all ranks are set up before any thread starts */
	for (int i = 1; i < threads; i++) {
		tags[i] = i;
		pthread_create(&thread[i], NULL, help, &tags[i]);
	}
	for (int i = 0; i < iterations; i++) {
		double mine = rank, sum;

		compute(10);
		MPI(Allreduce, &mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	planted_add("MPI_Irecv", 3L * (threads - 1) * iterations);
	planted_add("MPI_Send", 3L * (threads - 1) * iterations);
	planted_add("MPI_Wait", 3L * (threads - 1) * iterations);
	MPI(Finalize);
	report(rank);
	return 0;
}
