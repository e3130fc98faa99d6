/*
 * Several threads of each rank exchange messages at once, under MPI_THREAD_MULTIPLE:
 *
 *	crowd [-t THREADS] [-i ITERATIONS] [-b BATCH] [-w WORK] [-p PAUSE] [-x STATUS]
 *
 * In each iteration a thread sends BATCH numbers to the same thread of the next rank, receives as many from the rank
 * before, waits for all, and computes WORK steps; the first threads of all ranks synchronise every 16 iterations. Every
 * 64 iterations a thread pauses PAUSE us. Rank 0 prints the sum of what all received, "result R", and all exit with
 * STATUS. Calls are counted in memory that is kept however a rank ends (planted_share), each just before it is made.
 * A count of 0 is named after the rank, because nothing else shows whose counts they are.
 */
#include "planted.h"

#include <pthread.h>

enum { MAX_THREADS = 16, MAX_BATCH = 64 };

static int rank, size, batch = 4;
static long iterations = 1000, work = 100;
static useconds_t pause_us;
static uint64_t sums[MAX_THREADS];

/* value is what a thread of a rank sends; the test adds them up too. */
static uint64_t value(int of, int thread, long i, int b)
{
	uint64_t x = (uint64_t)of * 1000003 + (uint64_t)thread * 7919 + (uint64_t)i * 127 + (uint64_t)b;

	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static volatile uint64_t computed;

static void *run(void *argument)
{
	int thread = *(int *)argument, next = (rank + 1) % size, before = (rank + size - 1) % size;
	uint64_t in[MAX_BATCH], out[MAX_BATCH], sum = 0, meeting = 1, all;
	MPI_Request requests[2 * MAX_BATCH];

	for (long i = 0; i < iterations; i++) {
		for (int b = 0; b < batch; b++)
			MPI(Irecv, &in[b], 1, MPI_UINT64_T, before, thread, MPI_COMM_WORLD, &requests[b]);
		for (int b = 0; b < batch; b++) {
			out[b] = value(rank, thread, i, b);
			MPI(Isend, &out[b], 1, MPI_UINT64_T, next, thread, MPI_COMM_WORLD, &requests[batch + b]);
		}
		MPI(Waitall, 2 * batch, requests, MPI_STATUSES_IGNORE);
		for (int b = 0; b < batch; b++)
			sum += in[b];
		for (long w = 0; w < work; w++)
			computed = computed * 31 + (uint64_t)w;
		if (thread == 0 && i % 16 == 0)
			MPI(Allreduce, &meeting, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		if (pause_us > 0 && i % 64 == 63)
			usleep(pause_us);
	}
	sums[thread] = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = 1, status = 0, option, provided, numbers[MAX_THREADS];
	pthread_t others[MAX_THREADS];
	uint64_t sum = 0, all = 0;
	char own[24];

	planted_share();
	/* Threads that count do not make names. */
	for (size_t i = 0; i < 7; i++)
		planted_add((const char *[]){"MPI_Init_thread", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Reduce", "MPI_Finalize"}[i], 0);
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(own, sizeof own, "rank %d", rank);
	planted_add(own, 0);
	while ((option = getopt(argc, argv, "t:i:b:w:p:x:")) != -1) {
		switch (option) {
		case 't': threads = atoi(optarg); break;
		case 'i': iterations = atol(optarg); break;
		case 'b': batch = atoi(optarg); break;
		case 'w': work = atol(optarg); break;
		case 'p': pause_us = (useconds_t)atol(optarg); break;
		case 'x': status = atoi(optarg); break;
		default: MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	if (provided != MPI_THREAD_MULTIPLE || threads < 1 || threads > MAX_THREADS || batch < 1 || batch > MAX_BATCH)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int i = 0; i < threads; i++) {
		numbers[i] = i;
		if (i > 0 && pthread_create(&others[i], NULL, run, &numbers[i]) != 0)
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	run(&numbers[0]);
	for (int i = 0; i < threads; i++) {
		if (i > 0)
			pthread_join(others[i], NULL);
		sum += sums[i];
	}
	MPI(Reduce, &sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("result %llu\n", (unsigned long long)all);
		fflush(stdout);
	}
	MPI(Finalize);
	if (getenv("MINIAPP_OUT") != NULL)
		report(rank);
	return status;
}
