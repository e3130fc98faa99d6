/* What processes.c spawns. It reports as rank 100, 101, …, for it has a world of its own. */
#include "checked.h"

int main(int argc, char **argv)
{
	int hundred = 100, sum = 0, number;
	MPI_Comm parents, all;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &number);
	expect(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0, "the arguments");
	MPI_Comm_get_parent(&parents);
	MPI(Intercomm_merge, parents, 1, &all);
	MPI(Allreduce, &hundred, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI(Comm_free, &all);
	MPI(Comm_disconnect, &parents);
	MPI(Finalize);
	report((int)getpid());
	return 0;
}
