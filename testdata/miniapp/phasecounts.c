/*
 * Bursts that cross borders of phases, counted by the program itself with PAPI's software-defined events (link with
 * -lsde):
 *
 *	phasecounts [ROUNDS]
 *
 * A round is one burst between two MPI_Recv: phase "small" has 1,000,000 INS and 10 CYC and takes the shorter part of
 * the time, "large" has no INS and 90 CYC. Before, between and behind them the program counts 5, 0 and 2 INS, and 1 CYC
 * at first. In the last burst a phase begins after polls.
 */
#include "moriens.h"
#include "planted.h"

#include <sde_lib.h>

static long long ins = 12345, cyc = 678; /* not from 0: what is recorded are differences */

static void work(int64_t us)
{
	for (int64_t begin = now_ns(); now_ns() - begin < us * 1000;)
		;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 50;
	int rank, flag;

	papi_handle_t sde = papi_sde_init("planted");
	papi_sde_register_counter(sde, "INS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &ins);
	papi_sde_register_counter(sde, "CYC", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &cyc);
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI(Recv, NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long i = 0; i < rounds; i++) {
		ins += 5;
		cyc += 1;
		work(20);
		MORIENS_BEGIN("small");
		ins += 1000000;
		cyc += 10;
		work(20);
		MORIENS_EVENT("round", i);
		MORIENS_END("small");
		MORIENS_BEGIN("large");
		work(180);
		cyc += 90;
		MORIENS_END("large");
		ins += 2;
		MPI(Recv, NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Request request;
	int got;
	MPI(Irecv, &got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
	for (int i = 0; i < 20; i++)
		MPI(Test, &request, &flag, MPI_STATUS_IGNORE);
	MORIENS_BEGIN("polled");
	work(20);
	MORIENS_END("polled");
	MPI(Cancel, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	MPI(Finalize);
	report(rank);
	return 0;
}
