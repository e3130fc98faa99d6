/* For mini-apps that check what they communicate: who they are, and what they do when it is wrong. */
#ifndef CHECKED_H
#define CHECKED_H

#include "planted.h"

static int rank;

static inline void expect(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "rank %d: %s went wrong\n", rank, what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

#endif
