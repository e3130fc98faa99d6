/* Planted: a loop of 100 steps, in it a function with a loop of 3, 4, 5 trips in turn; a function, halo, with two
 * callers that have it send messages of two sizes; a report each tenth step, of which the root has a loop over the
 * others; something that odd ranks do alone. Before it a loop of one call, and a recursion. */
#include "planted.h"
#include <stdio.h>

FUNCTION void halo(double *field, int n)
{
	MPI_Request requests[4];
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI(MPI_Irecv(field, n, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]));
	MPI(MPI_Irecv(field + n, n, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]));
	MPI(MPI_Isend(field + 2 * n, n, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2])); /* @right */
	MPI(MPI_Isend(field + 3 * n, n, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]));  /* @left */
	MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
}

FUNCTION double dot(double x)
{
	double sum;
	work(20000);
	MPI(MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @sum */
	return sum;
}

FUNCTION void solve(double *field, int trips)
{
	for (int k = 0; k < trips; k++) {
		halo(field, 64);
		work(60000);
		dot(field[0]);
	}
}

FUNCTION void report(int step)
{
	int value = step;
	if (rank == 0) {
		for (int r = 1; r < size; r++)
			MPI(MPI_Recv(&value, 1, MPI_INT, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @gather */
	} else {
		MPI(MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
	}
}

/* What is added behind the second call keeps it from being made a loop. */
FUNCTION void tree(int depth)
{
	work(5000);
	if (depth == 0) {
		MPI(MPI_Barrier(MPI_COMM_WORLD)); /* @leaf */
		return;
	}
	tree(depth - 1);
	tree(depth - 1);
	sink += depth;
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	double *field = calloc(4096, sizeof *field);
	int steps = 100 * one;
	MPI(MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD));
	for (int i = 0; i < 7 * one; i++) {
		work(10000);
		MPI(MPI_Bcast(field, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD)); /* @spread */
	}
	tree(3 * one);
	for (int step = 0; step < steps; step++) {
		work(20000);
		halo(field, 256);
		solve(field, 3 + step % 3);
		if (step % 10 == 0) report(step);
		if (rank % 2 == 1) {
			work(5000);
			MPI(MPI_Barrier(MPI_COMM_SELF)); /* @odd */
		}
	}
	double total = dot(1);
	if (rank == 0) printf("%g\n", total);
	free(field);
	MPI(MPI_Finalize());
	return 0;
}
