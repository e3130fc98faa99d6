/*
 * Computes and sums up, until somebody ends it:
 *
 *	endless [WORK_US [ROUNDS]]
 *
 * Every 20 rounds every rank reports what it has called by then. After so many rounds, if they are given, it waits
 * outside MPI.
 */
#include "planted.h"

int main(int argc, char **argv)
{
	int64_t work_ns = (argc > 1 ? atol(argv[1]) : 1000) * 1000;
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	double one = 1, sum;
	int rank;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long round = 1; rounds == 0 || round <= rounds; round++) {
		int64_t end = now_ns() + work_ns;
		while (now_ns() < end)
			;
		MPI(Allreduce, &one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (round % 20 == 0)
			report(rank);
	}
	for (;;)
		pause();
}
