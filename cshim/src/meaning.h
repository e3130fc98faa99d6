/*
 * What the outermost call means: what it moves, between whom, in which communicator, and what it does to requests.
 * Wrappers describe it by the parts that their parameters play (cshim/gen/meaning.go); here it becomes slots of the
 * call's record.
 *
 * What is known at the entry is written before the record is committed, so that a process that dies inside the call
 * names whom it waited for; results follow at the exit. Of a call that failed nothing is read that it may not have
 * written: its record shows what it was asked for.
 *
 * Handles are those of C or of Fortran: mpi_facts.h. References to communicators, windows and files: comms.h.
 */
#ifndef MORIENS_MEANING_H
#define MORIENS_MEANING_H

#include "polls.h"

/* For a root or a peer that a call does not have: no library's value for anything. */
#define MORIENS_NOBODY INT32_MIN

/* The bytes of a collective call, by who moves how much of what it is given. */
enum moriens_shape {
	MORIENS_SHAPE_NONE, /* moves nothing: barriers, and calls that make something */
	MORIENS_SHAPE_BCAST,
	MORIENS_SHAPE_GATHER,
	MORIENS_SHAPE_SCATTER,
	MORIENS_SHAPE_ALLGATHER,
	MORIENS_SHAPE_ALLTOALL,
	MORIENS_SHAPE_REDUCE,
	MORIENS_SHAPE_ALLREDUCE,
	MORIENS_SHAPE_REDUCE_SCATTER,
	MORIENS_SHAPE_SCAN,
	MORIENS_SHAPE_EXSCAN,
	MORIENS_SHAPE_NEIGHBOR_ALLGATHER,
	MORIENS_SHAPE_NEIGHBOR_ALLTOALL,
};

/* An array argument of one element per rank. */
struct moriens_array {
	word at; /* 0 = there is none */
	uint32_t bytes; /* of an element */
};

/* What a collective call sends, or receives: a count or counts, a type or types. Not looked at where it does not
 * matter. */
struct moriens_side {
	word buf;
	int64_t count;
	struct moriens_array counts;
	word type;
	struct moriens_array types; /* of C handles, or Fortran ones: */
	enum moriens_binding binding;
};

#define MORIENS_SIDE(buf, count, counts, type, types, binding) (&(const struct moriens_side){buf, count, counts, type, types, binding})
#define MORIENS_ARRAY(at, bytes) ((struct moriens_array){at, bytes})
#define MORIENS_NO_ARRAY ((struct moriens_array){0, 0})

/* Whether the call that has begun is its thread's outermost one. */
static inline bool moriens_outermost(const struct moriens_span *span)
{
	return likely(span->kind != MORIENS_SPAN_NONE);
}

/* Whether the call that has returned still is. */
static inline bool moriens_returned(const struct moriens_span *span)
{
	return likely(span->kind != MORIENS_SPAN_NONE && moriens_thread.outermost == span->frame);
}

static inline bool moriens_succeeded(const struct moriens_span *span, int result)
{
	return likely(result == 0) && moriens_returned(span);
}

static inline bool moriens_failed(const struct moriens_span *span, int result)
{
	return unlikely(result != 0) && moriens_returned(span);
}

/* Point-to-point, at the entry. kind is that of a moriens_transfer. */
void moriens_transfer(struct moriens_span *span, uint32_t kind, int64_t count, word type, int peer, int tag, word comm);
/* The same with one request for several parts of the message. */
void moriens_transfer_parts(struct moriens_span *span, uint32_t kind, int partitions, int64_t count, word type, int peer, int tag, word comm);
/* A probe. */
void moriens_probe(struct moriens_span *span, int source, int tag, word comm);
/* A receive of a message that a probe has matched. */
void moriens_matched(struct moriens_span *span, int64_t count, word type, word message);
/* To or from a rank's part of a window; and the same for a call with an operation, which may be MPI_NO_OP. */
void moriens_access(struct moriens_span *span, uint32_t kind, int64_t count, word type, int target, word win);
void moriens_update(struct moriens_span *span, int64_t count, word type, int target, word win, word op);
/* To or from a file. */
void moriens_io(struct moriens_span *span, uint32_t kind, int64_t count, word type, word file);

/* Collective, at the entry: of a communicator, window or file. NULL where a side has nothing of its own: a broadcast
 * has one side only, a reduction sends as much as it receives. */
