/* Planted: two loops of two trips after each other in a loop of 20, and a loop of 40 behind them: calls of all three
 * happen equally often, and those of the first two in equal distances. They are three loops, not one. */
#include "planted.h"

static double value, sum;

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 20 * one; i++) {
		for (int k = 0; k < 2 * one; k++) {
			work(8000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @first */
		}
		for (int k = 0; k < 2 * one; k++) {
			work(8000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD)); /* @second */
		}
	}
	for (int i = 0; i < 40 * one; i++) {
		work(8000);
		MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD)); /* @third */
	}
	MPI(MPI_Finalize());
	return 0;
}
