/*
 * Requests: what a call is given is copied before the call, because MPI sets the handles of what completes to null.
 *
 * A handle that is still there after its request has completed is a persistent one's, which must be known to be active:
 * MPI says of inactive requests, too, that they are complete. So persistent requests, and only these, are kept in a
 * table.
 */
#ifndef MORIENS_REQUESTS_H
#define MORIENS_REQUESTS_H

#include "handles.h"
#include "mpi_facts.h"

/* One thread's: what the call under way was given. */
struct moriens_requests {
	uint32_t count;
	bool copied; /* all of them, and there is memory for their statuses */
	word one;    /* where the call has one */
	word *handle;
	char *status; /* for calls that the program gives none */
	uint32_t room;
	size_t bytes;
	uint64_t one_status[4];
};

struct moriens_persistent {
	struct moriens_handle key;
	bool active; /* atomic */
	bool nobody; /* receives from MPI_PROC_NULL */
};

/* What a request asked to receive that MPI_Isendrecv made, where its status says nothing: MPICH carries it out as a
 * schedule, and leaves in the status what an earlier request had there. */
struct moriens_asked {
	struct moriens_handle key;
	int32_t source; /* as a peer */
	int32_t tag;
};

/* Atomic: the handle of receives from MPI_PROC_NULL, which MPI libraries share among requests that are complete at
 * once. MPICH 4.0.2 gives them a status that says something else. */
extern MORIENS_HIDDEN word moriens_receive_of_nobody;

/* Atomic: how many are kept of struct moriens_asked. */
extern MORIENS_HIDDEN uint32_t moriens_asked_count;

/* The C handle of request number i of an array. */
MORIENS_HOT word moriens_request_at(enum moriens_binding binding, word array, uint32_t i)
{
	if (binding == MORIENS_F)
		return moriens_c_handle(moriens_fortran_handle(array + i * sizeof(uint32_t)), moriens_mpi.request_f2c);
	return moriens_handle_at(array + i * moriens_mpi.handle_bytes);
}

/* Copies the handles of an array; no more than most, where more could not be recorded anyhow. */
void moriens_requests_copy(struct moriens_requests *r, enum moriens_binding binding, word array, int64_t count, uint32_t most);
void moriens_requests_free(struct moriens_requests *r);

void moriens_asked_made(word handle, int32_t source, int32_t tag);

/* Forgets it. False: there is none. */
bool moriens_asked_take(word handle, struct moriens_asked *asked);

void moriens_persistent_made(word handle, bool nobody);
void moriens_persistent_freed(word handle);

/* NULL: it is not persistent, as far as we know. */
struct moriens_persistent *moriens_persistent_find(word handle);

#endif
