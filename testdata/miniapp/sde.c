/*
 * Three kinds of bursts that only two counters together distinguish, counted by the program itself with
 * PAPI's software-defined events (link with -lsde):
 *
 *	sde [ROUNDS]
 *
 * Kinds 1 and 2 have the same INS, kinds 1 and 3 the same INS per CYC; a burst's counts are those of its kind
 * and up to a hundredth more. Every rank writes a line "kind ins cyc" per burst to $MINIAPP_OUT/bursts.<rank>.
 * Bursts of kind 3 are before a failed MPI_Test.
 */
#include "planted.h"

#include <sde_lib.h>

static const long long kinds[3][2] = {{1000000, 500000}, {1000000, 1000000}, {4000000, 2000000}};

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 200;
	long long ins = 12345, cyc = 678; /* not from 0: what is recorded are differences */
	int rank, flag, got;
	MPI_Request request;

	papi_handle_t sde = papi_sde_init("planted");
	papi_sde_register_counter(sde, "INS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &ins);
	papi_sde_register_counter(sde, "CYC", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &cyc);
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI(Irecv, &got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
	FILE *f = planted_open();
	for (long i = 0; i < 3 * rounds; i++) {
		int kind = (int)(i % 3);
		long long more[2];
		for (int c = 0; c < 2; c++)
			more[c] = kinds[kind][c] + kinds[kind][c] / 100 * (i * 7 % 10) / 10;
		/* Work enough for no MPI_Test to follow the call before it at once. */
		for (int64_t begin = now_ns(); now_ns() - begin < 100000;)
			;
		ins += more[0];
		cyc += more[1];
		fprintf(f, "%d %lld %lld\n", kind + 1, more[0], more[1]);
		if (kind == 2)
			MPI(Test, &request, &flag, MPI_STATUS_IGNORE);
		else
			MPI(Recv, NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	planted_close(f, "bursts", rank);
	MPI(Cancel, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	MPI(Finalize);
	report(rank);
	return 0;
}
