/*
 * What MPI calls cost: for each kind of call, rounds of a loop that is timed as a whole, in turn by the names that the
 * library records (MPI_Send) and by those that go past it (PMPI_Send). In one process, because two processes differ by
 * more than what is looked for: where their memory lies, and what the machine does in that time.
 *
 *	calls ROUNDS CALLS
 *
 * prints a line "kind plain with" per round: nanoseconds per MPI call, of rank 0. A round makes no more calls than a
 * ring holds, and between rounds there is time for a reader to empty it.
 * Compiled with SDE it counts two events of its own.
 */
#include <mpi.h>
#ifdef SDE
#include <papi.h>
#include <sde_lib.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int rank, flag, value, received;
static unsigned turn;
static MPI_Request pending = MPI_REQUEST_NULL;

#define NAME(x) plain_##x
#define CALL(x, ...) PMPI_##x(__VA_ARGS__)
#include "kinds.h"
#define NAME(x) with_##x
#define CALL(x, ...) MPI_##x(__VA_ARGS__)
#include "kinds.h"

static const struct kind {
	const char *name;
	void (*plain)(void), (*with)(void);
	int calls; /* MPI calls of one */
	int share; /* its rounds make this many times fewer */
} kinds[] = {
	{"Iprobe", plain_iprobe, with_iprobe, 1, 1},
	{"Iprobe from 16 paths", plain_iprobe_varied, with_iprobe_varied, 1, 1},
	{"Test", plain_test_null, with_test_null, 1, 1},
	{"Send/Recv of nobody", plain_nobody, with_nobody, 2, 1},
	{"self Isend/Recv/Wait", plain_self_message, with_self_message, 3, 1},
	{"Allreduce on SELF", plain_allreduce_self, with_allreduce_self, 1, 1},
	{"ping-pong", plain_ping_pong, with_ping_pong, 2, 10},
};

/* Called through a chain of functions, so that a call path has five frames of the program. */
static __attribute__((noinline)) double round_1(void (*make)(void), long n)
{
	double start = now_ns();

	for (long i = 0; i < n; i++)
		make();
	return now_ns() - start;
}

static __attribute__((noinline)) double round_2(void (*make)(void), long n)
{
	double ns = round_1(make, n);

	return ns + 0 * now_ns();
}

static __attribute__((noinline)) double round_3(void (*make)(void), long n)
{
	double ns = round_2(make, n);

	return ns + 0 * now_ns();
}

static double round_of(void (*make)(void), long n)
{
	PMPI_Barrier(MPI_COMM_WORLD);
	double ns = round_3(make, n);
	usleep(30000);
	return ns;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	long calls = argc > 2 ? atol(argv[2]) : 20000;

#ifdef SDE
	static long long counts[2];
	papi_handle_t sde = papi_sde_init("bench");
	papi_sde_register_counter(sde, "a", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &counts[0]);
	papi_sde_register_counter(sde, "b", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &counts[1]);
#endif
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		long n = calls / k->calls / k->share;
		double made = (double)n * k->calls;

		for (int r = 0; r < rounds + 1; r++) { /* the first warms up */
			double plain = round_of(k->plain, n), with = round_of(k->with, n);
			if (rank == 0 && r > 0)
				printf("%s\t%.3f\t%.3f\n", k->name, plain / made, with / made);
		}
	}
	MPI_Finalize();
	return 0;
}
