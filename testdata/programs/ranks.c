/* Planted: conditions on ranks: less than, remainder, the first row and the last column of a grid, one of three. */
#include "planted.h"

static double value, sum;

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	int dims[2] = {0, 0}; /* rows, columns: 4×2 with eight ranks, in row-major order */
	MPI_Dims_create(size, 2, dims);
	int row = rank / dims[1], column = rank % dims[1];
	for (int i = 0; i < 30 * one; i++) {
		work(8000);
		if (rank < size / 2) {
			work(4000);
			MPI(MPI_Barrier(MPI_COMM_SELF)); /* @less */
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		if (rank % 2 == 1) {
			work(4000);
			MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF)); /* @odd */
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		if (row == 0) {
			work(4000);
			MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF)); /* @row */
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		if (column == dims[1] - 1) {
			work(4000);
			MPI(MPI_Allgather(&value, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, MPI_COMM_SELF)); /* @column */
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		if (rank == 0) {
			work(4000);
			MPI(MPI_Gather(&value, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, 0, MPI_COMM_SELF)); /* @root */
		} else if (rank == size - 1) {
			work(6000);
			MPI(MPI_Scatter(&value, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, 0, MPI_COMM_SELF)); /* @last */
		} else {
			work(8000);
			MPI(MPI_Alltoall(&value, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, MPI_COMM_SELF)); /* @rest */
		}
	}
	MPI(MPI_Finalize());
	return 0;
}
