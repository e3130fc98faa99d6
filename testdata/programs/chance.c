/* Planted: conditions without a rule, by a hash of the trip, and of the trip and the rank. None must be made up. */
#include "planted.h"

static double value, sum;

FUNCTION unsigned hash(unsigned x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	x ^= x >> 16;
	return x;
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 200 * one; i++) {
		work(4000);
		if (hash(i + 1) % 3 == 0) {
			work(6000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @together */
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		if (hash(i * 64 + rank + 1000) % 2 == 0) {
			work(8000);
			MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF)); /* @alone */
		}
	}
	MPI(MPI_Finalize());
	return 0;
}
