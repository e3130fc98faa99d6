/*
 * A planted imbalance: thread t of rank r of n works (r · THREADS + t + 1) · UNIT_US between two barriers, ITERATIONS
 * times:
 *
 *	unequal [ITERATIONS [UNIT_US [THREADS]]]
 *
 * Work is waiting for a moment, so that it needs no core and takes as long on a machine that is shared. Each thread has
 * a communicator of its own with those of the same number on other ranks. How long its work took, in ns by
 * CLOCK_MONOTONIC, is in $MINIAPP_OUT/work.<rank>.<thread>: the readings lie just behind the call before it and just
 * before the call after it. The first thread's holds the time in which it waits for the others too.
 */
#include "checked.h"

#include <pthread.h>

struct worker {
	MPI_Comm comm;
	int number;
	int64_t worked, left; /* ns; when it left its last call */
};

static long iterations = 20, unit_us = 5000;
static int threads = 1;

static void wait_until(int64_t ns)
{
	struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	int64_t ns = ((int64_t)rank * threads + w->number + 1) * unit_us * 1000;

	MPI_Barrier(w->comm);
	for (long i = 0; i < iterations; i++) {
		int64_t start = now_ns();

		wait_until(start + ns);
		w->worked += now_ns() - start;
		MPI_Barrier(w->comm);
	}
	w->left = now_ns();
	return NULL;
}

static void report_work(struct worker *w)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/work.%d.%d", getenv("MINIAPP_OUT"), rank, w->number);
	f = fopen(path, "w");
	expect(f != NULL && fprintf(f, "%lld\n", (long long)w->worked) > 0 && fclose(f) == 0, path);
}

int main(int argc, char **argv)
{
	struct worker *workers;
	pthread_t *others;
	int provided;

	if (argc > 1)
		iterations = atol(argv[1]);
	if (argc > 2)
		unit_us = atol(argv[2]);
	if (argc > 3)
		threads = atoi(argv[3]);
	MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	expect(threads == 1 || provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	workers = calloc((size_t)threads, sizeof *workers);
	others = calloc((size_t)threads, sizeof *others);
	for (int t = 0; t < threads; t++) {
		workers[t].number = t;
		MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
	}
	for (int t = 1; t < threads; t++)
		expect(pthread_create(&others[t], NULL, work, &workers[t]) == 0, "pthread_create");
	work(&workers[0]);
	for (int t = 1; t < threads; t++)
		pthread_join(others[t], NULL);
	workers[0].worked += now_ns() - workers[0].left; /* waiting for threads is outside MPI */
	MPI_Finalize();
	for (int t = 0; t < threads; t++)
		report_work(&workers[t]);
	return 0;
}
