/*
 * A planted imbalance: thread t of rank r of n works (r · THREADS + t + 1) · UNIT_US between two barriers, ITERATIONS
 * times:
 *
 *	unequal [ITERATIONS [UNIT_US [THREADS]]]
 *
 * Work is waiting for a moment, so that it needs no core and takes as long on a machine that is shared. Each thread has
 * a communicator of its own with those of the same number on other ranks. When it was between two MPI calls is in
 * $MINIAPP_OUT/work.<rank>.<thread>: a line for each time, begin and end in ns by CLOCK_MONOTONIC, read right after the
 * call before it and right before the call after it. Those of the first thread begin with MPI_Init and end with
 * MPI_Finalize.
 */
#include "checked.h"

#include <pthread.h>
#include <semaphore.h>

struct worker {
	MPI_Comm comm;
	int number;
	long stretches; /* that have begun */
	int64_t (*at)[2]; /* ns */
};

static long iterations = 20, unit_us = 5000;
static int threads = 1;
static sem_t begun;

static void after_call(struct worker *w) { w->at[w->stretches++][0] = now_ns(); }
static void before_call(struct worker *w) { w->at[w->stretches - 1][1] = now_ns(); }

static void wait_until(int64_t ns)
{
	struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

/* Threads make their first calls in the order of their numbers. */
static void begin(struct worker *w)
{
	MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
	after_call(w);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	int64_t ns = ((int64_t)rank * threads + w->number + 1) * unit_us * 1000;

	if (w->number > 0) {
		begin(w);
		sem_post(&begun);
	}
	before_call(w);
	MPI_Barrier(w->comm);
	after_call(w);
	for (long i = 0; i < iterations; i++) {
		wait_until(w->at[w->stretches - 1][0] + ns);
		before_call(w);
		MPI_Barrier(w->comm);
		after_call(w);
	}
	return NULL;
}

static void report_work(struct worker *w)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/work.%d.%d", getenv("MINIAPP_OUT"), rank, w->number);
	f = fopen(path, "w");
	expect(f != NULL, path);
	for (long i = 0; i < w->stretches && w->at[i][1] > 0; i++) /* after its last call a thread's time has no end */
		expect(fprintf(f, "%lld %lld\n", (long long)w->at[i][0], (long long)w->at[i][1]) > 0, path);
	expect(fclose(f) == 0, path);
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
	workers = calloc((size_t)threads, sizeof *workers);
	others = calloc((size_t)threads, sizeof *others);
	for (int t = 0; t < threads; t++) {
		workers[t].number = t;
		workers[t].at = calloc((size_t)(iterations + 4), sizeof *workers[t].at);
	}
	MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	after_call(&workers[0]);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	expect(threads == 1 || provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	before_call(&workers[0]);
	begin(&workers[0]);
	sem_init(&begun, 0, 0);
	for (int t = 1; t < threads; t++) {
		expect(pthread_create(&others[t], NULL, work, &workers[t]) == 0, "pthread_create");
		while (sem_wait(&begun) != 0)
			;
	}
	work(&workers[0]);
	for (int t = 1; t < threads; t++)
		pthread_join(others[t], NULL);
	before_call(&workers[0]);
	MPI_Finalize();
	for (int t = 0; t < threads; t++)
		report_work(&workers[t]);
	return 0;
}
