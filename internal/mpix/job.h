// What github.com/emer/empi lacks of MPI. All is on MPI_COMM_WORLD; all returns MPI's error codes. Memory that is
// handed in belongs to MPI until the call, or the request that it has begun, is complete.
#ifndef MORIENS_MPIX_JOB_H
#define MORIENS_MPIX_JOB_H

#include <mpi.h>
#include <stdint.h>

// A meeting of all members, where each learns the greatest of what all have said.
enum { MPIX_SAID = 4 };

struct mpix_meeting {
	MPI_Request request;
	int64_t mine[MPIX_SAID], greatest[MPIX_SAID];
};

// A message on its way: its length, and its bytes in pieces, each with a tag of 0.
struct mpix_message {
	int64_t length;
	int pieces;
	MPI_Request *requests; // of the length, and of the pieces
	char *bytes;
};

// mpix_errors_return has MPI return errors instead of ending the job.
int mpix_errors_return(void);

int mpix_meet(struct mpix_meeting *m);
int mpix_met(struct mpix_meeting *m, int *all);

// mpix_message returns a message with room for length bytes, to be freed; NULL without memory.
struct mpix_message *mpix_message(int64_t length, int64_t piece);
int mpix_send(struct mpix_message *m, int64_t piece, int to);
int mpix_sent(struct mpix_message *m, int *all);
void mpix_free(struct mpix_message *m);

// mpix_probe says whether a message of a member has come.
int mpix_probe(int from, int *here);

// Counts and displacements are in bytes, one for each member.
int mpix_allgatherv(const void *mine, int count, void *all, const int *counts, const int *displacements);
int mpix_alltoallv(const void *mine, const int *counts, const int *displacements, void *all, const int *all_counts, const int *all_displacements);

void mpix_abort(int status);

// What MPI says of an error, and of itself: both at any time, with room for MPIX_TEXT bytes.
enum { MPIX_TEXT = MPI_MAX_LIBRARY_VERSION_STRING > MPI_MAX_ERROR_STRING ? MPI_MAX_LIBRARY_VERSION_STRING : MPI_MAX_ERROR_STRING };

int mpix_error(int err, char *text);
int mpix_library(char *text);

#endif
