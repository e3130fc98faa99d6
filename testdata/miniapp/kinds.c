/*
 * Four kinds of computation between the same two MPI calls:
 *
 *	kinds [-n ITERATIONS] [-r SLOW_RANK] [-s]
 *
 * An iteration is bursts of 1.1, 2.1, 3.2 and 4.1 ms, in this order, each before the same MPI_Allreduce in the source.
 * A kind is a fixed number of operations, the same on every rank: rank 0 finds once how long one takes. With -s it
 * sleeps so long instead. SLOW_RANK has 30 % more of every kind.
 *
 * One more MPI_Allreduce of the same line comes before the first burst, and nothing but MPI_Finalize after the last. So
 * a rank has 4 × ITERATIONS bursts between that call and itself, in time order 0, 1, …, and burst i is of kind i modulo
 * 4.
 *
 * Every rank writes a line "kind start_ns end_ns" per burst, in CLOCK_MONOTONIC, to $MINIAPP_OUT/bursts.<rank>.
 */
#include "planted.h"

static const int64_t kinds_ns[] = {1100000, 2100000, 3200000, 4100000};
#define KINDS ((int)(sizeof kinds_ns / sizeof kinds_ns[0]))

static volatile double value = 1; /* so that the compiler leaves the operations where they are */

static void __attribute__((noinline)) operations(int64_t n)
{
	double x = value;

	for (int64_t i = 0; i < n; i++)
		x = x * .999999 + 1e-6;
	value = x;
}

/* Of many tries the quickest is one that nothing disturbed. */
static double operations_per_ns(void)
{
	const int64_t n = 100000;
	int64_t least = INT64_MAX;

	for (int i = 0; i < 100; i++) {
		int64_t start = now_ns();

		operations(n);
		int64_t took = now_ns() - start;
		if (took < least)
			least = took;
	}
	return (double)n / (double)least;
}

static void work(int kind, double share, int asleep, double per_ns)
{
	double ns = (double)kinds_ns[kind] * share;
	struct timespec t = {0, (long)ns};

	if (asleep)
		nanosleep(&t, NULL);
	else
		operations((int64_t)(ns * per_ns));
}

static void __attribute__((noinline)) meet(void)
{
	double one = 1, sum;

	MPI(Allreduce, &one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, option, slow = -1, asleep = 0;
	long iterations = 100;
	double per_ns = 0;
	struct { int64_t start, end; } *bursts;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	while ((option = getopt(argc, argv, "n:r:s")) != -1) {
		switch (option) {
		case 'n': iterations = atol(optarg); break;
		case 'r': slow = atoi(optarg); break;
		case 's': asleep = 1; break;
		default: MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	size_t bytes = ((size_t)iterations * KINDS + 1) * sizeof *bursts;
	bursts = malloc(bytes);
	memset(bursts, 0, bytes); /* no page fault inside a burst */
	if (rank == 0)
		per_ns = operations_per_ns();
	MPI(Bcast, &per_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	meet();
	for (long i = 0; i < iterations * KINDS; i++) {
		bursts[i].start = now_ns();
		work((int)(i % KINDS), rank == slow ? 1.3 : 1, asleep, per_ns);
		bursts[i].end = now_ns();
		meet();
	}
	MPI(Finalize);

	FILE *f = planted_open();
	for (long i = 0; i < iterations * KINDS; i++)
		fprintf(f, "%d %lld %lld\n", (int)(i % KINDS), (long long)bursts[i].start, (long long)bursts[i].end);
	planted_close(f, "bursts", rank);
	free(bursts);
	report(rank);
	return 0;
}
