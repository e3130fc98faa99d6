/*
 * The communication of NPB's BT on two ranks: three sweeps in each iteration, each a function with calls of its own,
 * and each marked, as is the iteration. In iteration SLOW rank 0 sleeps a second in x_solve before it sends.
 *
 *	bt N SLOW
 */
#include "moriens.h"
#include "planted.h"

#define NOINLINE __attribute__((noinline, noclone))

static int rank;
static double out[1024], in[1024];

static NOINLINE void x_solve(int late)
{
	MPI_Request sent, received;

	MORIENS_BEGIN("x_solve");
	if (late)
		sleep(1);
	MPI(Irecv, in, 1024, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &received);
	MPI(Isend, out, 1024, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &sent);
	MPI(Wait, &sent, MPI_STATUS_IGNORE);
	MPI(Wait, &received, MPI_STATUS_IGNORE);
	out[0] += in[1];
	MORIENS_END("x_solve");
}

static NOINLINE void y_solve(void)
{
	MPI_Request sent, received;

	MORIENS_BEGIN("y_solve");
	MPI(Irecv, in, 512, MPI_DOUBLE, 1 - rank, 2, MPI_COMM_WORLD, &received);
	usleep(200);
	MPI(Isend, out, 512, MPI_DOUBLE, 1 - rank, 2, MPI_COMM_WORLD, &sent);
	MPI(Wait, &received, MPI_STATUS_IGNORE);
	MPI(Wait, &sent, MPI_STATUS_IGNORE);
	out[0] += in[2];
	MORIENS_END("y_solve");
}

/* Two exchanges, of the second of which only the receive is waited for at once. */
static NOINLINE void z_solve(void)
{
	MPI_Request sent[2], received;

	MORIENS_BEGIN("z_solve");
	for (int half = 0; half < 2; half++) {
		MPI(Irecv, in, 256, MPI_DOUBLE, 1 - rank, 3 + half, MPI_COMM_WORLD, &received);
		MPI(Isend, out, 256, MPI_DOUBLE, 1 - rank, 3 + half, MPI_COMM_WORLD, &sent[half]);
		MPI(Wait, &received, MPI_STATUS_IGNORE);
		out[0] += in[3];
	}
	for (int half = 0; half < 2; half++)
		MPI(Wait, &sent[half], MPI_STATUS_IGNORE);
	MORIENS_END("z_solve");
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 92, slow = argc > 2 ? atol(argv[2]) : -1;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI(Barrier, MPI_COMM_WORLD);
	FILE *measured = planted_open();
	for (long i = 0; i < n; i++) {
		int64_t began = now_ns();
		MORIENS_BEGIN("ITERATE");
		x_solve(i == slow && rank == 0);
		y_solve();
		z_solve();
		MORIENS_END("ITERATE");
		fprintf(measured, "%lld\n", (long long)(now_ns() - began));
	}
	planted_close(measured, "instances", rank);
	MPI(Barrier, MPI_COMM_WORLD);
	MPI(Finalize);
	report(rank);
	return 0;
}
