/* Planted: one line of source that is four or more calls in the machine code. The first loop's trips are known to the
 * compiler, which makes them four calls after each other; those of the second are not: it makes four calls a trip, and
 * what is left over apart. Each is one loop round one call. */
#include "planted.h"

static double value, sum;

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 15 * one; i++) {
#pragma GCC unroll 4
		for (int k = 0; k < 4; k++)
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @whole */
		work(8000);
		MPI(MPI_Barrier(MPI_COMM_WORLD));
	}
	int trips = 42 * one;
#pragma GCC unroll 4
	for (int k = 0; k < trips; k++)
		MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)); /* @part */
	MPI(MPI_Finalize());
	return 0;
}
