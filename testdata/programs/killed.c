/* Planted: the upper half of the ranks die in the middle of the 21st trip of a loop, between two of its calls, the last
 * one first to go by a signal, the others without a word. The launcher ends the rest at some time. The loop is there
 * with both calls and no condition: a trip that a death cuts off is no rule. */
#include "planted.h"
#include <signal.h>
#include <unistd.h>

static double value;

FUNCTION void exchange(void) /* in pairs of a rank that dies and one that does not: the latter waits for ever */
{
	int other = (rank + size / 2) % size;
	MPI(MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, other, 1, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @pair */
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 50 * one; i++) {
		work(20000);
		exchange();
		if (i == 20 && rank >= size / 2) {
			if (rank < size - 1) _exit(1);
			raise(SIGKILL);
		}
		work(20000);
		MPI(MPI_Barrier(MPI_COMM_SELF)); /* @self */
	}
	MPI(MPI_Finalize());
	return 0;
}
