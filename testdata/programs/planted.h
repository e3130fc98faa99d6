/* What the planted programs share. Each includes it once. */
#include <mpi.h>
#include <stdlib.h>

static int rank, size;
static int one; /* 1, which the compiler does not know: trip counts that are multiples of it are not unrolled away */
static volatile double sink;

/* It also keeps the call of MPI from being a function's last instruction, a jump, by which a caller would get lost. */
#define MPI(call) \
	do { \
		if ((call) != MPI_SUCCESS) abort(); \
	} while (0)

#define FUNCTION __attribute__((noinline)) static

/* Computes for some ns each of n. */
static inline void work(long n)
{
	double x = 1;
	for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9;
	sink = x;
}

/* Not inlined, so that main has one site less to tell from those that are planted. */
FUNCTION void identify(int argc)
{
	one = argc;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}
