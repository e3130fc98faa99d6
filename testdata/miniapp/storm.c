/*
 * As many MPI calls as a processor can make, between two ranks:
 *
 *	storm pingpong N   N messages there and back
 *	storm polls N      N messages, each asked for by MPI_Iprobe until it has come
 */
#include "checked.h"

static void pingpong(int n)
{
	int value = 0, other = 1 - rank;

	for (int i = 0; i < n; i++) {
		value = i;
		if (rank == 0)
			MPI_Send(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
		MPI_Recv(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
		expect(value == i, "a message");
	}
	planted_add("MPI_Send", n);
	planted_add("MPI_Recv", n);
}

static void polls(int n)
{
	int value, other = 1 - rank;
	long asked = 0;

	for (int i = 0; i < n; i++) {
		MPI_Request request;
		int flag = 0;

		MPI_Isend(&i, 1, MPI_INT, other, 4, MPI_COMM_WORLD, &request);
		for (; !flag; asked++)
			MPI_Iprobe(other, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		MPI_Recv(&value, 1, MPI_INT, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		expect(value == i, "a message");
	}
	planted_add("MPI_Isend", n);
	planted_add("MPI_Iprobe", asked);
	planted_add("MPI_Recv", n);
	planted_add("MPI_Wait", n);
}

int main(int argc, char **argv)
{
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	expect(argc == 3, "the command line");
	if (strcmp(argv[1], "pingpong") == 0)
		pingpong(atoi(argv[2]));
	else
		polls(atoi(argv[2]));
	MPI(Finalize);
	report(rank);
	return 0;
}