void moriens_collective(struct moriens_span *span, enum moriens_shape shape, word comm, int root, const struct moriens_side *send,
	const struct moriens_side *receive);
void moriens_collective_of(struct moriens_span *span, word comm, int root);

/* What a call is given that ends, starts or cancels requests, at the entry. */
static inline void moriens_given_request(enum moriens_binding binding, word request)
{
	moriens_thread.requests.one = moriens_request_at(binding, request, 0);
}

void moriens_given_requests(enum moriens_binding binding, int count, word requests);
void moriens_cancels(void);

/* The status that the library shall write, in the place of one that the program ignores. */
static inline word moriens_status(word status, enum moriens_binding binding)
{
	bool ignored = binding == MORIENS_C ? status == moriens_mpi.status_ignore : moriens_is_any(status, moriens_mpi.fortran_ignore);

	_Static_assert(sizeof moriens_thread.requests.one_status >= 32, "the longest status");
	return ignored ? (word)moriens_thread.requests.one_status : status;
}

word moriens_statuses(word statuses, enum moriens_binding binding);

/* At the exit of a call that has failed: its messages were not transferred, or it is not known whether they were. */
void moriens_unsettled(const struct moriens_span *span, int error);

/* The same of a collective call: one that MPI has refused is none, and the other ranks may not have made it. */
void moriens_uncount(int error);

/* A transfer of the record, until the next slot is asked for. */
static inline struct moriens_transfer *moriens_transfer_slot(uint32_t i)
{
	return (struct moriens_transfer *)(void *)moriens_ring_slot(&moriens_thread.ring, moriens_thread.transfer[i]);
}

/* Results, at the exit of a call that has succeeded. */
void moriens_received(struct moriens_span *span, word status);
void moriens_requested_of_nobody(const struct moriens_transfer *transfer);

/* The request of the record's transfers. */
static inline void moriens_requested(struct moriens_span *span, word request)
{
	const struct moriens_thread *t = &moriens_thread;

	if (unlikely(span->kind != MORIENS_SPAN_RECORD))
		return;
	for (uint32_t i = 0; i < t->transfers; i++) {
		struct moriens_transfer *transfer = moriens_transfer_slot(i);
		transfer->request = request != moriens_mpi.request_null ? request : 0;
		if (unlikely(transfer->peer == MORIENS_PROC_NULL))
			moriens_requested_of_nobody(transfer);
	}
}

/* Of the two transfers of MPI_Isendrecv. */
void moriens_asked(struct moriens_span *span, word request);

void moriens_made_request(struct moriens_span *span, word request); /* of a call without transfers */
void moriens_persistent(struct moriens_span *span, word request);   /* which is inactive */
void moriens_started(struct moriens_span *span);
void moriens_started_all(struct moriens_span *span);
void moriens_freed_request(struct moriens_span *span);

/* Requests are complete, at the exit: of the one request; of all, of one by its index, of some by their indices. */
void moriens_completed(struct moriens_span *span, enum moriens_binding binding, int result, word request, word status);
void moriens_completed_all(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word statuses);
void moriens_completed_any(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word index, word status);
void moriens_completed_some(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word outcount, word indices, word statuses);

/* The object of this reference was made by the collective call that has succeeded, at its exit; */
void moriens_made(word made);
/* a communicator with the ranks of the call's, which may not be used yet; */
void moriens_made_like(word made, word like);
/* by a part of comm's ranks, or by ranks without a communicator, that know a number or a text. */
void moriens_made_by_group(word made, word comm, int tag);
void moriens_made_by_text(word made, const char *text, size_t length);
void moriens_made_between(word made, int tag);

/* An intercommunicator that ranks of different worlds can be part of was made: by MPI_Comm_spawn; by a call that names
 * a port, of so many bytes in Fortran and with its own end in C; over a socket. And the one that the spawned world has
 * from the beginning, if it is one. */
void moriens_spawned(const struct moriens_span *span, word made, int root);
void moriens_accepted(const struct moriens_span *span, word made, int root, const char *port, size_t length);
void moriens_connected(const struct moriens_span *span, word made, int root, const char *port, size_t length);
void moriens_joined(const struct moriens_span *span, word made);
void moriens_met_parent(const struct moriens_span *span);
#define MORIENS_OWN_END SIZE_MAX

/* That whose collective call has succeeded was freed. */
void moriens_freed(void);

#endif
