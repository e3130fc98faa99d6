/*
 * Bursts with a planted number of page faults, at least one context switch each, and processor time that
 * the program reads itself:
 *
 *	software [ROUNDS]
 *
 * Every rank writes a line "faults switches cpu_ns" per burst to $MINIAPP_OUT/bursts.<rank>.
 */
#include "planted.h"

#include <sys/mman.h>

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 50, page = sysconf(_SC_PAGESIZE), touched = 0;
	const struct timespec nap = {0, 2000000}; /* one that is over before it has begun switches nothing */
	size_t bytes = (size_t)(rounds * rounds * page);
	int64_t *cpu = calloc((size_t)rounds, sizeof *cpu);
	int rank;

	memset(cpu, 1, (size_t)rounds * sizeof *cpu);
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	nanosleep(&nap, NULL); /* the first call of a function is what costs page faults of its own */
	cpu_ns();
	MPI(Recv, NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long i = 0; i < rounds; i++) {
		int64_t begin = cpu_ns();
		for (long k = 0; k <= i; k++)
			memory[touched++ * page] = 1;
		nanosleep(&nap, NULL);
		cpu[i] = cpu_ns() - begin;
		MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	planted_add("MPI_Recv", rounds);
	FILE *f = planted_open();
	for (long i = 0; i < rounds; i++)
		fprintf(f, "%ld 1 %lld\n", i + 1, (long long)cpu[i]);
	planted_close(f, "bursts", rank);
	MPI(Finalize);
	report(rank);
	return 0;
}
