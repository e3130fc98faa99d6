/*
 * Collectives that do not block, each completed by the call after it or by the last of the tests after it; from MPI-4
 * on persistent ones too, started one by one and together. The number of rounds is the argument.
 */
#include "checked.h"

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, size, mine, sum[2] = {0, 0}, value, flag;
	MPI_Request requests[2];

	MPI(Init, &argc, &argv);
	MPI(Comm_rank, MPI_COMM_WORLD, &rank);
	MPI(Comm_size, MPI_COMM_WORLD, &size);
	mine = rank + 1;
	for (int i = 0; i < rounds; i++) {
		MPI(Ibarrier, MPI_COMM_WORLD, &requests[0]);
		MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
		for (int k = 0; k < 2; k++)
			MPI(Iallreduce, &mine, &sum[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
		MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE);
		expect(sum[0] == size * (size + 1) / 2 && sum[1] == sum[0], "Iallreduce");
		value = rank == 0 ? i : -1;
		MPI(Ibcast, &value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
		for (flag = 0; !flag;)
			MPI(Test, &requests[0], &flag, MPI_STATUS_IGNORE);
		expect(value == i, "Ibcast");
	}
	MPI(Barrier, MPI_COMM_WORLD);
#if MPI_VERSION >= 4
	MPI(Allreduce_init, &mine, &sum[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI(Bcast_init, &value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
	for (int i = 0; i < rounds; i++) {
		sum[0] = 0;
		MPI(Start, &requests[0]);
		MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
		expect(sum[0] == size * (size + 1) / 2, "Allreduce_init");
		value = rank == 0 ? i : -1;
		MPI(Startall, 2, requests);
		MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE);
		expect(value == i, "Bcast_init");
	}
	for (int k = 0; k < 2; k++)
		MPI(Request_free, &requests[k]);
#endif
	MPI(Finalize);
	return 0;
}
