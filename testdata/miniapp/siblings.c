/*
 * Two worlds that are spawned one after the other: each rank of the first sends its parent 10 messages, which look to
 * all but the communicator like those that the parent sends to the second one's rank of that number.
 */
#include "checked.h"

#define MESSAGES 10
#define TAG 5

static void meet(char *program, char *which, MPI_Comm *children)
{
	char *arguments[] = {which, NULL};

	MPI(Comm_spawn, program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Comm parents, first, second;
	int data[25] = {0};

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&parents);
	if (parents == MPI_COMM_NULL) {
		meet(argv[0], "first", &first);
		meet(argv[0], "second", &second);
	}
	for (int i = 0; i < MESSAGES; i++) {
		if (parents == MPI_COMM_NULL) {
			MPI(Recv, data, 25, MPI_INT, rank, TAG, first, MPI_STATUS_IGNORE);
			MPI(Send, data, 25, MPI_INT, rank, TAG, second);
		} else if (strcmp(argv[1], "first") == 0) {
			MPI(Send, data, 25, MPI_INT, rank, TAG, parents);
		} else {
			MPI(Recv, data, 25, MPI_INT, rank, TAG, parents, MPI_STATUS_IGNORE);
		}
	}
	if (parents == MPI_COMM_NULL) {
		MPI(Comm_disconnect, &first);
		MPI(Comm_disconnect, &second);
	} else {
		MPI(Comm_disconnect, &parents);
	}
	MPI(Finalize);
	report(parents == MPI_COMM_NULL ? rank : (int)getpid());
	return 0;
}
