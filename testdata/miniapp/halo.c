/*
 * A halo exchange as in any stencil code:
 *
 *	halo [-r ROWS] [-c COLUMNS] [-i ITERATIONS] [-s SLOW_RANK] [-m TIMES] [-o ODD_ITERATION]
 *
 * Each rank has ROWS x COLUMNS of a grid that the ranks share out by rows. In the first half of the iterations a
 * rank exchanges its outer rows with the ranks above and below, averages every cell with its four neighbours, and
 * the largest change is found by an MPI_Allreduce; in the second half it exchanges the same rows and averages twice,
 * with all eight neighbours, and the change is summed up. SLOW_RANK averages into a spare grid as well, half of its
 * rows, once or TIMES; in ODD_ITERATION rank 0 does so ten times. Neither changes the result.
 *
 * Rank 0 prints the seconds that the iterations took and the result, "seconds S" and "result R".
 */
#include "planted.h"

static int rows = 256, columns = 1024;
static double *grid, *next, *spare;

static double *row(double *g, int r) { return g + (size_t)r * (size_t)(columns + 2); }

/* average writes the mean of each cell and its neighbours, 4 or 8, for rows 1 to last. */
static double average(double *to, const double *from, int last, int diagonals)
{
	size_t width = (size_t)columns + 2;
	double change = 0;

	for (int r = 1; r <= last; r++) {
		const double *here = from + (size_t)r * width, *above = here - width, *below = here + width;
		double *out = to + (size_t)r * width;

		for (int c = 1; c <= columns; c++) {
			double sum = above[c] + below[c] + here[c - 1] + here[c + 1];

			if (diagonals)
				sum = (sum + above[c - 1] + above[c + 1] + below[c - 1] + below[c + 1]) / 2;
			out[c] = sum / 4;
			double moved = out[c] > here[c] ? out[c] - here[c] : here[c] - out[c];

			if (moved > change)
				change = moved;
		}
	}
	return change;
}

static void exchange(int above, int below)
{
	MPI_Request requests[4];

	MPI(Irecv, row(grid, 0), columns + 2, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[0]);
	MPI(Irecv, row(grid, rows + 1), columns + 2, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &requests[1]);
	MPI(Isend, row(grid, 1), columns + 2, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &requests[2]);
	MPI(Isend, row(grid, rows), columns + 2, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
	MPI(Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

static double sweep(int diagonals, int extra)
{
	double change = average(next, grid, rows, diagonals);
	double *old = grid;

	while (extra-- > 0)
		average(spare, grid, rows / 2, diagonals);
	grid = next;
	next = old;
	return change;
}

int main(int argc, char **argv)
{
	int rank, size, option, slow = -1, more = 1;
	long iterations = 1000, odd = -1;
	double change = 0, all = 0;
	int64_t start;
	size_t cells;

	planted_share();
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while ((option = getopt(argc, argv, "r:c:i:s:m:o:")) != -1) {
		switch (option) {
		case 'r': rows = atoi(optarg); break;
		case 'c': columns = atoi(optarg); break;
		case 'i': iterations = atol(optarg); break;
		case 's': slow = atoi(optarg); break;
		case 'm': more = atoi(optarg); break;
		case 'o': odd = atol(optarg); break;
		default: MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	cells = (size_t)(rows + 2) * (size_t)(columns + 2);
	grid = calloc(cells, sizeof *grid);
	next = calloc(cells, sizeof *next);
	spare = calloc(cells, sizeof *spare);
	if (rows < 1 || columns < 1 || !grid || !next || !spare)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (size_t i = 0; i < cells; i++)
		grid[i] = next[i] = (double)((i * 7919 + (size_t)rank * 104729) % 1000) / 1000;

	int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

	MPI(Barrier, MPI_COMM_WORLD);
	start = now_ns();
	for (long i = 0; i < iterations; i++) {
		int extra = (rank == slow ? more : 0) + (i == odd && rank == 0 ? 10 : 0);

		exchange(above, below);
		if (i < iterations / 2) {
			change = sweep(0, extra);
			MPI(Allreduce, &change, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		} else {
			change = sweep(1, extra);
			exchange(above, below);
			change += sweep(1, extra);
			MPI(Allreduce, &change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
	}
	MPI(Barrier, MPI_COMM_WORLD);
	if (rank == 0)
		printf("seconds %.6f\nresult %.17g\n", (double)(now_ns() - start) / 1e9, all);
	MPI(Finalize);
	if (getenv("MINIAPP_OUT") != NULL)
		report(rank);
	return 0;
}
