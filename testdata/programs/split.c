/* Planted: what a loop does each other trip, a call and a loop, belongs to it and is no loop round it: it repeats half
 * as often as the rest. */
#include "planted.h"

static double value, sum;

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 40 * one; i++) {
		work(8000);
		MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)); /* @each */
		if (i % 2 == 0) {
			work(20000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @even */
			for (int k = 0; k < 3 * one; k++) {
				work(4000);
				MPI(MPI_Barrier(MPI_COMM_WORLD));
			}
		}
		work(8000);
		MPI(MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
	}
	MPI(MPI_Finalize());
	return 0;
}
