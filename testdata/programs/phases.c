/* Planted: two phases of equal shape, of 10 and of 100 trips: two loops of two trips round each other, then a call.
 * What merges loops by how often their calls repeat joins those of one phase with those of the other. */
#include "planted.h"

static double value;

FUNCTION void exchange(void)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	work(4000);
	MPI(MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, next, 1, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @ring */
}

FUNCTION void agree(void)
{
	double sum;
	work(8000);
	MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 10 * one; i++) {
		for (int j = 0; j < 2 * one; j++) {
			for (int k = 0; k < 2 * one; k++)
				exchange();
			MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)); /* @short */
		}
		agree();
	}
	for (int i = 0; i < 100 * one; i++) {
		for (int j = 0; j < 2 * one; j++) {
			for (int k = 0; k < 2 * one; k++)
				exchange();
			MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)); /* @long */
		}
		agree();
	}
	MPI(MPI_Finalize());
	return 0;
}
