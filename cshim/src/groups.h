/* The ranks of communicators, windows and files, as ranks of MPI_COMM_WORLD: asked of MPI when one is made or
 * defined. */
#ifndef MORIENS_GROUPS_H
#define MORIENS_GROUPS_H

#include "identity.h"

struct moriens_ranks {
	int *rank; /* in MPI_COMM_WORLD, -1 for one of another world; NULL: not known */
	uint32_t count;
	size_t bytes;
};

/* Of the object's own group, or of the remote one of an intercommunicator; to be freed. */
struct moriens_ranks moriens_ranks_of(enum moriens_comm_kind kind, word handle, bool remote);
void moriens_ranks_free(struct moriens_ranks *ranks);

/* The same on all members, and in both groups of an intercommunicator; but for members of another world, where *foreign
 * is set: each world has its own ranks. */
uint64_t moriens_members_hash(enum moriens_comm_kind kind, word handle, bool inter, bool *foreign);

/* A hash of where a communicator's members stand in the one that it was made of: the same on all of them, whatever
 * world they are of. */
uint64_t moriens_places_hash(word handle, bool inter, word parent, bool parent_inter);

#endif
