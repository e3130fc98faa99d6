/* A plugin for host.c that is linked to a tool of its own, regiontool.c. */
#include "planted.h"

int plugin_main(int argc, char **argv);
int nvtxRangePushA(const char *name);
int nvtxRangePop(void);
void cali_begin_region(const char *name);
void cali_end_region(const char *name);

int plugin_main(int argc, char **argv)
{
	int rank;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 3; i++) {
		cali_begin_region("solve");
		printf("push %d\n", nvtxRangePushA("range"));
		MPI(Barrier, MPI_COMM_WORLD);
		printf("pop %d\n", nvtxRangePop());
		cali_end_region("solve");
	}
	MPI(Finalize);
	fflush(stdout);
	report(rank);
	return 0;
}
