/*
 * What MPI calls cost: for each kind of call, rounds of a loop that is timed as a whole.
 *
 *	calls ROUNDS CALLS
 *
 * prints a line "kind ns" per round: nanoseconds per MPI call, of rank 0. A round makes no more calls than a
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

static __attribute__((noinline)) void iprobe(void)
{
	MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* From 16 stacks that differ in their return addresses only. */
static unsigned turn;

#define LEVEL(name, below, bit) \
	static __attribute__((noinline)) void name(void) \
	{ \
		if (turn & (bit)) \
			below(); \
		else \
			below(); \
		__asm__ volatile(""); \
	}

LEVEL(level_1, iprobe, 1u)
LEVEL(level_2, level_1, 2u)
LEVEL(level_3, level_2, 4u)
LEVEL(level_4, level_3, 8u)

static void iprobe_varied(void)
{
	turn++;
	level_4();
}

static void test_null(void)
{
	MPI_Request request = MPI_REQUEST_NULL;

	MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void self_message(void)
{
	MPI_Request request;

	MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
	MPI_Recv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce_self(void)
{
	int sum;

	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void ping_pong(void)
{
	if (rank == 0) {
		MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
		MPI_Recv(&received, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		MPI_Recv(&received, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	}
}

static const struct kind {
	const char *name;
	void (*make)(void);
	int calls; /* MPI calls of one make */
	int share; /* its rounds make this many times fewer */
} kinds[] = {
	{"Iprobe", iprobe, 1, 1},
	{"Iprobe from 16 paths", iprobe_varied, 1, 1},
	{"Test", test_null, 1, 1},
	{"self Isend/Recv/Wait", self_message, 3, 1},
	{"Allreduce on SELF", allreduce_self, 1, 1},
	{"ping-pong", ping_pong, 2, 10},
};

/* Called through a chain of functions, so that a call path has five frames of the program. */
static __attribute__((noinline)) double round_1(const struct kind *k, long n)
{
	double start = now_ns();

	for (long i = 0; i < n; i++)
		k->make();
	return now_ns() - start;
}

static __attribute__((noinline)) double round_2(const struct kind *k, long n)
{
	double ns = round_1(k, n);

	return ns + 0 * now_ns();
}

static __attribute__((noinline)) double round_3(const struct kind *k, long n)
{
	double ns = round_2(k, n);

	return ns + 0 * now_ns();
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

		for (int r = 0; r < rounds + 1; r++) { /* the first warms up */
			MPI_Barrier(MPI_COMM_WORLD);
			double ns = round_3(k, n);
			if (rank == 0 && r > 0)
				printf("%s\t%.3f\n", k->name, ns / (double)n / k->calls);
			usleep(60000);
		}
	}
	MPI_Finalize();
	return 0;
}
