/*
 * Computes and sums up, until somebody ends it:
 *
 *	endless [WORK_US]
 *
 * Every 20 rounds every rank reports what it has called by then.
 */
#include "planted.h"

int main(int argc, char **argv)
{
	int64_t work_ns = (argc > 1 ? atol(argv[1]) : 1000) * 1000;
	double one = 1, sum;
	int rank;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long round = 1;; round++) {
		int64_t end = now_ns() + work_ns;
		while (now_ns() < end)
			;
		MPI(Allreduce, &one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (round % 20 == 0)
			report(rank);
	}
}
