/* Planted: a switch of six cases that the compiler makes a jump through a table, in turn by the trip. */
#include "planted.h"

static double value, sum, all[64];

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 60 * one; i++) {
		switch (i % 6) {
		case 0:
			work(4000);
			MPI(MPI_Barrier(MPI_COMM_WORLD)); /* @zero */
			break;
		case 1:
			work(6000);
			MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
			break;
		case 2:
			work(8000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
			break;
		case 3:
			work(10000);
			MPI(MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
			break;
		case 4:
			work(12000);
			MPI(MPI_Allgather(&value, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD));
			break;
		case 5:
			work(14000);
			MPI(MPI_Scan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @five */
			break;
		}
		work(2000);
	}
	MPI(MPI_Finalize());
	return 0;
}
