/*
 * What the library itself takes of a call, beside its two readings of the clock: chunks of a loop by the names that go
 * past it (PMPI_Send), by these with a reading before and after, and by those that it records (MPI_Send), in turn.
 *
 *	LD_PRELOAD=libmoriens.so MORIENS_RUN=… MORIENS_DRAIN=0 alone CHUNKS
 *
 * prints a line "kind plain clock with" per chunk: nanoseconds per MPI call. No agent takes part: the program itself
 * gives the slots of its ring back, between chunks. One rank; x86-64 and aarch64.
 */
#define _GNU_SOURCE
#include "shim_abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CALLS 900 /* of a chunk */

static int rank, flag, value, received;
static unsigned turn;
static MPI_Request pending;
static volatile uint64_t enter, leave;

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t now;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#endif
}

#define NAME(x) plain_##x
#define CALL(x, ...) PMPI_##x(__VA_ARGS__)
#include "kinds.h"
#define NAME(x) clock_##x
#define CALL(x, ...) \
	do { \
		enter = ticks(); \
		PMPI_##x(__VA_ARGS__); \
		leave = ticks(); \
	} while (0)
#include "kinds.h"
#define NAME(x) with_##x
#define CALL(x, ...) MPI_##x(__VA_ARGS__)
#include "kinds.h"

static const struct kind {
	const char *name;
	void (*by[3])(void);
	int calls; /* MPI calls of one */
} kinds[] = {
	{"Iprobe", {plain_iprobe, clock_iprobe, with_iprobe}, 1},
	{"Test of a null request", {plain_test_null, clock_test_null, with_test_null}, 1},
	{"Test of a pending one", {plain_test_pending, clock_test_pending, with_test_pending}, 1},
	{"Send/Recv of nobody", {plain_nobody, clock_nobody, with_nobody}, 2},
	{"self Isend/Recv/Wait", {plain_self_message, clock_self_message, with_self_message}, 3},
	{"Allreduce on SELF", {plain_allreduce_self, clock_allreduce_self, with_allreduce_self}, 1},
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* NULL: there is none. */
static struct moriens_ring *find_ring(void)
{
	char path[1024];
	const char *shm = getenv("MORIENS_SHM"), *run = getenv("MORIENS_RUN");
	struct moriens_ring *ring = NULL;

	snprintf(path, sizeof path, "%s/moriens-%u-%s", shm != NULL ? shm : "/dev/shm", (unsigned)getuid(), run != NULL ? run : "");
	DIR *directory = opendir(path);
	for (struct dirent *e; directory != NULL && ring == NULL && (e = readdir(directory)) != NULL;) {
		if (strstr(e->d_name, ".0.ring") == NULL)
			continue;
		int file = openat(dirfd(directory), e->d_name, O_RDWR);
		void *memory = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		ring = memory != MAP_FAILED ? memory : NULL;
	}
	return ring;
}

/* Nanoseconds per MPI call. */
static double chunk(const struct kind *k, int by)
{
	int n = CALLS / k->calls;
	double start = now_ns();

	for (int i = 0; i < n; i++)
		k->by[by]();
	return (now_ns() - start) / (n * k->calls);
}

int main(int argc, char **argv)
{
	int chunks = argc > 1 ? atoi(argv[1]) : 1000;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_SELF, &rank); /* the thread's first call */
	struct moriens_ring *ring = find_ring();
	if (ring == NULL) {
		fputs("alone: there is no ring: preload libmoriens.so, with MORIENS_RUN\n", stderr);
		return 1;
	}
	PMPI_Irecv(&received, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &pending);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (int c = 0; c < chunks + 20; c++) { /* the first warm up */
			double ns[3];
			for (int by = 0; by < 3; by++) {
				__atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
				ns[by] = chunk(&kinds[i], by);
			}
			if (c >= 20)
				printf("%s\t%.3f\t%.3f\t%.3f\n", kinds[i].name, ns[0], ns[1], ns[2]);
		}
	}
	PMPI_Cancel(&pending);
	PMPI_Wait(&pending, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
