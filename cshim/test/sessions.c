/* Two MPI sessions in turn, which MPICH 4.0.2 does not survive: sessions [killed|slowly]. Killed it ends in the second;
 * slowly it waits before that. */
#include "fakempi.h"

#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int session[2] = {0, 77}; /* the shim must not take the neighbour for part of the handle */

	const char *how = argc > 1 ? argv[1] : "";

	for (int turn = 0; turn < 2; turn++) {
		if (MPI_Session_init(0, 0, &session[0]) != 0)
			return 1;
		MPI_Barrier(0);
		if (turn == 1 && strcmp(how, "killed") == 0)
			_exit(0);
		MPI_Session_finalize(&session[0]);
		if (strcmp(how, "slowly") == 0)
			usleep(400000);
	}
	return session[1] == 77 ? 0 : 1;
}
