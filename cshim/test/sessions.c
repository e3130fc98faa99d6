/* Two MPI sessions in turn, which MPICH 4.0.2 does not survive. With an argument it ends in the second. */
#include "fakempi.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	int session[2] = {0, 77}; /* the shim must not take the neighbour for part of the handle */

	(void)argv;
	for (int turn = 0; turn < 2; turn++) {
		if (MPI_Session_init(0, 0, &session[0]) != 0)
			return 1;
		MPI_Barrier(0);
		if (turn == 1 && argc > 1)
			_exit(0);
		MPI_Session_finalize(&session[0]);
	}
	return session[1] == 77 ? 0 : 1;
}
