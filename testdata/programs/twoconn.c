/* Planted: ten trips of two loops with equal bodies, of two and of five trips. Ranks talk in pairs, an even one and the
 * odd one after it. Each pair makes the sequence of a run of two ranks: the loops of two and of five differ by their
 * place in main alone. */
#include "planted.h"

static int value;

FUNCTION void send_first(void)
{
	if (rank % 2 == 1) {
		work(3000);
		MPI(MPI_Send(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD)); /* @send */
		work(5000);
		MPI(MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	}
}

FUNCTION void receive_first(void)
{
	if (rank % 2 == 0) {
		work(60000);
		MPI(MPI_Recv(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @receive */
		work(3000);
		MPI(MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD));
	}
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 10 * one; i++) {
		for (int k = 0; k < 2 * one; k++) {
			send_first();
			receive_first();
		}
		for (int k = 0; k < 5 * one; k++) {
			send_first();
			receive_first();
		}
		MPI(MPI_Barrier(MPI_COMM_WORLD)); /* @barrier */
	}
	MPI(MPI_Finalize());
	return 0;
}
