/* Partitioned point-to-point of MPI-4: a message of four parts, each marked ready in another way. */
#include "checked.h"

int main(int argc, char **argv)
{
	int size, got[4] = {0}, flag = 0;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int next = (rank + 1) % size, before = (rank + size - 1) % size, last = 3;
	int value[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
	MPI_Request send, recv;
	MPI(Psend_init, value, 4, 1, MPI_INT, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
	MPI(Precv_init, got, 4, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &recv);
	MPI(Start, &recv);
	MPI(Start, &send);
	MPI(Pready, 0, send);
	MPI(Pready_range, 1, 2, send);
	MPI(Pready_list, 1, &last, send);
	while (!flag) {
		usleep(1000); /* a ring holds 131,072 calls */
		MPI(Parrived, recv, 3, &flag);
	}
	MPI(Wait, &send, MPI_STATUS_IGNORE);
	MPI(Wait, &recv, MPI_STATUS_IGNORE);
	for (int i = 0; i < 4; i++)
		expect( got[i] == 10 * before + i, "a partitioned message");
	MPI(Request_free, &send);
	MPI(Request_free, &recv);
	MPI(Finalize);
	report(rank);
	return 0;
}
