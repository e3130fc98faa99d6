/* Planted: a loop that is entered at two places, so that none of its blocks comes before all others: what looks for
 * loops by dominators finds none. */
#include "planted.h"

static double value, sum;

/* first says where to begin: at the head, or in the middle. */
FUNCTION void cycle(int trips, int first)
{
	int i = 0;
	if (first == 1) goto middle;
head:
	work(6000);
	if (value > 1e9) sink += value;
middle:
	work(3000);
	MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @sum */
	work(9000);
	MPI(MPI_Barrier(MPI_COMM_WORLD)); /* @barrier */
	if (++i < trips) goto head;
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int k = 0; k < 4 * one; k++) {
		cycle(25 * one, k % 2);
		MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
	}
	MPI(MPI_Finalize());
	return 0;
}
