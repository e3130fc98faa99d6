/*
 * What marks cost: begin and end of a phase by a name that never changes and by one that is looked up, and an event;
 * without the library that takes them, or with it. Prints lines "kind plain with" in ns, of a pair or of one event:
 * plain is the loop alone, in which there are none.
 *
 *	marks ROUNDS PAIRS
 *
 * Compiled with SDE it counts two events of its own.
 */
#include "moriens.h"

#include <mpi.h>
#ifdef SDE
#include <papi.h>
#include <sde_lib.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pause_between(void)
{
	struct timespec t = {0, 30000000};

	nanosleep(&t, NULL); /* the agent empties the ring */
}

#define LOOP(statements) \
	pause_between(); \
	start = now_ns(); \
	for (long i = 0; i < pairs; i++) { \
		statements; \
		__asm__ volatile("" ::: "memory"); \
	} \
	ns = (now_ns() - start) / (double)pairs

#define TIME(kind, statements) \
	do { \
		double start, ns, plain; \
		LOOP((void)0); \
		plain = ns; \
		LOOP(statements); \
		if (rank == 0 && round > 0) \
			printf("%s\t%.3f\t%.3f\n", kind, plain, ns); \
	} while (0)

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[1]) : 15, pairs = argc > 2 ? atol(argv[2]) : 30000;
	const char *name = argc > 3 ? argv[3] : "a name that is looked up";

	int rank;

#ifdef SDE
	static long long counts[2];
	papi_handle_t sde = papi_sde_init("bench");
	papi_sde_register_counter(sde, "a", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &counts[0]);
	papi_sde_register_counter(sde, "b", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &counts[1]);
#endif
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long round = 0; round <= rounds; round++) {
		TIME("phase, static name", MORIENS_BEGIN("solve"); MORIENS_END("solve"));
		TIME("phase, dynamic name", moriens_begin(name); moriens_end(name));
		TIME("event, static name", MORIENS_EVENT("residual", i));
	}
	MPI_Finalize();
	return 0;
}
