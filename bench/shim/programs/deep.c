/*
 * What call paths cost: MPI calls of rank 0 from 12 functions deep, some that the library records and some that go past
 * it in turn, as in calls.c, in processor time.
 *
 *	deep ROUNDS CALLS
 *
 * "one path" calls from one place always, "two callers in turn" from one call site that two functions reach, "64 paths
 * at random" likewise by a path of six branches. "gather" sums up random elements of an array that just fits into the
 * second-level cache, together with what the program and MPI need there, and calls MPI every 2,000 of them: what the
 * library displaces of it makes the gather slower too.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define GATHERED 2000
#define CHUNKS 40 /* of a round */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* without what others take of the processor */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int in = 1, out;
static unsigned turn;
static uint64_t random_bits = 1;
static double *elements, sum;
static size_t mask_elements;
static volatile unsigned sink;

/* The MPI call of both kinds has the same depth. */
static NOINLINE void call(int past)
{
	if (past)
		PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	else
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	sink++;
}

/* A frame of some size, which two call sites lead out of. */
#define FUNCTION(name, next, bit) \
	static NOINLINE void name(int past, unsigned path) \
	{ \
		volatile unsigned local[12]; \
		local[path % 12] = path; \
		if (path >> bit & 1) { \
			next(past, path); \
			__asm__ volatile("nop"); /* else the compiler makes them one */ \
		} else { \
			next(past, path); \
		} \
		sink += local[path % 12]; \
	}

static NOINLINE void deep_11(int past, unsigned path)
{
	call(past);
	sink += path;
}
FUNCTION(deep_10, deep_11, 8)
FUNCTION(deep_9, deep_10, 0)
FUNCTION(deep_8, deep_9, 1)
FUNCTION(deep_7, deep_8, 2)
FUNCTION(deep_6, deep_7, 3)
FUNCTION(deep_5, deep_6, 4)
FUNCTION(deep_4, deep_5, 5)
FUNCTION(deep_3, deep_4, 8)
FUNCTION(deep_2, deep_3, 8)
FUNCTION(deep_1, deep_2, 8)

static void one_path(int past) { deep_1(past, 0); }
static void two_callers(int past) { deep_1(past, turn++ & 1); }

static unsigned draw(void)
{
	random_bits = random_bits * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_bits >> 33);
}

static void many_paths(int past) { deep_1(past, draw() & 63); }

static void gather(int past)
{
	double s = 0;

	for (int i = 0; i < GATHERED; i++)
		s += elements[draw() & mask_elements];
	sum += s;
	deep_1(past, 0);
}

static const struct kind {
	const char *name;
	void (*make)(int past);
	int share;
} kinds[] = {
	{"12 deep, one path", one_path, 1},
	{"12 deep, two callers in turn", two_callers, 1},
	{"12 deep, 64 paths at random", many_paths, 1},
	{"12 deep, gather from the L2 cache", gather, 10},
};

static double chunk_of(void (*make)(int), int past, long n)
{
	double start = now_ns();

	for (long i = 0; i < n; i++)
		make(past);
	return (now_ns() - start) / (double)n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A line of the medians of short chunks, plain and recorded in turn: most are not disturbed. */
static void round_of(const struct kind *k, long n)
{
	static double plain[CHUNKS], with[CHUNKS];

	for (int i = 0; i < CHUNKS; i++) {
		plain[i] = chunk_of(k->make, 1, n / CHUNKS);
		with[i] = chunk_of(k->make, 0, n / CHUNKS);
	}
	qsort(plain, CHUNKS, sizeof *plain, by_size);
	qsort(with, CHUNKS, sizeof *with, by_size);
	printf("%s\t%.3f\t%.3f\n", k->name, plain[CHUNKS / 2], with[CHUNKS / 2]);
	usleep(30000);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, rank;
	long calls = argc > 2 ? atol(argv[2]) : 20000;
	long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
	size_t bytes = 256 << 10;

	while (cache > 0 && bytes * 2 <= (size_t)cache)
		bytes *= 2;
	mask_elements = bytes / sizeof *elements - 1;
	elements = calloc(mask_elements + 1, sizeof *elements);
	if (elements == NULL)
		return 1;
	for (size_t i = 0; i <= mask_elements; i++)
		elements[i] = (double)i;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		for (int r = 0; rank == 0 && r < rounds; r++)
			round_of(k, calls / k->share);
	}
	MPI_Finalize();
	return sum < 0;
}
