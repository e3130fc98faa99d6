/* Planted: three functions that the compiler puts into main, one of them into another, stay scopes of the text: their
 * names are in the debugging information alone. */
#include "planted.h"

#define INLINED __attribute__((always_inline)) static inline

static double value, sum;

INLINED void exchange(int tag)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	work(8000);
	MPI(MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, next, tag, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @ring */
}

INLINED void relax(int sweeps)
{
	for (int k = 0; k < sweeps; k++) {
		exchange(1);
		work(20000);
		MPI(MPI_Barrier(MPI_COMM_WORLD)); /* @sweep */
	}
}

INLINED void norm(void)
{
	work(4000);
	MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @norm */
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	norm();
	for (int i = 0; i < 25 * one; i++) {
		relax(3 * one);
		exchange(2);
		norm();
	}
	MPI(MPI_Finalize());
	return 0;
}
